import type { Callbacks, Capabilities, Methods } from '../../src/generated/protocol.js';
import { CancelledError, ClosedError } from '../../src/generated/errors.js';
import { Harness } from '../../src/harness.js';
import type { Connection, Handler, RequestOptions } from '../../src/rpc/connection.js';
import type { Setup } from '../../src/setup.js';

type Method = keyof Methods;

/** Answers a request of the client: a value, or what a function returns or throws. Without one the answer is {}. */
export type Answers = { [M in Method]?: (params: Methods[M]['params'], options: RequestOptions) => unknown };

/** A request as it would go over the wire. */
export interface Sent {
  readonly method: Method;
  readonly params: unknown;
  readonly options: RequestOptions;
}

export const capabilities: Capabilities = {
  version: '9.9.9',
  store: 'st',
  options:
    (
      'agent.approvals.always agent.approvals.only agent.compaction agent.builtinTools.askUser agent.guardrails agent.hooks ' +
      'session.workspace session.compaction session.initialHistory session.metadata session.autoApproverContext ' +
      'submission.content submission.attachments turn.submissionId turn.limits turn.compaction turn.instructionAddendum turn.model'
    ).split(' '),
  providers: ['Scripted'],
};

const completed = { run: 's1-r1', status: 'completed', text: 'done', usage: { inputTokens: 1, outputTokens: 1 }, modelCalls: 1, auto_approved: 0 };

const defaults: Answers = {
  initialize: () => ({ protocolVersion: 1, runtime: { name: 'fake', version: '1.2.3' }, capabilities, maxFrameBytes: 1, maxMessageBytes: 1 }),
  'agent/register': ({ definition }) => ({ name: definition.name, digest: 'd1' }),
  'session/create': ({ agent }) => ({ store: 'st', session: 's1', agent: agent.name }),
  'turn/submit': () => ({ session: 's1', run: 's1-r1', accepted: 2 }),
  'run/result': () => completed,
  'turn/run': () => ({ run: { session: 's1', run: 's1-r1', accepted: 2 }, result: completed }),
};

/** A connection without a runtime: it notes what is sent and answers as it is told. */
export class FakeConnection implements Connection {
  readonly sent: Sent[] = [];
  readonly closed: Promise<Error | undefined>;
  readonly #answers: Answers;
  readonly #handlers = new Map<string, (params: unknown, signal: AbortSignal) => unknown>();
  #tellClosed: (error: undefined) => void = () => undefined;
  isClosed = false;

  constructor(answers: Answers = {}) {
    this.#answers = { ...defaults, ...answers };
    this.closed = new Promise((resolve) => {
      this.#tellClosed = resolve;
    });
  }

  async request<M extends Method>(method: M, params: Methods[M]['params'], options: RequestOptions = {}): Promise<Methods[M]['result']> {
    if (this.isClosed) {
      throw new ClosedError('the harness was closed');
    }
    if (options.signal?.aborted === true) {
      throw new CancelledError('stopped', {}, { cause: options.signal.reason });
    }
    const given = JSON.parse(JSON.stringify(params)) as Methods[M]['params']; // as it arrives
    this.sent.push({ method, params: given, options });
    const answer = (this.#answers[method] as ((params: unknown, options: RequestOptions) => unknown) | undefined)?.(given, options);
    return ((await answer) ?? {}) as Methods[M]['result'];
  }

  handle<C extends keyof Callbacks>(method: C, handler: Handler<C>): void {
    this.#handlers.set(method, handler as (params: unknown, signal: AbortSignal) => unknown);
  }

  /** Calls the client as the runtime does. */
  async call(method: keyof Callbacks, params: object, signal: AbortSignal = new AbortController().signal): Promise<unknown> {
    const handler = this.#handlers.get(method);
    if (handler === undefined) {
      throw new Error(`nothing handles ${method}`);
    }
    return handler({ callback: 't1', ...params }, signal);
  }

  close(): Promise<void> {
    this.isClosed = true;
    this.#tellClosed(undefined);
    return Promise.resolve();
  }

  /** The parameters of all requests of a method. */
  of(method: Method): unknown[] {
    return this.sent.filter((sent) => sent.method === method).map((sent) => sent.params);
  }
}

/** Waits for a signal's end, as a request that is given up does. */
export function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(new CancelledError('stopped', {}, { cause: signal?.reason }));
    if (signal?.aborted === true) {
      stop();
    }
    signal?.addEventListener('abort', stop, { once: true });
  });
}

/** A harness over a connection without a runtime. */
export function open(connection: FakeConnection, setup: Partial<Setup> = {}): Promise<Harness> {
  return Harness.over(connection, { initialize: {}, credentials: undefined, checkAction: undefined, signal: undefined, ...setup });
}

/** A session over it. */
export async function newSession(connection: FakeConnection) {
  const harness = await open(connection);
  return harness.createAgent({ name: 'a', defaultModel: { provider: 'Scripted', name: 'demo' } }).newSession();
}

/** What an asynchronous call fails with, as a test compares it. */
export async function failure(promise: Promise<unknown> | (() => unknown)): Promise<{ name: string; code: unknown; message: string; details: unknown; cause: unknown }> {
  try {
    await (typeof promise === 'function' ? promise() : promise);
  } catch (error) {
    const { name, message, code, details, cause } = error as Error & { code?: unknown; details?: unknown };
    return { name, code, message, details, cause };
  }
  throw new Error('it did not fail');
}
