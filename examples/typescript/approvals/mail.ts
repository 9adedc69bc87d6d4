import { appendFile, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Harness } from '@openworkerai/harness-sdk';
import { setTimeout as pause } from 'node:timers/promises';

/** Registers two tools that act on the world, which here is two files of a directory. */
export function registerTools(harness: Harness, directory: string): void {
  const sent = path.join(directory, 'sent.log');
  harness.registerTool({
    name: 'app.send',
    description: 'Sends a letter.',
    effect: 'sideEffect', // must not happen twice
    inputSchema: {
      type: 'object',
      properties: { to: { type: 'string', minLength: 1 }, text: { type: 'string' } },
      required: ['to'],
      additionalProperties: false,
    },
    async execute({ to, text }, { callId }) {
      await appendFile(sent, `${JSON.stringify({ callId, to, text })}\n`);
      return `sent to ${String(to)}`;
    },
    // After a crash inside it: did it happen? The call's ID is the same in every attempt.
    async inspect({ callId }) {
      for (const line of (await linesOf(sent))) {
        const letter = JSON.parse(line) as { callId: string; to: string };
        if (letter.callId === callId) return { outcome: 'succeeded', output: `sent to ${letter.to}` };
      }
      return { outcome: 'not_started' };
    },
  });
  const printed = path.join(directory, 'printed.log');
  harness.registerTool({
    name: 'app.print',
    description: 'Prints pages, one a second.',
    effect: 'sideEffect', // and nobody can ask the printer: after a crash a person has to look
    inputSchema: {
      type: 'object',
      properties: { pages: { type: 'integer', minimum: 1, maximum: 100 } },
      required: ['pages'],
      additionalProperties: false,
    },
    async execute({ pages }, { signal }) {
      for (let page = 1; page <= Number(pages); page++) {
        if (page > 1) await pause(1000, undefined, { signal }); // Ctrl-C ends it
        await appendFile(printed, `page ${page}\n`);
      }
      return `printed ${String(pages)} pages`;
    },
  });
}

async function linesOf(file: string): Promise<string[]> {
  try {
    return (await readFile(file, 'utf8')).split('\n').filter((line) => line !== '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
