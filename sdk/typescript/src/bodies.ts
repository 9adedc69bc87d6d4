import { setImmediate as nextTurn } from 'node:timers/promises';

import { ArgumentsInvalidError, CancelledError, isError, type OpenWorkerError, ToolFailedError } from './generated/errors.js';
import { TooLateError } from './rpc/errors.js';
import { beginning, messageOf } from './text.js';

/** What a tool's result may have; of a longer one the runtime keeps so much, and so does this side (RU8). */
const maxOutputBytes = 256_000;
const maxErrorBytes = 8_000;

/** How many ended bodies are remembered, and how many bytes of their outputs. */
const mostKept = 4_096;
const mostKeptBytes = 16 << 20;

/** What a body may take that says nothing else. The runtime's own bound is the same. */
const defaultTimeoutMs = 600_000;
/**
 * What a body gets to end once its time is over, before nobody waits for it any more. The runtime gives it a second more before it
 * asks, and has its answer at once.
 */
const graceMs = 4_000;

/** What names an attempt of a call. */
export interface Attempt {
  readonly callId: string;
  readonly attempt: number;
  /** The claim under which it runs: a later owner's is greater. */
  readonly epoch: number;
}

/** What became of a call as far as this process knows; undefined if it knows nothing. */
export type Known = { readonly outcome: 'running' } | { readonly outcome: 'succeeded' | 'failed'; readonly output: string } | undefined;

/** How a body ended. */
type Outcome = { readonly output: string } | { readonly error: OpenWorkerError };

/** A body that runs, for everybody who asks for it. */
interface Flight {
  readonly attempt: number;
  readonly ended: Promise<Outcome>;
  readonly controller: AbortController;
  /** When its time is over, in milliseconds since 1970. */
  readonly until: number;
  /** The latest owner that has asked for it, or about it. */
  epoch: number;
}

/** What is left of a call: how it ended, or that it was looked for and not there. */
interface Kept extends Attempt {
  readonly outcome: Outcome | undefined;
}

/**
 * The tool bodies of this process, by call. A runtime that is killed forgets the bodies that it had asked for, and they go on:
 * the next runtime is told of them (RE3). So no body is begun beside one of the same call that runs, nor after one that has
 * returned, and what a body returned to nobody is handed over when it is asked for.
 */
export class Bodies {
  readonly #running = new Map<string, Flight>();
  readonly #kept = new Map<string, Kept>(); // the oldest first
  #keptBytes = 0;

  /**
   * Runs a body, or joins the one of this call that runs. The signal stops it, unless it ended since the runtime is gone: what
   * the body comes to is the next runtime's then. A later attempt that joined one that was stopped, and threw, makes its own.
   *
   * @param startBefore until when it may begin, in milliseconds since 1970
   * @param timeoutMs what it may take before {@link inspect} no longer waits for it
   * @param prepare makes the body's input: the whole of it comes before the last look at whether the body may begin
   * @throws TooLateError when that has passed, the signal has ended, or a later owner has asked about the call: nothing was done
   */
  async run<Input>(
    call: Attempt,
    signal: AbortSignal,
    startBefore: number | undefined,
    body: (signal: AbortSignal, input: Input) => unknown,
    timeoutMs: number = defaultTimeoutMs,
    prepare: () => Input | Promise<Input> = () => undefined as Input,
  ): Promise<string> {
    const until = Date.now() + timeoutMs; // as the runtime counts it: from when it asked
    let prepared: { readonly input: Input } | { readonly error: OpenWorkerError } | undefined;
    for (;;) {
      const flight = this.#running.get(call.callId);
      if (flight !== undefined) {
        const outcome = await joined(flight, call, signal);
        if (!('error' in outcome) || !flight.controller.signal.aborted || signal.aborted || call.attempt <= flight.attempt) {
          return told(outcome);
        }
        prepared = undefined; // the wait may have been long
        continue;
      }
      const known = this.#handedOver(call);
      if (known !== undefined) {
        return told(known);
      }
      if (prepared === undefined) {
        prepared = await settled(prepare);
        // A process that stood still finds, behind the request, that its runtime is gone: another may have taken the call over.
        await nextTurn();
        continue;
      }
      if (signal.aborted || (startBefore !== undefined && Date.now() >= startBefore)) {
        throw new TooLateError('the time to begin the body had passed; it was not begun');
      }
      if ('error' in prepared) {
        throw prepared.error;
      }
      const { input } = prepared;
      this.#begin(call, (stopped) => body(stopped, input), until);
    }
  }

  /**
   * What became of a call. Where nothing is known, a request of an earlier owner that comes only now begins nothing any more, so
   * that what the tool's own inspection finds stays true.
   *
   * A body is waited for until its time is over. It is told so, and a while later nothing is known of it: it may never end, and its
   * turn is not to wait for that. It stays in the table, so that none is begun beside it, and what it comes to is known after all.
   */
  inspect(call: Attempt): Known {
    const flight = this.#running.get(call.callId);
    if (flight !== undefined) {
      flight.epoch = Math.max(flight.epoch, call.epoch);
      const over = Date.now() - flight.until;
      if (over >= 0) {
        flight.controller.abort(new CancelledError("the tool's time is over"));
      }
      return over < graceMs ? { outcome: 'running' } : undefined;
    }
    const kept = this.#kept.get(call.callId);
    const outcome = kept?.outcome;
    this.#keep({ ...call, epoch: Math.max(call.epoch, kept?.epoch ?? 0), outcome });
    if (outcome === undefined) {
      return undefined;
    }
    return 'output' in outcome ? { outcome: 'succeeded', output: outcome.output } : { outcome: 'failed', output: outcome.error.message };
  }

  /** How an earlier attempt ended that answers for this one. A failed one does so only for itself: later ones try again. */
  #handedOver(call: Attempt): Outcome | undefined {
    const kept = this.#kept.get(call.callId);
    if (kept === undefined) {
      return undefined;
    }
    if (call.epoch < kept.epoch) {
      throw new TooLateError('a later owner of the session has asked about the call; the body was not begun');
    }
    return kept.outcome !== undefined && ('output' in kept.outcome || call.attempt <= kept.attempt) ? kept.outcome : undefined;
  }

  /** Calls the body, at once: behind a last look at whether it may begin nothing else comes. */
  #begin(call: Attempt, body: (signal: AbortSignal) => unknown, until: number): void {
    const controller = new AbortController();
    const ended = outcomeOf(() => body(controller.signal)).then((outcome) => {
      this.#running.delete(call.callId);
      // What a body throws that was stopped tells those who wait, and nothing of what it did until then.
      const stopped = controller.signal.aborted && 'error' in outcome;
      this.#keep({ ...call, epoch: flight.epoch, outcome: stopped ? undefined : outcome });
      return outcome;
    });
    const flight: Flight = { attempt: call.attempt, controller, until, epoch: call.epoch, ended };
    this.#running.set(call.callId, flight);
  }

  #keep(kept: Kept): void {
    this.#forget(kept.callId);
    this.#kept.set(kept.callId, { callId: kept.callId, attempt: kept.attempt, epoch: kept.epoch, outcome: kept.outcome });
    this.#keptBytes += sizeOf(kept);
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= mostKept && this.#keptBytes <= mostKeptBytes) {
        break;
      }
      this.#forget(oldest);
    }
  }

  #forget(callId: string): void {
    const kept = this.#kept.get(callId);
    if (kept !== undefined) {
      this.#kept.delete(callId);
      this.#keptBytes -= sizeOf(kept);
    }
  }
}

/**
 * The table of this process, which all copies of the package share: a program may have two, and a call is in one runtime's hands
 * today and in another's after it. The key has a number, which another form of the table is to change.
 */
export function bodies(): Bodies {
  const key = Symbol.for('@openworkerai/harness-sdk/bodies/1');
  const shared = globalThis as { [key]?: Bodies };
  return (shared[key] ??= new Bodies());
}

/** Waits for a body that runs. The end of the signal stops it, as {@link Bodies.run} says. */
async function joined(flight: Flight, { epoch }: Attempt, signal: AbortSignal): Promise<Outcome> {
  flight.epoch = Math.max(flight.epoch, epoch);
  const stop = (): void => {
    if (!isError(signal.reason, 'runtime_exited')) {
      flight.controller.abort(signal.reason);
    }
  };
  if (signal.aborted) {
    stop(); // by the body's own beginning, or while a turn passed
  }
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await flight.ended;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function settled<Input>(prepare: () => Input | Promise<Input>): Promise<{ readonly input: Input } | { readonly error: OpenWorkerError }> {
  try {
    return { input: await prepare() };
  } catch (thrown) {
    return { error: failure(thrown) };
  }
}

/** Runs a body to its end, and says how it ended; never rejects. */
async function outcomeOf(body: () => unknown): Promise<Outcome> {
  try {
    return { output: textOf(await body()) };
  } catch (thrown) {
    return { error: failure(thrown) };
  }
}

/** A result as the model is told it: a string as it stands, anything else as JSON, nothing as an empty text. */
function textOf(result: unknown): string {
  let text: string | undefined;
  try {
    text = typeof result === 'string' ? result : JSON.stringify(result);
  } catch (cause) {
    throw new ToolFailedError(`the tool ran, but its result cannot be written as JSON: ${messageOf(cause)}`);
  }
  return boundOutput(text ?? '');
}

function boundOutput(text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxOutputBytes) {
    return text;
  }
  const most = maxOutputBytes - 200;
  return `${beginning(text, most)}\n[cut: the output had ${bytes} bytes, of which the first ${most} are shown]`;
}

/** What a body threw, as the model is told it. Only that the arguments are to be corrected keeps its code. */
function failure(thrown: unknown): OpenWorkerError {
  const message = beginning(messageOf(thrown), maxErrorBytes);
  return isError(thrown, 'arguments_invalid') ? new ArgumentsInvalidError(message) : new ToolFailedError(message);
}

function told(outcome: Outcome): string {
  if ('error' in outcome) {
    throw outcome.error;
  }
  return outcome.output;
}

function sizeOf({ outcome }: Kept): number {
  if (outcome === undefined) {
    return 0;
  }
  return Buffer.byteLength('output' in outcome ? outcome.output : outcome.error.message);
}
