import { warn } from './asked.js';
import { requireOptions } from './capabilities.js';
import type { Named } from './definition.js';
import { InvalidRequestError } from './generated/errors.js';
import type * as wire from './generated/protocol.js';
import type { Host } from './host.js';
import { type CallOptions, given, optionsOf } from './options.js';
import { fieldsOf } from './reading.js';
import { Session } from './session.js';
import { isRecord, kindOf } from './text.js';

/** Options of a new session (SE1), and a signal that ends the waiting. What is absent is inherited; '' clears guidance (GU2). */
export type SessionOptions = Omit<wire.SessionOptions, 'initialHistory'> & {
  /**
   * A conversation that the session begins with (IM1): 1 to 256 items of type user, assistant, tool_call and tool_result. It is
   * data: nothing of it is executed, and it is stored with the session or not at all.
   */
  initialHistory?: readonly wire.HistoryImport[] | undefined;
} & CallOptions;

/**
 * An agent's immutable definition (AG1). Its identity is the digest of what the model sees and how the agent is run; what is absent
 * and what is set to its default is the same. Tools, guardrails and hooks are named, and registered before.
 */
export type AgentDefinition = Omit<wire.AgentDefinition, 'tools' | 'guardrails' | 'hooks'> & {
  /** Catalogue names of tools that were registered with {@link Harness.registerTool}. */
  tools?: readonly string[] | undefined;
  /** In force for every turn, in this order: names of {@link Harness.registerGuardrail}, or of the runtime's own. */
  guardrails?: readonly string[] | undefined;
  hooks?: readonly string[] | undefined;
};

/** An agent that was created. Its registration goes on by itself, and its error is told by the first call that needs it. */
export class Agent {
  /** The agent's name, which identifies its definition in a store (AG3). */
  readonly name: string;
  readonly #host: Host;
  readonly #registered: Promise<wire.AgentReference>;

  readonly #missing: () => readonly Named[];

  /** @internal `registered` must be handled elsewhere too, since nobody may ask for it. */
  constructor(host: Host, name: string, registered: Promise<wire.AgentReference>, missing: () => readonly Named[]) {
    this.#missing = missing;
    this.#host = host;
    this.name = name;
    this.#registered = registered;
  }

  /**
   * Waits until the agent is registered, and its tools, guardrails and hooks with it. A guardrail or hook that this process has not
   * registered by then is an OpenWorkerWarning at process.on('warning') and no error: another process may have it (RE8). Without it
   * the agent's turns do not go on here.
   *
   * @throws by code: invalid_agent and invalid_request for a definition that breaks a rule, invalid_tool for a tool that is not
   *   registered, definition_conflict for a different definition under a name that is taken, unknown_provider, unsupported_option.
   */
  async ready(): Promise<this> {
    await this.#registered;
    for (const { kind, name } of this.#missing()) {
      warn(`agent "${this.name}" names the ${kind} "${name}", which this process has not registered, and its turns do not go on here without it; is the name right?`);
    }
    return this;
  }

  /** The agent's name and the digest of its definition. Errors are those of {@link ready}. */
  async reference(): Promise<wire.AgentReference> {
    return { ...(await this.#registered) };
  }

  /**
   * Returns once the session is durable. Without options it has a private scratch directory, and the agent's settings.
   *
   * @throws those of {@link ready}, and by code: invalid_request, invalid_workspace, invalid_guidance, unsupported_option;
   *   invalid_history, with the details `item` (from 0) and `rule`; unknown_provider for a model whose provider nobody knows;
   *   submission_conflict for an idempotencyKey that made a session with other options.
   */
  async newSession(options?: SessionOptions): Promise<Session> {
    const { options: session, signal } = given<wire.SessionOptions>('agent.newSession', options, optionsOf.session);
    requireOptions(this.#host.capabilities, 'session', session);
    const agent = await this.#registered;
    const reference = await this.#host.connection.request('session/create', { agent, options: session }, { signal, settle: true });
    return new Session(this.#host, reference);
  }

  /**
   * Finds a session of this agent by its reference; nothing is created (SE2). Work that the session had under way goes on by itself:
   * look at {@link Session.state} before sending anything.
   *
   * @throws those of {@link ready}, and by code: invalid_request for an incomplete reference, foreign_store, session_not_found,
   *   session_deleted, session_parked, wrong_agent.
   */
  async resumeSession(reference: wire.SessionReference, options?: CallOptions): Promise<Session> {
    const { signal } = given('agent.resumeSession', options, optionsOf.wait);
    const complete = completeReference(reference);
    await this.#registered;
    return resume(this.#host, complete, this.name, signal);
  }
}

/** Checks a reference with the runtime, for a caller who expects an agent. */
export async function resume(host: Host, reference: wire.SessionReference, agent: string, signal: AbortSignal | undefined): Promise<Session> {
  await host.connection.request('session/resume', { reference, agent }, { signal });
  return new Session(host, reference);
}

/** The fields of a reference, whatever else a database row has beside them. */
export function completeReference(reference: unknown): wire.SessionReference {
  if (typeof reference === 'string') {
    throw new InvalidRequestError('the reference is a string; JSON.parse what was stored of session.reference()');
  }
  if (!isRecord(reference)) {
    throw new InvalidRequestError(`the reference is ${kindOf(reference)}; give what session.reference() returned`);
  }
  const { store, session, agent } = fieldsOf('the reference', reference);
  for (const [name, value] of Object.entries({ store, session, agent })) {
    if (typeof value !== 'string' || value === '') {
      throw new InvalidRequestError(
        `the reference has no ${name}; keep the whole value of session.reference(), or find a session by its ID with harness.session`,
      );
    }
  }
  return { store, session, agent } as wire.SessionReference;
}
