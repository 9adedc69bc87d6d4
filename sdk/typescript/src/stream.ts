import type { Event, FollowQuery } from './generated/protocol.js';
import type { Connection } from './rpc/connection.js';

/** How a stream of events is opened, and who is told of what. */
export interface StreamSetup {
  readonly connection: Connection;
  /** What to follow: asked when the first event is. */
  readonly query: () => FollowQuery;
  readonly signal: AbortSignal | undefined;
  /** Is told of each event before the reader has it. */
  readonly onEvent?: (event: Event) => void;
  /** Is told when nothing comes any more. */
  readonly onEnd?: () => void;
}

/**
 * Events as they come, for one reader: `for await (const event of …)`. Nothing is asked of the runtime before the first is
 * wanted, and a reader that is slow holds up nobody else (RU3). Leaving the loop unsubscribes. When the signal ends, the loop
 * ends with CancelledError.
 */
export class EventStream implements AsyncIterableIterator<Event, undefined, undefined> {
  readonly #setup: StreamSetup;
  readonly #stop = new AbortController();
  #come: Event[] = []; // those that came and were not given, the last first
  #subscription: string | undefined;
  #last = false; // nothing comes behind those that came
  #ended = false;
  #turn: Promise<unknown> = Promise.resolve();

  /** @internal */
  constructor(setup: StreamSetup) {
    this.#setup = setup;
    if (setup.signal?.aborted === true) {
      this.#abort();
    } else {
      setup.signal?.addEventListener('abort', this.#abort, { once: true });
    }
  }

  /** The next event. One call at a time is under way; others wait for their turn. */
  next(): Promise<IteratorResult<Event, undefined>> {
    const turn = this.#turn.then(() => this.#take());
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Ends it: what waits for an event gets the end. */
  return(): Promise<IteratorResult<Event, undefined>> {
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async #take(): Promise<IteratorResult<Event, undefined>> {
    try {
      while (this.#come.length === 0 && !this.#ended && !this.#last) {
        await this.#fetch();
      }
    } catch (error) {
      const left = this.#ended;
      this.#end();
      if (!left) {
        throw error;
      }
    }
    const event = this.#ended ? undefined : this.#come.pop();
    if (event === undefined) {
      this.#end();
      return { done: true, value: undefined };
    }
    this.#setup.onEvent?.(event);
    return { done: false, value: event };
  }

  async #fetch(): Promise<void> {
    const { connection, query } = this.#setup;
    const { signal } = this.#stop;
    // With settle: a subscription that is made is known, and can be ended.
    this.#subscription ??= (await connection.request('event/subscribe', query(), { signal, settle: true })).subscription;
    const { events, end } = await connection.request('event/next', { subscription: this.#subscription }, { signal });
    this.#come = events.toReversed();
    if (end === true) {
      this.#last = true;
      this.#subscription = undefined;
    }
  }

  readonly #abort = (): void => this.#stop.abort(this.#setup.signal?.reason);

  #end(): void {
    if (!this.#ended) {
      this.#ended = true;
      this.#come = [];
      this.#setup.signal?.removeEventListener('abort', this.#abort);
      this.#setup.onEnd?.();
      this.#stop.abort();
    }
    const subscription = this.#subscription;
    this.#subscription = undefined;
    if (subscription !== undefined) {
      // Where it fails the connection is gone, and the subscription with it.
      this.#setup.connection.request('event/unsubscribe', { subscription }).catch(() => undefined);
    }
  }
}

/** Turns a read by pages into an iteration. */
export async function* pages<T>(
  cursor: string | undefined,
  read: (cursor: string | undefined) => Promise<{ items: readonly T[]; next: string | undefined }>,
): AsyncGenerator<T, void, undefined> {
  let at = cursor;
  do {
    const { items, next } = await read(at);
    yield* items;
    at = next;
  } while (at !== undefined && at !== '');
}
