import { AlreadyResolvedError, InteractionNotFoundError } from './generated/errors.js';
import type * as wire from './generated/protocol.js';
import { answerOf, type Handlers, handlersOf, type HandlerContext } from './handlers.js';
import { type CallOptions, given, optionsOf } from './options.js';
import type { Connection } from './rpc/connection.js';
import { EventStream } from './stream.js';

/** The handle on one turn's execution. It holds nothing that the runtime does not have: {@link Session.openRun} finds it again. */
export class Run {
  /** The run's ID, which begins with its session's. */
  readonly id: string;
  /** The number of its turn_accepted event. */
  readonly accepted: number;
  /** Whether the submission ID had been accepted before, so that this is the run of then (RU4). */
  readonly repeated: boolean;
  readonly #connection: Connection;
  readonly #session: string;
  #seen: number; // number of the last event that events() has given

  /** @internal */
  constructor(connection: Connection, reference: wire.RunReference) {
    this.id = reference.run;
    this.accepted = reference.accepted;
    this.repeated = reference.repeated === true;
    this.#connection = connection;
    this.#session = reference.session;
    this.#seen = Math.max(0, reference.accepted - 1);
  }

  /**
   * The run's events from turn_accepted on, with text deltas in between, up to its terminal event or to the one that leaves it
   * waiting (RU3). Called again it goes on where the last loop stopped, also where that was left early. One loop at a time.
   */
  events(options?: CallOptions): EventStream {
    const { signal } = given('run.events', options, optionsOf.wait);
    return new EventStream({
      connection: this.#connection,
      signal,
      query: () => ({ session: this.#session, run: this.id, after: this.#seen }),
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
   * goes on; what somebody else answers meanwhile is left at that. What a handler throws ends the call, and leaves the run waiting.
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
    const leftOpen = new Set<string>();
    for (;;) {
      const result = await this.#round(handlers, leftOpen, signal);
      if (result !== undefined) {
        return result;
      }
    }
  }

  /** Follows the run until it ends or waits; undefined when what it waits for was answered. */
  async #round(handlers: Handlers, leftOpen: Set<string>, signal: AbortSignal | undefined): Promise<wire.Result | undefined> {
    for await (const event of this.events({ signal })) {
      await handlers.onEvent?.(event);
      if (event.type === 'interaction_required') {
        // By the state and not by the event: a replayed event may be about something that was answered long ago.
        const state = await this.#connection.request('session/state', { session: this.#session }, { signal });
        await this.#answer(handlers, state.interactions ?? [], leftOpen, signal);
      }
    }
    const result = await this.result({ signal });
    if (result.status !== 'interrupted') {
      // The loop ended where the run waited: what came behind the answer is still to be told.
      for await (const event of this.events({ signal })) {
        await handlers.onEvent?.(event);
      }
      return result;
    }
    const answered = await this.#answer(handlers, result.interactions ?? [], leftOpen, signal);
    return answered ? undefined : result;
  }

  /** Lets the handlers answer what is open of this run, and says whether anything was. */
  async #answer(handlers: Handlers, open: readonly wire.Interaction[], leftOpen: Set<string>, signal: AbortSignal | undefined): Promise<boolean> {
    let answered = false;
    const context: HandlerContext = { signal };
    for (const interaction of open) {
      if (interaction.run !== this.id || leftOpen.has(interaction.id)) {
        continue;
      }
      const answer = await answerOf(handlers, interaction, context);
      if (answer === undefined) {
        leftOpen.add(interaction.id);
        continue;
      }
      await this.#resolve(interaction.id, answer, signal);
      answered = true;
    }
    return answered;
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
