/** A connection to a runtime: requests both ways, over a pair of streams. */
import type { Readable, Writable } from 'node:stream';

import type { OpenWorkerError } from '../generated/errors.js';
import { CancelledError, ClosedError, InvalidRequestError, RuntimeExitedError } from '../generated/errors.js';
import type { Callbacks, Methods } from '../generated/protocol.js';
import { fromWire, toWire, unknownMethod } from './errors.js';
import type { Message } from './lines.js';
import { LineReader, LineWriter, protocolFault } from './lines.js';

/** How a request waits. */
export interface RequestOptions {
  /** Gives the request up: the runtime is told, and the promise rejects with CancelledError, whose cause is the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * With it a request that is given up rejects only with the runtime's own answer, or resolves where that was under way: a
   * turn's acceptance is then told, not lost.
   */
  readonly settle?: boolean | undefined;
}

/** The code that a request of the runtime runs. The signal aborts when the runtime gives the request up, or is gone. */
export type Handler<C extends keyof Callbacks> = (params: Callbacks[C]['params'], signal: AbortSignal) => Callbacks[C]['result'] | Promise<Callbacks[C]['result']>;

/** A connection to a runtime. */
export interface Connection {
  /**
   * Asks the runtime. Rejects with an OpenWorkerError: the runtime's own; invalid_request or frame_too_large for parameters that
   * cannot be sent; cancelled; runtime_exited, now or later, once the runtime is gone; closed after {@link close}.
   */
  request<M extends keyof Methods>(method: M, params: Methods[M]['params'], options?: RequestOptions): Promise<Methods[M]['result']>;
  /** Sets what runs for a request of the runtime, instead of what did. */
  handle<C extends keyof Callbacks>(method: C, handler: Handler<C>): void;
  /** Resolves when the connection is over and the runtime gone: with why, or with undefined after {@link close}. */
  readonly closed: Promise<Error | undefined>;
  /** Has the runtime stop its work and end, and waits for it. It never rejects, and may be called again. */
  close(): Promise<void>;
}

/** What is at the other end of a connection. */
export interface Endpoint {
  /** What it says. */
  readonly input: Readable;
  /** What it is told. */
  readonly output: Writable;
  /** Waits until it is gone, and sees to that. Called once, when a stream is over or of no use. Resolves with why; never rejects. */
  gone(): Promise<OpenWorkerError>;
}

/** A request that has no answer yet. It listens to its signal itself, so that nothing needs to be made for that. */
class Pending {
  readonly id: string;
  readonly settle: boolean;
  readonly #resolve: (result: unknown) => void;
  readonly #reject: (error: Error) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #aborted: (pending: Pending) => void;

  constructor(id: string, options: RequestOptions | undefined, resolve: (result: unknown) => void, reject: (error: Error) => void, aborted: (pending: Pending) => void) {
    this.id = id;
    this.settle = options?.settle === true;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#signal = options?.signal;
    this.#aborted = aborted;
    this.#signal?.addEventListener('abort', this);
  }

  handleEvent(): void {
    this.#aborted(this);
  }

  succeed(result: unknown): void {
    this.#signal?.removeEventListener('abort', this);
    this.#resolve(result);
  }

  /** What the runtime calls cancelled is the caller's own doing, once its signal says so. */
  fail(error: OpenWorkerError): void {
    this.#signal?.removeEventListener('abort', this);
    this.#reject(error.code === 'cancelled' && this.#signal?.aborted === true ? cancelled(this.#signal) : error);
  }

  giveUp(): void {
    this.fail(cancelled(this.#signal));
  }
}

/** The client's end of a connection. */
export class Peer implements Connection {
  readonly closed: Promise<Error | undefined>;
  readonly #endpoint: Endpoint;
  readonly #lines: LineWriter;
  readonly #handlers = new Map<string, (params: unknown, signal: AbortSignal) => unknown>();
  readonly #pending = new Map<string, Pending>();
  readonly #running = new Map<string, AbortController>(); // requests of the runtime, by its name for them
  readonly #aborted = (pending: Pending): void => this.#cancel(pending);
  #asked = 0;
  #closing = false; // by our side
  #failed: OpenWorkerError | undefined;
  #ending: Promise<void> | undefined;
  #tellClosed: (why: Error | undefined) => void = () => undefined;

  constructor(endpoint: Endpoint) {
    this.closed = new Promise((resolve) => {
      this.#tellClosed = resolve;
    });
    this.#endpoint = endpoint;
    const { input, output } = endpoint;
    this.#lines = new LineWriter(output, (error) => this.#fault(error));
    const reader = new LineReader((message) => this.#receive(message));
    input.on('data', (chunk: Buffer) => {
      if (this.#failed !== undefined) {
        return;
      }
      try {
        reader.push(chunk);
      } catch (error) {
        this.#fault(error as OpenWorkerError); // what handlers throw is caught where they are called
      }
    });
    const end = (): void => void this.#end();
    input.on('end', end).on('close', end).on('error', end);
    output.on('error', end); // it reads no more; what it says is heard until it is gone
  }

  request<M extends keyof Methods>(method: M, params: Methods[M]['params'], options?: RequestOptions): Promise<Methods[M]['result']> {
    return new Promise<Methods[M]['result']>((resolve, reject) => {
      if (this.#failed !== undefined) {
        throw this.#failed;
      }
      if (this.#ending !== undefined) {
        throw this.#closing ? closed() : new RuntimeExitedError('the runtime is ending; open the same state directory again');
      }
      if (options?.signal?.aborted === true) {
        throw cancelled(options.signal);
      }
      const text = json(params, `the parameters of ${method}`);
      this.#asked++;
      const pending = new Pending(`c${this.#asked}`, options, resolve as (result: unknown) => void, reject, this.#aborted);
      this.#pending.set(pending.id, pending);
      try {
        this.#lines.send(`{"jsonrpc":"2.0","id":"${pending.id}","method":"${method}","params":${text}}`);
      } catch (error) {
        this.#pending.delete(pending.id);
        pending.fail(error as OpenWorkerError); // frame_too_large
      }
    });
  }

  handle<C extends keyof Callbacks>(method: C, handler: Handler<C>): void {
    this.#handlers.set(method, handler as (params: unknown, signal: AbortSignal) => unknown);
  }

  close(): Promise<void> {
    if (this.#ending === undefined) {
      this.#closing = true;
      this.#asked++;
      this.#lines.send(`{"jsonrpc":"2.0","id":"c${this.#asked}","method":"shutdown","params":{}}`); // its answer is the runtime's end
    }
    return this.#end();
  }

  #receive(message: Message): void {
    if (this.#failed !== undefined) {
      return;
    }
    const { id, method, params } = message;
    if (method === undefined) {
      this.#answered(id, message);
    } else if (typeof method !== 'string') {
      throw protocolFault('the method of a request is no text');
    } else if (id === undefined) {
      this.#notified(method, params);
    } else {
      this.#asks(id, method, params);
    }
  }

  #answered(id: unknown, message: Message): void {
    if (typeof id !== 'string') {
      if (id === null || id === undefined) {
        // Which request it was nobody knows, and that would wait for ever.
        throw protocolFault(`it refused a line of this client: ${fromWire(message.error).message}`);
      }
      return; // an answer of ours came too late
    }
    const pending = this.#pending.get(id);
    if (pending === undefined) {
      return; // given up
    }
    this.#pending.delete(id);
    if (message.error === undefined) {
      pending.succeed(message.result);
    } else {
      pending.fail(fromWire(message.error));
    }
  }

  #notified(method: string, params: unknown): void {
    if (method !== 'callback/cancel') {
      return; // of a later version; no answer is expected
    }
    const name = callbackOf(params);
    const running = this.#running.get(name);
    this.#running.delete(name);
    running?.abort(new CancelledError('the runtime has given this up'));
  }

  #asks(id: unknown, method: string, params: unknown): void {
    const handler = this.#handlers.get(method);
    if (handler === undefined) {
      this.#answer(id, 'error', unknownMethod(method));
      return;
    }
    const name = callbackOf(params);
    const abort = new AbortController();
    this.#running.set(name, abort);
    const settle = (kind: 'result' | 'error', value: unknown): void => {
      if (this.#running.get(name) === abort) {
        this.#running.delete(name);
      }
      this.#answer(id, kind, value);
    };
    try {
      const result = handler(params, abort.signal);
      if (isThenable(result)) {
        Promise.resolve(result).then(
          (value) => settle('result', value),
          (error: unknown) => settle('error', toWire(error)),
        );
      } else {
        settle('result', result);
      }
    } catch (error) {
      settle('error', toWire(error));
    }
  }

  #answer(id: unknown, kind: 'result' | 'error', value: unknown): void {
    if (this.#ending !== undefined) {
      return; // nobody hears it
    }
    try {
      this.#lines.send(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"${kind}":${json(value, 'the answer')}}`);
    } catch (error) {
      this.#answer(id, 'error', toWire(error)); // short, and of strings alone
    }
  }

  #cancel(pending: Pending): void {
    if (this.#ending === undefined) {
      this.#lines.send(`{"jsonrpc":"2.0","method":"rpc/cancel","params":{"id":"${pending.id}"}}`);
    }
    if (!pending.settle) {
      this.#pending.delete(pending.id);
      pending.giveUp();
    }
  }

  /** Ends the connection, though the runtime has not: no more is said or heard. */
  #fault(error: OpenWorkerError): void {
    this.#fail(error);
    void this.#end();
  }

  /** Rejects what waits, and stops what runs for the runtime. */
  #fail(error: OpenWorkerError): void {
    this.#failed ??= error;
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const pending of waiting) {
      pending.fail(this.#failed);
    }
    this.#stop(this.#failed);
  }

  #stop(reason: OpenWorkerError): void {
    const running = [...this.#running.values()];
    this.#running.clear();
    for (const abort of running) {
      abort.abort(reason);
    }
  }

  #end(): Promise<void> {
    this.#ending ??= this.#finish();
    return this.#ending;
  }

  async #finish(): Promise<void> {
    this.#lines.end();
    const gone = this.#endpoint.gone();
    if (this.#closing) {
      this.#stop(closed());
    }
    const why = await gone;
    this.#fail(this.#closing ? closed() : why);
    this.#tellClosed(this.#closing ? undefined : this.#failed);
  }
}

function callbackOf(params: unknown): string {
  return typeof params === 'object' && params !== null && 'callback' in params && typeof params.callback === 'string' ? params.callback : '';
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function json(value: unknown, what: string): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    throw new InvalidRequestError(`${what} cannot be written as JSON: ${error instanceof Error ? error.message : String(error)}`, {}, { cause: error });
  }
}

function closed(): OpenWorkerError {
  return new ClosedError('the harness was closed');
}

function cancelled(signal: AbortSignal | undefined): CancelledError {
  return new CancelledError('the caller stopped waiting; send again with the same submission ID to learn whether it was accepted', {}, { cause: signal?.reason });
}
