/** A connection to a runtime: requests both ways, over a pair of streams. */
import type { Readable, Writable } from 'node:stream';

import type { OpenWorkerError } from '../generated/errors.js';
import { CancelledError, ClosedError, FrameTooLargeError, InvalidRequestError, RuntimeExitedError } from '../generated/errors.js';
import type { Callbacks, Methods } from '../generated/protocol.js';
import { messageOf } from '../text.js';
import { fromWire, toWire, unknownMethod } from './errors.js';
import type { Message } from './lines.js';
import { LineReader, LineWriter, maxMessageBytes, protocolFault } from './lines.js';
import type { RequestOptions } from './requests.js';
import { cancelled, Requests } from './requests.js';

export type { RequestOptions } from './requests.js';

/**
 * The code that a request of the runtime runs. Its signal aborts with a CancelledError as its reason when the runtime gives the
 * request up, with a RuntimeExitedError when the runtime is gone, and with a ClosedError when this side closes; a request that is
 * read only after that is not run. What it throws is told to the runtime: the code and message of an OpenWorkerError, the message
 * alone of anything else.
 */
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

/** The client's end of a connection. */
export class Peer implements Connection {
  readonly closed: Promise<Error | undefined>;
  readonly #endpoint: Endpoint;
  readonly #lines: LineWriter;
  readonly #requests = new Requests((id) => this.#cancel(id));
  readonly #handlers = new Map<string, (params: unknown, signal: AbortSignal) => unknown>();
  readonly #running = new Map<string, AbortController>(); // requests of the runtime, by its name for them
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
        this.#fault(error as RuntimeExitedError); // what handlers throw is caught where they are called
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
      const text = json(params, `what ${method} is to carry`);
      if (text.includes(String.raw`\ud`) && half.test(method === 'session/create' ? withoutHistory(params as Methods['session/create']['params']) : text)) {
        throw new InvalidRequestError(`a text for ${method} has half a character, a surrogate without its other half; take it out, or use toWellFormed()`);
      }
      const id = this.#requests.add(options, resolve as (result: unknown) => void, reject);
      try {
        this.#lines.send(`{"jsonrpc":"2.0","id":"${id}","method":"${method}","params":${text}}`);
      } catch (error) {
        this.#requests.fail(id, error as OpenWorkerError); // frame_too_large
      }
    });
  }

  handle<C extends keyof Callbacks>(method: C, handler: Handler<C>): void {
    this.#handlers.set(method, handler as (params: unknown, signal: AbortSignal) => unknown);
  }

  close(): Promise<void> {
    if (this.#ending === undefined) {
      this.#closing = true;
      this.#lines.send('{"jsonrpc":"2.0","id":"close","method":"shutdown","params":{}}'); // the answer is its end
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
    if (message.error === undefined) {
      this.#requests.succeed(id, message.result);
    } else {
      this.#requests.fail(id, fromWire(message.error));
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
    if (this.#ending !== undefined) {
      return; // nobody hears the answer, and another runtime may have the work by now: what has not begun must not begin
    }
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
      this.#answer(id, 'error', toWire(error)); // which is short, and can be written
    }
  }

  #cancel(id: string): void {
    if (this.#ending === undefined) {
      this.#lines.send(`{"jsonrpc":"2.0","method":"rpc/cancel","params":{"id":"${id}"}}`);
    }
  }

  /** Ends the connection, though the runtime has not: no more is said or heard. */
  #fault(error: RuntimeExitedError): void {
    this.#fail(error);
    void this.#end();
  }

  /** Rejects what waits, and stops what runs for the runtime. */
  #fail(error: OpenWorkerError): void {
    this.#failed ??= error;
    this.#requests.failAll(this.#failed);
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
    // What runs hears of it before it is known how the runtime ended: what has not begun must not begin any more.
    this.#stop(this.#closing ? closed() : new RuntimeExitedError('the runtime is gone, or reads no more'));
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
  let text: string;
  try {
    text = JSON.stringify(value) ?? 'null';
  } catch (error) {
    throw new InvalidRequestError(`${what} cannot be written as JSON: ${messageOf(error)}`, {}, { cause: error });
  }
  if (text.length > maxMessageBytes) { // also where the line around it would be longer than a string may be
    throw new FrameTooLargeError(`${what} has ${text.length} characters as JSON, and a message may have ${maxMessageBytes} bytes; send less at a time`);
  }
  return text;
}

/** What JSON.stringify makes of half a surrogate pair, for which any reader would put another character. */
const half = /(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/;

/** A new session without its conversation: half characters in that are the runtime's to tell, by item and rule (IM1). */
function withoutHistory(params: Methods['session/create']['params']): string {
  return JSON.stringify({ ...params, options: { ...params.options, initialHistory: undefined } });
}

function closed(): ClosedError {
  return new ClosedError('the harness was closed');
}
