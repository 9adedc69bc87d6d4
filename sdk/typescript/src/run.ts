import { setImmediate as nextTurn, setTimeout as later } from 'node:timers/promises';

import { AlreadyResolvedError, CancelledError, InteractionNotFoundError, QueueFullError } from './generated/errors.js';
import type * as wire from './generated/protocol.js';
import { answerOf, type HandlerContext, type Handlers, handlersOf, unless } from './handlers.js';
import type { Host } from './host.js';
import { type CallOptions, given, optionsOf } from './options.js';
import { cancelled } from './rpc/requests.js';
import { Spoken } from './spoken.js';
import { EventStream } from './stream.js';

/** A run that is followed with handlers. */
interface Following {
  readonly handlers: Handlers;
  readonly signal: AbortSignal | undefined;
  /** Ends with the signal, and with the runtime; its reason is what the call fails with. */
  readonly stop: AbortSignal;
  /** The interactions that handlers were asked about. */
  readonly asked: Set<string>;
}

async function tell({ handlers, stop }: Following, event: wire.Event): Promise<void> {
  const told: unknown = handlers.onEvent?.(event);
  if (typeof told === 'object' && told !== null) {
    await unless(stop, Promise.resolve(told));
  }
}

/** The handle on one turn's execution. It holds nothing that the runtime does not have: {@link Session.openRun} finds it again. */
export class Run {
  /** The run's ID, which begins with its session's. */
  readonly id: string;
  /** The number of its turn_accepted event. */
  readonly accepted: number;
  /** Whether the submission ID had been accepted before, so that this is the run of then (RU4). */
  readonly repeated: boolean;
  readonly #host: Host;
  readonly #session: string;
  #seen: number; // number of the last event that events() has given
  readonly #spoken = new Spoken();

  /** @internal */
  constructor(host: Host, reference: wire.RunReference) {
    this.id = reference.run;
    this.accepted = reference.accepted;
    this.repeated = reference.repeated === true;
    this.#host = host;
    this.#session = reference.session;
    this.#seen = Math.max(0, reference.accepted - 1);
  }

  get #connection(): Host['connection'] {
    return this.#host.connection;
  }

  /**
   * The run's events from turn_accepted on, with text deltas in between, up to its terminal event or to the one that leaves it
   * waiting (RU3). The deltas of an answer make up its text: what the model said before anybody listened comes in one piece, in
   * front of model_call_finished. Called again it goes on where the last loop stopped, also where that was left early. One loop at a time.
   */
  events(options?: CallOptions): EventStream {
    const { signal } = given('run.events', options, optionsOf.wait);
    return new EventStream({
      connection: this.#connection,
      signal,
      query: () => ({ session: this.#session, run: this.id, after: this.#seen }),
      spoken: this.#spoken,
      onEvent: (event) => {
        this.#seen = event.number ?? this.#seen;
      },
    });
  }

  /**
   * Waits until the run ends or waits for something: then its status is "interrupted", and once that is resolved the same run
   * goes on, and result() may be called again (RU2). That a turn failed is a result, and no error. When the signal ends, only the
   * waiting does (RU6).
   */
  async result(options?: CallOptions): Promise<wire.Result> {
    const { signal } = given('run.result', options, optionsOf.wait);
    return this.#connection.request('run/result', { session: this.#session, run: this.id }, { signal });
  }

  /**
   * Goes to the end of the run. Handlers are called one at a time, each when its interaction comes up, while the rest of the run
   * goes on. What a handler throws ends the call, and leaves the run waiting. One that has not answered is not waited for when
   * somebody else answers or the turn ends: the call goes on then. When the signal ends, or the runtime, the call ends too. The
   * handler is told by the signal of its second argument.
   *
   * The result's status is "interrupted" if the run waits for what no handler answers: an interaction that was left open, or a
   * credential.
   */
  async resultWith(handlers: Handlers, options?: CallOptions): Promise<wire.Result> {
    const { signal } = given('run.resultWith', options, optionsOf.wait);
    return this.follow(handlersOf('run.resultWith', handlers), signal);
  }

  /** Asks the run to end, or to leave the queue, and returns once that is durable. A run that has ended stays as it is (RU5). */
  async cancel(options?: CallOptions): Promise<void> {
    const { signal } = given('run.cancel', options, optionsOf.wait);
    await this.#connection.request('run/cancel', { session: this.#session, run: this.id }, { signal });
  }

  /** @internal resultWith with handlers that are checked. */
  async follow(handlers: Handlers, signal: AbortSignal | undefined): Promise<wire.Result> {
    const { ended, signals } = this.#host;
    const stop = new AbortController();
    const unhear = [
      signals.on(ended, () => stop.abort(ended.reason)),
      signal && signals.on(signal, () => stop.abort(cancelled(signal, { run: this.id }))),
    ];
    const following: Following = { handlers, signal, stop: stop.signal, asked: new Set() };
    try {
      for (;;) {
        const result = await this.#round(following);
        if (result !== undefined) {
          return result;
        }
      }
    } finally {
      for (const one of unhear) {
        one?.();
      }
    }
  }

  /** Follows the run until it ends or waits; undefined when what it waits for was answered. */
  async #round(following: Following): Promise<wire.Result | undefined> {
    const { signal } = following;
    const events = this.events({ signal });
    for await (const event of events) {
      await tell(following, event);
      if (event.type === 'interaction_required') {
        // By the state and not by the event: a replayed event may be about something that was answered long ago.
        const open = async (): Promise<wire.Interaction[]> =>
          (await this.#connection.request('session/state', { session: this.#session }, { signal })).interactions ?? [];
        while (await this.#answer(following, await open(), events)) {
          // What was open when the handler was asked may not be any more.
        }
      }
    }
    const result = await this.result({ signal });
    if (result.status !== 'interrupted') {
      // The loop ended where the run waited: what came behind the answer is still to be told.
      for await (const event of this.events({ signal })) {
        await tell(following, event);
      }
      return result;
    }
    const answered = await this.#answer(following, result.interactions ?? []);
    return answered ? undefined : result;
  }

  /** Lets the handlers answer what is open of this run, up to the first that is closed by it, and says whether one was. */
  async #answer(following: Following, open: readonly wire.Interaction[], events?: EventStream): Promise<boolean> {
    for (const interaction of open) {
      if (interaction.run !== this.id || following.asked.has(interaction.id)) {
        continue;
      }
      following.asked.add(interaction.id);
      const answer = await this.#ask(following, interaction, events);
      if (answer === 'over') {
        return true;
      }
      if (answer !== undefined) {
        await this.#resolve(interaction.id, answer, following.signal);
        return true;
      }
    }
    return false;
  }

  /** What the handler answers: undefined to leave it open, 'over' if the interaction was closed before it said anything. */
  async #ask({ handlers, stop }: Following, interaction: wire.Interaction, events: EventStream | undefined): Promise<wire.Answer | 'over' | undefined> {
    const ended = new AbortController(); // for the handler
    const told = new AbortController(); // it has answered, or nobody waits for that
    try {
      const context: HandlerContext = { signal: ended.signal };
      const answer = await unless(stop, Promise.race([answerOf(handlers, interaction, context), this.#over(interaction.id, told.signal, events)]));
      if (answer === 'over') {
        ended.abort(new CancelledError(`interaction ${interaction.id} is closed: it was answered elsewhere, or its turn has ended`));
      }
      return answer;
    } catch (error) {
      ended.abort(error);
      throw error;
    } finally {
      told.abort();
    }
  }

  /** Waits until an interaction is closed, whoever does it. */
  async #over(interaction: string, told: AbortSignal, events: EventStream | undefined): Promise<'over'> {
    await nextTurn(); // most handlers have answered then
    while (!told.aborted) {
      events?.rest(); // so that a run that is followed has one subscription
      try {
        for await (const event of new EventStream({ connection: this.#connection, signal: told, query: () => ({ session: this.#session, after: this.#seen }) })) {
          if (event.type === 'interaction_resolved' ? event.data.id === interaction : event.run === this.id && event.type === 'turn_ended') {
            break;
          }
        }
        break;
      } catch (error) {
        if (!(error instanceof QueueFullError)) {
          throw error;
        }
        await later(1_000, undefined, { ref: false, signal: told }); // all subscriptions of the connection are in use
      }
    }
    return 'over';
  }

  /** Resolves an interaction, by us, or by somebody else or the turn's cancellation meanwhile. */
  async #resolve(interaction: string, answer: wire.Answer, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#connection.request('interaction/resolve', { session: this.#session, interaction, answer }, { signal });
    } catch (error) {
      if (!(error instanceof AlreadyResolvedError || error instanceof InteractionNotFoundError)) {
        throw error;
      }
    }
  }
}

/** A turn that was sent to be watched: `for await (const event of stream)`, then {@link finish}. */
export class RunStream implements AsyncIterable<wire.Event> {
  /** The handle on the turn. */
  readonly run: Run;
  readonly #signal: AbortSignal | undefined;

  /** @internal */
  constructor(run: Run, signal: AbortSignal | undefined) {
    this.run = run;
    this.#signal = signal;
  }

  /** {@link Run.events}, under the signal that the turn was sent with. */
  events(): EventStream {
    return this.run.events({ signal: this.#signal });
  }

  [Symbol.asyncIterator](): EventStream {
    return this.events();
  }

  /** {@link Run.result}; it may be called at any time, also with events left to read. */
  async finish(options?: CallOptions): Promise<wire.Result> {
    return this.run.result(options);
  }
}

/**
 * What runStreamed returns: awaited it is a {@link RunStream} once the turn is accepted, and it can be ranged over and finished
 * without that too.
 */
export type StreamedRun = Promise<RunStream> & AsyncIterable<wire.Event, undefined> & Pick<RunStream, 'finish'>;

/** Makes a promise of a stream one that can be ranged over. Its error is kept for whoever looks first. */
export function streamed(sent: Promise<RunStream>): StreamedRun {
  sent.catch(() => undefined);
  return Object.assign(sent, {
    finish: async (options?: CallOptions) => (await sent).finish(options),
    async *[Symbol.asyncIterator](): AsyncGenerator<wire.Event, undefined> {
      yield* await sent;
      return undefined;
    },
  });
}
