import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A part of a message in Chat Completions. */
export interface Part {
  readonly type: string;
  readonly text?: string;
  readonly image_url?: { readonly url: string };
  readonly file?: { readonly filename: string; readonly file_data: string };
}

/** A request as the provider got it. */
export interface Seen {
  readonly model: string;
  readonly messages: readonly {
    readonly role: string;
    readonly content?: string | readonly Part[] | null;
    readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }[];
    readonly tool_call_id?: string;
  }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
  readonly max_completion_tokens?: number;
  readonly max_tokens?: number;
}

/** What it answers: text, or calls of tools. */
export type Reply = { readonly text: string } | { readonly calls: readonly { readonly name: string; readonly arguments: object }[] };

/** A server of Chat Completions on loopback that keeps what it was sent. */
export class FakeProvider {
  readonly seen: Seen[] = [];
  /** The answer to a request; "ok" unless a test says otherwise. */
  answer: (request: Seen) => Reply = () => ({ text: 'ok' });
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      void this.#serve(request, response);
    });
  }

  /** Starts it and returns its address, up to /v1. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** The requests since it was last asked. */
  take(): Seen[] {
    return this.seen.splice(0);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) {
      chunks.push(chunk as Buffer);
    }
    if (request.url !== '/v1/chat/completions') {
      response.writeHead(404).end();
      return;
    }
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Seen;
    this.seen.push(body);
    const reply = this.answer(body);
    const send = (data: unknown): void => {
      response.write(`data: ${JSON.stringify(data)}\n\n`);
    };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if ('text' in reply) {
      send({ choices: [{ index: 0, delta: { content: reply.text } }] });
    } else {
      send({
        choices: [
          {
            index: 0,
            delta: {
              tool_calls: reply.calls.map((call, index) => ({ index, id: `call_${index}`, type: 'function', function: { name: call.name, arguments: JSON.stringify(call.arguments) } })),
            },
          },
        ],
      });
    }
    send({ choices: [{ index: 0, delta: {}, finish_reason: 'text' in reply ? 'stop' : 'tool_calls' }] });
    send({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } });
    response.end('data: [DONE]\n\n');
  }
}
