import { InvalidRequestError } from './generated/errors.js';
import type * as wire from './generated/protocol.js';
import { cleaned, type Fields, optionsOf, refuseUnknown } from './options.js';
import { fieldsOf } from './reading.js';
import { isRecord, kindOf } from './text.js';

/** What a handler is told beside its interaction. */
export interface HandlerContext {
  /**
   * Ends when nobody waits for the answer any more: it was given elsewhere, the turn ended, the caller's signal did, or the runtime
   * is gone. What the handler comes to then is dropped.
   */
  readonly signal: AbortSignal;
}

/** Answers an interaction; undefined leaves it open, for whoever answers it later. */
export type InteractionHandler<I> = (interaction: I, context: HandlerContext) => wire.Answer | undefined | void | Promise<wire.Answer | undefined | void>;

/** Answer what a run asks for (RU1). A kind without a handler is left open. */
export interface Handlers {
  /** May this call run: `{ decision: 'allow' }`, `'allow_session'` or `'deny'` (AP3). */
  onApproval?: InteractionHandler<wire.ApprovalInteraction> | undefined;
  /** A question of the model's: `{ decision: 'answered', answers: […] }` or `'skipped'` (AP9). */
  onQuestion?: InteractionHandler<wire.QuestionInteraction> | undefined;
  /** What became of an action: `{ decision: 'succeeded', output }`, `'failed'` or `'retry'` (RE3). */
  onUnknownOutcome?: InteractionHandler<wire.UnknownOutcomeInteraction> | undefined;
  /** Gets every event of the run in order, deltas too. The next one waits for what it returns. */
  onEvent?: ((event: wire.Event) => unknown) | undefined;
}

const handlerFields: Fields = { onApproval: 'any', onQuestion: 'any', onUnknownOutcome: 'any', onEvent: 'any' };
const answerFields: Fields = { decision: 'string', reason: 'string', output: 'string', arguments: 'arguments', answers: 'strings', by: 'string' };

/** Handlers, checked. */
export function handlersOf(call: string, value: unknown): Handlers {
  if (!isRecord(value)) {
    throw new InvalidRequestError(`the handlers of ${call} are ${kindOf(value)}; give an object with onApproval, onQuestion, onUnknownOutcome or onEvent`);
  }
  const handlers = cleaned(call, value, handlerFields);
  for (const [name, handler] of Object.entries(handlers)) {
    if (typeof handler !== 'function') {
      throw new InvalidRequestError(`${name} of ${call} is ${kindOf(handler)}; give a function, or leave it out`);
    }
  }
  return handlers;
}

/** Takes runWith's last argument apart: handlers, and the turn's options. */
export function splitHandlers(call: string, value: unknown): { handlers: Handlers; options: unknown } {
  if (!isRecord(value)) {
    return { handlers: handlersOf(call, value), options: undefined };
  }
  const own = fieldsOf(call, value);
  const both: Fields = { ...handlerFields, ...optionsOf.turn, signal: 'any' };
  refuseUnknown(call, Object.keys(own), both, Object.keys(both));
  const { onApproval, onQuestion, onUnknownOutcome, onEvent, ...options } = own as Handlers;
  return { handlers: handlersOf(call, { onApproval, onQuestion, onUnknownOutcome, onEvent }), options };
}

/** What the handler for an interaction's kind answers, checked; undefined if there is none, or it leaves it open. */
export async function answerOf(handlers: Handlers, interaction: wire.Interaction, context: HandlerContext): Promise<wire.Answer | undefined> {
  switch (interaction.kind) {
    case 'approval':
      return checked('onApproval', await handlers.onApproval?.(interaction, context));
    case 'question':
      return checked('onQuestion', await handlers.onQuestion?.(interaction, context));
    case 'unknown_outcome':
      return checked('onUnknownOutcome', await handlers.onUnknownOutcome?.(interaction, context));
    default:
      return undefined; // of a later runtime
  }
}

/** What is waited for, unless the signal ends before: then its reason is thrown, and what comes late is dropped. */
export function unless<T>(signal: AbortSignal, waited: PromiseLike<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) {
      stop();
    } else {
      signal.addEventListener('abort', stop, { once: true });
    }
    void Promise.resolve(waited).then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function checked(handler: string, answer: unknown): wire.Answer | undefined {
  return answer === undefined ? undefined : checkedAnswer(`the answer of ${handler}`, answer);
}

/** An answer, checked as far as the runtime could take it for another. Whether it fits the interaction is for the runtime to say. */
export function checkedAnswer(what: string, answer: unknown): wire.Answer {
  if (!isRecord(answer)) {
    throw new InvalidRequestError(`${what} is ${kindOf(answer)}; give one as in { decision: 'allow' }`);
  }
  const out = cleaned(what, answer, answerFields);
  if (out['decision'] === undefined) {
    throw new InvalidRequestError(`${what} has no decision; give one as in { decision: 'allow' }`);
  }
  return out as unknown as wire.Answer;
}
