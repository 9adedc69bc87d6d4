import { once } from 'node:events';
import type { Request, Response } from 'express';
import { CancelledError, ClosedError, type Session } from '@openworkerai/harness-sdk';
import { RequestError } from './errors.js';

/**
 * Streams a session's events as server-sent events. An event's number is its ID: a browser that reconnects names the last one in
 * Last-Event-ID, and gets every later event once, also from a server that was started meanwhile.
 */
export async function streamEvents(session: Session, request: Request, response: Response): Promise<void> {
  const after = numberOf(request.get('Last-Event-ID'), (await session.state()).lastEvent);
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
  response.flushHeaders();
  const beat = setInterval(() => response.write(': still here\n\n'), 15_000); // for proxies, which end what is silent
  try {
    for await (const event of session.events({ after, signal: gone.signal })) {
      // Live text has no number. Who has missed some of it finds the whole in a later event.
      const id = event.number === undefined ? '' : `id: ${event.number}\n`;
      if (!response.write(`${id}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)) {
        await once(response, 'drain', { signal: gone.signal }); // a slow client waits for itself
      }
    }
  } catch (error) {
    const over = gone.signal.aborted || error instanceof CancelledError || error instanceof ClosedError;
    if (!over) throw error; // the connection is torn, and the client comes back with its number
  } finally {
    clearInterval(beat);
    response.end();
  }
}

function numberOf(header: string | undefined, last: number): number {
  if (header === undefined || header === '') return 0;
  const number = Number(header);
  if (!/^\d+$/.test(header) || number > last) {
    throw new RequestError(400, 'invalid_request', `Last-Event-ID ${JSON.stringify(header.slice(0, 40))} is not the number of an event up to ${last}`);
  }
  return number;
}
