import type { Event, FollowQuery } from './generated/protocol.js';
import type { Connection } from './rpc/connection.js';
import { cancelled } from './rpc/requests.js';
import type { Spoken } from './spoken.js';

/** A reader may do so long without the next event before it is taken to have been dropped, in milliseconds. */
const idleMs = 60_000;

/** How a stream of events is opened, and who is told of what. */
export interface StreamSetup {
  readonly connection: Connection;
  /** What to follow: asked when the first event is wanted, and again after a rest. Undefined if nothing is to come any more. */
  readonly query: () => FollowQuery | undefined;
  readonly signal: AbortSignal | undefined;
  /** Is told of each event before the reader has it. */
  readonly onEvent?: (event: Event) => void;
  /** Completes the text of answers. Absent: events come as the runtime has them. */
  readonly spoken?: Spoken;
  /** Is told when it begins to hold something at the runtime, and when it no longer does. */
  readonly onHold?: (holds: boolean) => void;
  /** How long a reader may do without the next event before the runtime is let go of, in milliseconds. Absent: a minute. */
  readonly idleMs?: number;
}

/**
 * Events as they come, for one reader: `for await (const event of …)`. Nothing is asked of the runtime before the first is
 * wanted, and a reader that is slow holds up nobody else (RU3). Leaving the loop unsubscribes, and so does a minute in which the
 * next event is not asked for: then it goes on behind the last one, and only deltas of the time between are missing. When the signal
 * ends, the loop ends with CancelledError.
 */
export class EventStream implements AsyncIterableIterator<Event, undefined, undefined> {
  readonly #setup: StreamSetup;
  #come: Event[] = []; // those that came and were not given, the last first
  #after: number | undefined; // the last number that came
  #subscription: string | undefined;
  #last = false; // nothing comes behind those that came
  #ended = false;
  #waits = false; // somebody waits for an event
  #turn: Promise<unknown> = Promise.resolve();
  #leave: () => void = () => undefined; // ends a wait for the runtime
  #idle: NodeJS.Timeout | undefined;

  /** @internal */
  constructor(setup: StreamSetup) {
    this.#setup = setup;
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

  /** @internal Lets go of the runtime until the next event is wanted. */
  rest(): void {
    const subscription = this.#subscription;
    this.#subscription = undefined;
    if (subscription !== undefined) {
      this.#setup.onHold?.(false);
      this.#unsubscribe(subscription);
    }
  }

  async #take(): Promise<IteratorResult<Event, undefined>> {
    this.#waits = true;
    try {
      const { signal } = this.#setup;
      if (signal?.aborted === true && !this.#ended) {
        throw cancelled(signal);
      }
      while (this.#come.length === 0 && !this.#ended && !this.#last) {
        await this.#fetch();
      }
    } catch (error) {
      const left = this.#ended;
      this.#end();
      if (!left) {
        throw error;
      }
    } finally {
      this.#waits = false;
    }
    const event = this.#ended ? undefined : this.#come.pop();
    if (event === undefined) {
      this.#end();
      return { done: true, value: undefined };
    }
    this.#restLater();
    this.#setup.onEvent?.(event);
    return { done: false, value: event };
  }

  async #fetch(): Promise<void> {
    const { connection, signal } = this.#setup;
    const subscription = this.#subscription ?? (await this.#subscribe());
    if (subscription === undefined) {
      return;
    }
    const batch = await this.#unlessLeft(connection.request('event/next', { subscription }, { signal }));
    if (batch === undefined) {
      return;
    }
    for (const event of batch.events) {
      const missing = this.#setup.spoken?.missing(event);
      this.#come.push(...(missing === undefined ? [] : [missing]), event);
    }
    this.#come.reverse();
    this.#after = this.#come.find(({ number }) => number !== undefined)?.number ?? this.#after;
    if (batch.end === true) {
      this.#last = true;
      this.#subscription = undefined;
      this.#setup.onHold?.(false);
    }
  }

  /** Subscribes; undefined if nothing is to come any more, or it was ended meanwhile. */
  async #subscribe(): Promise<string | undefined> {
    const { connection, query, signal, onHold } = this.#setup;
    const wanted = query();
    if (wanted === undefined) {
      this.#last = true;
      return undefined;
    }
    onHold?.(true);
    const follow = this.#after === undefined ? wanted : { ...wanted, after: this.#after };
    // With settle: a subscription that is made is known, and can be ended.
    const made = connection.request('event/subscribe', follow, { signal, settle: true });
    const known = made.then(({ subscription }) => {
      if (this.#ended) {
        this.#unsubscribe(subscription);
        return undefined;
      }
      this.#subscription = subscription;
      return subscription;
    });
    return this.#unlessLeft(known);
  }

  /** Waits for the runtime, or until somebody ends this: then for nothing. */
  #unlessLeft<T>(asked: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      this.#leave = () => resolve(undefined);
      asked.then(resolve, reject);
    });
  }

  /** A reader that was dropped in the middle says nothing of it. */
  #restLater(): void {
    if (this.#subscription === undefined) {
      return;
    }
    this.#idle ??= setTimeout(() => {
      if (!this.#waits) {
        this.rest();
      }
    }, this.#setup.idleMs ?? idleMs).unref();
    this.#idle.refresh();
  }

  #end(): void {
    if (!this.#ended) {
      this.#ended = true;
      this.#come = [];
      clearTimeout(this.#idle);
      this.rest();
      this.#setup.onHold?.(false);
      this.#leave();
    }
  }

  #unsubscribe(subscription: string): void {
    // Where it fails the connection is gone, and the subscription with it.
    this.#setup.connection.request('event/unsubscribe', { subscription }).catch(() => undefined);
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
