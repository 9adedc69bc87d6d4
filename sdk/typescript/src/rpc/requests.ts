/** The requests of a connection that have no answer yet. */
import type { OpenWorkerError } from '../generated/errors.js';
import { CancelledError } from '../generated/errors.js';
import { Signals } from './signals.js';

/** How a request waits. */
export interface RequestOptions {
  /** Gives the request up: the runtime is told, and the promise rejects with CancelledError, whose cause is the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * With it a request that is given up goes on to wait for the runtime's answer, which is an error mostly, and a result where
   * that was under way: a turn's acceptance is then told, not lost.
   */
  readonly settle?: boolean | undefined;
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly signal: AbortSignal | undefined;
  readonly settle: boolean;
  /** Hears of the signal no more. */
  readonly unhear: (() => void) | undefined;
}

/** Holds what waits, by id, and forgets it with its answer. */
export class Requests {
  readonly #cancel: (id: string) => void;
  readonly #pending = new Map<string, Pending>();
  readonly #signals = new Signals();
  #last = 0;

  /** `cancel` tells the runtime that a request is given up. */
  constructor(cancel: (id: string) => void) {
    this.#cancel = cancel;
  }

  /** Returns the id of a new request. */
  add(options: RequestOptions | undefined, resolve: (result: unknown) => void, reject: (error: Error) => void): string {
    this.#last++;
    const id = `c${this.#last}`;
    const signal = options?.signal;
    const unhear = signal && this.#signals.on(signal, () => this.#aborted(id));
    this.#pending.set(id, { resolve, reject, signal, settle: options?.settle === true, unhear });
    return id;
  }

  /** Ends a request with its result. One that is not there was given up. */
  succeed(id: string, result: unknown): void {
    this.#take(id)?.resolve(result);
  }

  /** Ends a request with an error. What the runtime calls cancelled is the caller's own doing, once its signal says so. */
  fail(id: string, error: OpenWorkerError): void {
    const pending = this.#take(id);
    pending?.reject(error.code === 'cancelled' && pending.signal?.aborted === true ? cancelled(pending.signal, error.details) : error);
  }

  failAll(error: OpenWorkerError): void {
    for (const id of this.#pending.keys()) {
      this.fail(id, error);
    }
  }

  #take(id: string): Pending | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) {
      return undefined;
    }
    this.#pending.delete(id);
    pending.unhear?.();
    return pending;
  }

  #aborted(id: string): void {
    this.#cancel(id);
    const pending = this.#pending.get(id);
    if (pending?.signal !== undefined && !pending.settle) {
      this.fail(id, cancelled(pending.signal));
    }
  }
}

/** The error of a request that its caller gave up. */
export function cancelled(signal: AbortSignal, details: Readonly<Record<string, string>> = {}): CancelledError {
  return new CancelledError('the caller stopped waiting; send again with the same submission ID to learn whether it was accepted', details, { cause: signal.reason });
}
