import { type Attachment, isAttachment } from './attachment.js';
import { requireOption, requireOptions } from './capabilities.js';
import { type Files, type Input, type Message, messageFrom } from './content.js';
import { AttachmentNotFoundError, ClosedError, InvalidRequestError } from './generated/errors.js';
import type * as wire from './generated/protocol.js';
import { checkedAnswer, type Handlers, splitHandlers } from './handlers.js';
import type { Host } from './host.js';
import { type CallOptions, given, optionsOf } from './options.js';
import { Run, RunStream, streamed, type StreamedRun } from './run.js';
import { blocksOf, upload } from './staging.js';
import { EventStream, pages } from './stream.js';
import { kindOf } from './text.js';

/** Options of one turn, and a signal that ends the waiting. What is absent is inherited; '' clears guidance (GU2). */
export type TurnOptions = wire.TurnOptions & CallOptions;

/** {@link Handlers} and options of one turn. */
export type RunWithOptions = Handlers & TurnOptions;

/**
 * One durable conversation (SE). It holds no state of its own: any number of values, in any number of processes, may stand for
 * one session. Make one with {@link Agent.newSession}, find one with {@link Agent.resumeSession}.
 */
export class Session {
  readonly #host: Host;
  readonly #reference: wire.SessionReference;
  readonly #streams = new Set<EventStream>(); // those that hold something at the runtime
  #closed = false;

  /** @internal */
  constructor(host: Host, reference: wire.SessionReference) {
    this.#host = host;
    this.#reference = reference;
  }

  /** The session's ID, a part of the reference. */
  get id(): string {
    return this.#reference.session;
  }

  /**
   * What to keep to find the session again: a small JSON value without secrets (SE2). It is no permission; who may use it is the
   * application's to decide.
   */
  reference(): wire.SessionReference {
    return { ...this.#reference };
  }

  /**
   * Sends a message and waits until its run ends, or waits for something: then the result's status is "interrupted", and once that
   * is resolved the same run goes on ({@link Run.result}). When the signal ends before the message is accepted, nothing is
   * submitted; later only the waiting ends, and the detail `run` of the CancelledError names the run (RU6). Errors are those of
   * {@link send}.
   */
  run(input: Input, options?: TurnOptions): Promise<wire.Result>;
  run(text: string, files: Files, options?: TurnOptions): Promise<wire.Result>;
  async run(input: Input, second?: Files | TurnOptions, third?: TurnOptions): Promise<wire.Result> {
    const { message, options } = messageFrom('session.run', input, second, third);
    const { result } = await this.#sent('session.run', message, options, (connection, submission, signal) =>
      connection.request('turn/run', submission, { signal, settle: true }),
    );
    return result;
  }

  /**
   * Returns once the message is durable: from then on the turn survives everything, and needs nobody to wait for it (RU1).
   *
   * A message is a text, content, or a text and files behind it (AT1). An {@link Attachment} of at most 256 KiB goes within the
   * message and is stored with it; larger ones are uploaded first, as far as the session has not got them yet: one whose upload was
   * cut off goes on from there. Errors count the blocks from 1, the text being the first.
   *
   * @throws by code: session_busy while a turn is under way and whenBusy is not set, submission_conflict, queue_full,
   *   invalid_request, invalid_limits, invalid_guidance, unknown_provider, unsupported_option, session_deleted; guardrail_blocked,
   *   guardrail_failed and guardrail_missing where a guardrail did not let it pass; for files unsupported_media,
   *   attachment_too_large, attachment_quota_exceeded, attachment_not_found, upload_conflict and uninspectable_content. After an
   *   error nothing was accepted, unless its code is cancelled, runtime_exited or begins with store_: then send again with the same
   *   submissionId to learn it.
   */
  send(input: Input, options?: TurnOptions): Promise<Run>;
  send(text: string, files: Files, options?: TurnOptions): Promise<Run>;
  async send(input: Input, second?: Files | TurnOptions, third?: TurnOptions): Promise<Run> {
    return (await this.#send('session.send', input, second, third)).run;
  }

  /**
   * Sends a message and goes to the end of its run, with interactions answered by the handlers (RU1); see {@link Run.resultWith}.
   */
  runWith(input: Input, options: RunWithOptions): Promise<wire.Result>;
  runWith(text: string, files: Files, options: RunWithOptions): Promise<wire.Result>;
  async runWith(input: Input, second: Files | RunWithOptions, third?: RunWithOptions): Promise<wire.Result> {
    const { message, options } = messageFrom('session.runWith', input, second, third);
    const { handlers, options: turn } = splitHandlers('session.runWith', options);
    const { run, signal } = await this.#submit('session.runWith', message, turn);
    return run.follow(handlers, signal);
  }

  /**
   * Sends a message to watch its run (RU1): the value can be ranged over at once, awaited for a {@link RunStream}, and finished for
   * the result. What went wrong with sending is told by whichever of these comes first.
   */
  runStreamed(input: Input, options?: TurnOptions): StreamedRun;
  runStreamed(text: string, files: Files, options?: TurnOptions): StreamedRun;
  runStreamed(input: Input, second?: Files | TurnOptions, third?: TurnOptions): StreamedRun {
    const sent = this.#send('session.runStreamed', input, second, third);
    return streamed(sent.then(({ run, signal }) => new RunStream(run, signal)));
  }

  /** What the session is doing, as its journal and lease have it: the same in every process (SE3). */
  async state(options?: CallOptions): Promise<wire.SessionState> {
    const { signal } = given('session.state', options, optionsOf.wait);
    return this.#request('session/state', { session: this.id }, signal);
  }

  /**
   * Answers an interaction and returns once the answer is durable; the run goes on by itself. The same answer again does nothing
   * (AP3).
   *
   * @throws by code: already_resolved for a different answer, interaction_not_found, invalid_request for a decision that does not
   *   fit the kind, arguments_invalid for changed arguments that the tool does not take; guardrail_blocked, guardrail_failed and
   *   guardrail_missing for what a person wrote.
   */
  async resolve(interaction: string, answer: wire.Answer, options?: CallOptions): Promise<void> {
    const { signal } = given('session.resolve', options, optionsOf.wait);
    const id = idOf('session.resolve', 'an interaction', interaction);
    const checked = checkedAnswer('the answer of session.resolve', answer);
    await this.#request('interaction/resolve', { session: this.id, interaction: id, answer: checked }, signal);
  }

  /**
   * Stores a file in the session before it is sent: its `id` is for `{ type: 'attachment', id }` as a block's source. An upload that
   * no message refers to expires 24 hours after it was last begun (AT5). The same bytes again are found, and not stored twice.
   * Errors are those that {@link send} has for files.
   */
  async upload(attachment: Attachment, options?: CallOptions): Promise<wire.Upload> {
    const { signal } = given('session.upload', options, optionsOf.wait);
    if (!isAttachment(attachment)) {
      throw new InvalidRequestError(`session.upload was given ${kindOf(attachment)}; give an Attachment`);
    }
    requireOption(this.#host.capabilities, 'submission.attachments');
    return upload(this.#usable(), this.id, attachment, signal);
  }

  /** Asks the current turn to end and returns once that is durable (RU5). Without a turn it does nothing. */
  async cancel(options?: CallOptions): Promise<void> {
    const { signal } = given('session.cancel', options, optionsOf.wait);
    await this.#request('run/cancel', { session: this.id }, signal);
  }

  /**
   * Summarises the older part of the conversation for the model now, instead of when it no longer fits (CO1), and waits as
   * {@link run} does. The complete history stays readable. Of the options submissionId, model, whenBusy, compaction and guardrails
   * may be given.
   */
  async compact(options?: TurnOptions): Promise<wire.Result> {
    const { options: turn, signal } = given<wire.TurnOptions>('session.compact', options, optionsOf.turn);
    requireOptions(this.#host.capabilities, 'turn', turn);
    const run = await this.#usable().request('session/compact', { session: this.id, options: turn }, { signal, settle: true });
    return new Run(this.#host, run).result({ signal });
  }

  /**
   * Takes back what 'allow_session' gave for a tool, by its catalogue name, and returns once that is durable (AP4). `by` names who
   * did it, for the journal. Without such a grant it does nothing; a tool that the agent does not have is invalid_request.
   */
  async revokeGrant(tool: string, options?: { by?: string | undefined } & CallOptions): Promise<void> {
    const { options: given_, signal } = given<{ by?: string }>('session.revokeGrant', options, optionsOf.revoke);
    const name = idOf('session.revokeGrant', 'a tool', tool);
    await this.#request('grant/revoke', { session: this.id, tool: name, ...given_ }, signal);
  }

  /** The complete conversation, oldest first, whatever was compacted (CO2). */
  history(options?: CallOptions): AsyncIterable<wire.HistoryItem> {
    const { signal } = given('session.history', options, optionsOf.wait);
    return pages(undefined, async (cursor) => {
      const page = await this.historyPage({ signal, cursor });
      return { items: page.items, next: page.next };
    });
  }

  /** One page of it: from the beginning or the previous page's `next`, at most `limit` items: default 100, at most 1,000 (SE7). */
  async historyPage(options?: { cursor?: string | undefined; limit?: number | undefined } & CallOptions): Promise<wire.HistoryPage> {
    const { options: page, signal } = given<{ cursor?: string; limit?: number }>('session.historyPage', options, optionsOf.page);
    return this.#request('history/list', { session: this.id, ...page }, signal);
  }

  /**
   * Replays every event after the given number once, in order, and goes on live, with text deltas in between, until the loop is left
   * or the signal ends (RU3). Without `after` it begins at the beginning. When the session is deleted it fails with session_deleted.
   */
  events(options?: { after?: number | undefined } & CallOptions): EventStream {
    const { options: from, signal } = given<{ after?: number }>('session.events', options, optionsOf.events);
    const connection = this.#usable();
    const stream = new EventStream({
      connection,
      signal,
      query: () => (this.#closed ? undefined : { session: this.id, ...from }),
      onHold: (holds) => (holds ? this.#streams.add(stream) : this.#streams.delete(stream)),
    });
    return stream;
  }

  /** Finds a run of this session by its ID, for example the one that state() names. run_not_found. */
  async openRun(id: string, options?: CallOptions): Promise<Run> {
    const { signal } = given('session.openRun', options, optionsOf.wait);
    const run = idOf('session.openRun', 'a run', id);
    return new Run(this.#host, await this.#request('run/get', { session: this.id, run }, signal));
  }

  /**
   * Removes the session with all that is stored of it, also while it runs (SE6). Later calls are session_deleted. With `idleBefore`
   * a session in which a turn is under way, or that was written to at that time or later, stays: session_busy.
   */
  async delete(options?: { idleBefore?: Date | string | undefined } & CallOptions): Promise<void> {
    const { options: when, signal } = given<wire.DeleteOptions>('session.delete', options, optionsOf.delete);
    await this.#request('session/delete', { session: this.id, options: when }, signal);
  }

  /**
   * Lets go of this value: its streams of events end, and its later calls are ClosedError. The session itself, and a turn that is
   * under way, go on.
   */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#streams].map((stream) => stream.return()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #usable(): Host['connection'] {
    if (this.#closed) {
      throw new ClosedError(`this value of session ${this.id} was closed; resume the session by its reference`);
    }
    return this.#host.connection;
  }

  #request<M extends keyof wire.Methods>(method: M, params: wire.Methods[M]['params'], signal: AbortSignal | undefined): Promise<wire.Methods[M]['result']> {
    return this.#usable().request(method, params, { signal });
  }

  async #send(call: string, input: unknown, second: unknown, third: unknown): Promise<{ run: Run; signal: AbortSignal | undefined }> {
    const { message, options } = messageFrom(call, input, second, third);
    return this.#submit(call, message, options);
  }

  async #submit(call: string, message: Message, turn: unknown): Promise<{ run: Run; signal: AbortSignal | undefined }> {
    return this.#sent(call, message, turn, async (connection, submission, signal) => ({
      run: new Run(this.#host, await connection.request('turn/submit', submission, { signal, settle: true })),
      signal,
    }));
  }

  /** Sends a message by what makes a request of it. */
  async #sent<T>(
    call: string,
    message: Message,
    turn: unknown,
    send: (connection: Host['connection'], submission: wire.Submission, signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    const { options, signal } = given<wire.TurnOptions>(call, turn, optionsOf.turn);
    const connection = this.#usable();
    const { capabilities } = this.#host;
    const hasFiles = message.parts.some(isAttachment);
    requireOptions(capabilities, 'turn', options);
    if (message.parts.length > 0) {
      requireOption(capabilities, 'submission.content');
    }
    if (hasFiles) {
      requireOption(capabilities, 'submission.attachments');
    }
    const attempt = async (): Promise<T> => {
      const said = message.parts.length === 0 ? { text: message.text } : { content: await blocksOf(connection, this.id, message.parts, signal) };
      return send(connection, { session: this.id, ...said, options }, signal);
    };
    try {
      return await attempt();
    } catch (error) {
      // An upload that was found had been about to expire: it is uploaded once more.
      if (!hasFiles || !(error instanceof AttachmentNotFoundError)) {
        throw error;
      }
      return attempt();
    }
  }
}

function idOf(call: string, what: string, id: unknown): string {
  if (typeof id !== 'string' || id === '') {
    throw new InvalidRequestError(`${call} was given ${id === '' ? 'an empty text' : kindOf(id)} for ${what}; give its ID or name, a string`);
  }
  return id;
}
