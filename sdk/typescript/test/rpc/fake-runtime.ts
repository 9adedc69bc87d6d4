import { PassThrough } from 'node:stream';

import { RuntimeExitedError } from '../../src/generated/errors.js';
import { Peer } from '../../src/rpc/connection.js';
import type { Message } from '../../src/rpc/lines.js';
import { LineReader, LineWriter } from '../../src/rpc/lines.js';

/** A runtime within the test: it hears what the client sends, and says what the test wants. */
export class FakeRuntime {
  /** What the client reads, byte by byte if need be. */
  readonly output = new PassThrough();
  readonly input = new PassThrough();
  readonly heard: Message[] = [];
  readonly peer: Peer;
  gone = 0; // how often it was asked to end
  #answer: (message: Message) => void = () => undefined;
  #waiting: { readonly until: () => boolean; readonly resolve: () => void }[] = [];
  readonly #writer: LineWriter;

  /** `left` resolves when it is gone, once it was asked to end. */
  constructor(left: Promise<void> = Promise.resolve()) {
    this.#writer = new LineWriter(this.output, (error) => {
      throw error;
    });
    const reader = new LineReader((message) => {
      this.heard.push(message);
      this.#answer(message);
      this.#waiting = this.#waiting.filter(({ until, resolve }) => {
        const over = until();
        if (over) {
          resolve();
        }
        return !over;
      });
    });
    this.input.on('data', (chunk: Buffer) => reader.push(chunk));
    this.peer = new Peer({
      input: this.output,
      output: this.input,
      gone: async () => {
        this.gone++;
        await left;
        return new RuntimeExitedError('the fake is gone');
      },
    });
  }

  say(message: object): void {
    this.#writer.send(JSON.stringify(message));
  }

  /** Answers each request as it comes: with what `answer` returns, or with the error that it throws. */
  serve(answer: (message: Message) => unknown): void {
    this.#answer = (message) => {
      if (message.method === undefined || message.id === undefined) {
        return;
      }
      this.say({ jsonrpc: '2.0', id: message.id, result: answer(message) });
    };
  }

  /** Resolves once so many messages of a kind were heard. */
  async hears(count: number, which: (message: Message) => boolean = () => true): Promise<Message[]> {
    const found = (): Message[] => this.heard.filter(which);
    if (found().length < count) {
      await new Promise<void>((resolve) => {
        this.#waiting.push({ until: () => found().length >= count, resolve });
      });
    }
    return found();
  }
}

/** Numbers that look random and are the same in each run. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
