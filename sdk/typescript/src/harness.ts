import { createRequire } from 'node:module';

import { Agent, type AgentDefinition, completeReference, resume } from './agent.js';
import { asked, Failures, Unusable } from './asked.js';
import { bodies } from './bodies.js';
import { requireProvider } from './capabilities.js';
import { type Complete, completeDefinition, nameOf } from './definition.js';
import { CancelledError, ClosedError, CredentialsMissingError, InvalidRequestError } from './generated/errors.js';
import type * as wire from './generated/protocol.js';
import { protocolVersion } from './generated/protocol.js';
import { checkActions, type Guardrail, Guards, type Hook } from './guards.js';
import type { Host } from './host.js';
import { type CallOptions, cleaned, given, optionsOf } from './options.js';
import type { Connection } from './rpc/connection.js';
import { startRuntime } from './rpc/process.js';
import { Signals } from './rpc/signals.js';
import type { InputSchema } from './schema.js';
import type { Session } from './session.js';
import { type HarnessOptions, lookAt, type Setup, setupOf } from './setup.js';
import { pages } from './stream.js';
import { kindOf } from './text.js';
import { type ToolDefinition, Tools } from './tools.js';

/** Selects sessions, newest activity first. `limit` is the size of a page. */
export type SessionQuery = Omit<wire.SessionQuery, 'before'> & { before?: Date | string | undefined } & CallOptions;

const manifest = createRequire(import.meta.url)('../package.json') as { readonly name: string; readonly version: string };

/**
 * A runtime of one's own, on a state directory. It goes on with what its sessions had under way, as far as the tools, guardrails
 * and agents that they need are registered: do that right after opening. Close it when the program ends, or open it with
 * `await using`; a program that just ends takes its runtime with it, and the next one goes on.
 */
export class Harness {
  readonly #host: Host;
  readonly #runtime: wire.ClientInfo;
  readonly #tools = new Tools(bodies());
  readonly #guards = new Guards();
  readonly #registrations = new Map<string, Promise<void>>(); // of tools, guardrails and hooks
  #last: Promise<unknown> = Promise.resolve(); // of all registrations

  private constructor(connection: Connection, { runtime, capabilities }: wire.Initialized) {
    const ended = new AbortController();
    void connection.closed.then((error) => ended.abort(error ?? new ClosedError('the harness was closed')));
    this.#host = { connection, capabilities, ended: ended.signal, signals: new Signals() };
    this.#runtime = runtime;
    this.#tools.serve(connection);
    this.#guards.serve(connection);
  }

  /**
   * Starts a runtime on a state directory.
   *
   * @throws by code: invalid_request; unknown_provider for a secret that is for none; runtime_not_found if the runtime is not installed
   *   or does not start; incompatible_version;
   *   runtime_exited, with what it said, if it ended at once; cancelled; and those that begin with store_.
   */
  static async open(options: HarnessOptions): Promise<Harness> {
    const setup = setupOf(options);
    if (setup.signal?.aborted === true) {
      throw new CancelledError('the signal had ended before the harness was opened', {}, { cause: setup.signal.reason });
    }
    if (setup.initialize.credentials?.source === 'file') {
      lookAt(setup.initialize.credentials.file);
    }
    const runtime = await startRuntime(setup.runtime);
    return Harness.over(runtime, setup, () => runtime.kill());
  }

  /** @internal Opens a harness over a connection that is there, and closes that where it fails; `kill` spares the wait for it. */
  static async over(connection: Connection, setup: Omit<Setup, 'runtime'>, kill: () => void = () => undefined): Promise<Harness> {
    const { credentials, checkAction, signal } = setup;
    if (credentials !== undefined) {
      const failures = new Failures(); // a turn that waits for a secret has it asked for again and again
      connection.handle('credential/get', ({ provider }, ended) =>
        asked(`credentials for provider "${provider}"`, CredentialsMissingError, ended, async () => {
          const secret: unknown = await credentials(provider, { signal: ended });
          if (secret !== undefined && typeof secret !== 'string') {
            throw new Unusable(`the function returned ${kindOf(secret)}; return a string, or undefined for none`);
          }
          return { secret: secret ?? '' };
        }, failures),
      );
    }
    if (checkAction !== undefined) {
      connection.handle('action/check', checkActions(checkAction));
    }
    const client = { name: manifest.name, version: manifest.version };
    try {
      const initialized = await connection.request(
        'initialize',
        { protocolVersions: [protocolVersion], client, doubleNumbers: true, ...setup.initialize },
        { signal },
      );
      const source = setup.initialize.credentials;
      for (const provider of source?.source === 'memory' ? Object.keys(source.secrets ?? {}) : []) {
        requireProvider(initialized.capabilities, 'a secret in credentials of Harness.open', provider);
      }
      return new Harness(connection, initialized);
    } catch (error) {
      const gaveUp = signal?.aborted === true;
      if (gaveUp) {
        kill(); // nothing was begun, and a runtime that does not answer would have its whole time to end
      }
      await connection.close();
      throw gaveUp ? new CancelledError('the signal ended before the harness was open; its runtime was ended', {}, { cause: signal.reason }) : error;
    }
  }

  /** What the runtime can do (FA9), with the guardrails and hooks that are registered by now. */
  get capabilities(): wire.Capabilities {
    return this.#host.capabilities;
  }

  /** The runtime's version. */
  get version(): string {
    return this.#runtime.version;
  }

  /**
   * Resolves when the runtime is gone: with undefined after {@link close}, otherwise with why. Then each call fails with
   * runtime_exited: open the same state directory again, and what was under way goes on.
   */
  get closed(): Promise<Error | undefined> {
    return this.#host.connection.closed;
  }

  /**
   * Makes a tool available to the agents that are created from now on. It returns at once, and is registered in the order of these
   * calls. One that declares the same as an earlier one takes its place, so that a body can be exchanged. One of the same name that
   * declares something else stands beside it: agents keep the one that they were created with, so that an application has its old
   * agents with their old tools (AG4, AG6).
   *
   * @throws InvalidToolError for a name that no provider takes, no function, a schema that is none and an unknown field. What only the
   *   runtime finds is told by the agents that have the tool.
   */
  registerTool<S extends InputSchema>(tool: ToolDefinition<S>): void {
    const { registered, taken } = this.#tools.add(tool);
    this.#registrations.set(
      `tool ${registered.name}`,
      this.#register(async () => {
        await this.#host.connection.request('tool/register', { tools: [registered] });
        taken();
      }),
    );
  }

  /** Makes a guardrail available, which agents and turns choose by its name (GR1). invalid_request for what is none, and a name that is taken. */
  registerGuardrail(guardrail: Guardrail): void {
    const registered = this.#guards.addGuardrail(guardrail);
    this.#registerGuard('guardrail', registered.name, () => this.#host.connection.request('guardrail/register', registered));
  }

  /** Makes a hook available, which agents choose by its name (GR4). invalid_request for what is none, and a name that is taken. */
  registerHook(hook: Hook): void {
    const registered = this.#guards.addHook(hook);
    this.#registerGuard('hook', registered.name, () => this.#host.connection.request('hook/register', registered));
  }

  /**
   * Registers an agent's definition and returns at once: its sessions that had something under way go on as soon as it is there.
   * The identical definition again is a no-op (AG3). It never throws: what is wrong is told by {@link Agent.ready}, and by the first
   * call that needs the agent.
   */
  createAgent(definition: AgentDefinition): Agent {
    const name = nameOf(definition);
    let registered: Promise<wire.AgentReference>;
    let guards: Complete['guards'] = [];
    try {
      const { stored, tools, ...complete } = completeDefinition(definition, this.capabilities, this.#tools);
      ({ guards } = complete);
      const needs = [...tools.map(({ declaration }) => `tool ${declaration.name}`), ...guards.map((guard) => `${guard.kind} ${guard.name}`)];
      const before = needs.map((need) => this.#registrations.get(need));
      registered = this.#register(async () => {
        for (const need of before) {
          await need; // it has ended, and only its error is of interest
        }
        return this.#tools.bind(name, tools, () => this.#host.connection.request('agent/register', { definition: stored }));
      });
    } catch (error) {
      registered = this.#register(() => Promise.reject(error as Error));
    }
    return new Agent(this.#host, name, registered, () => this.#missing(guards));
  }

  /** Finds a session by its reference, whatever its agent (SE2); see {@link Agent.resumeSession}. */
  async resumeSession(reference: wire.SessionReference, options?: CallOptions): Promise<Session> {
    const { signal } = given('harness.resumeSession', options, optionsOf.wait);
    const complete = completeReference(reference);
    return resume(this.#host, complete, complete.agent, signal);
  }

  /**
   * {@link resumeSession} for a program that has only the session's ID, as a server with /sessions/:id. An ID is no permission either.
   *
   * @throws by code: invalid_request, session_not_found, session_deleted, session_parked.
   */
  async session(id: string, options?: CallOptions): Promise<Session> {
    const { signal } = given('harness.session', options, optionsOf.wait);
    if (typeof id !== 'string' || id === '') {
      throw new InvalidRequestError(`harness.session was given ${id === '' ? 'an empty text' : kindOf(id)}; give what session.id was`);
    }
    const { events } = await this.#host.connection.request('event/list', { session: id, limit: 1 }, { signal });
    const [created] = events;
    const agent = created?.type === 'session_created' ? created.data.agent : '';
    return resume(this.#host, { store: this.capabilities.store, session: id, agent }, agent, signal);
  }

  /** Iterates over sessions, newest activity first, a page at a time (SE8). */
  sessions(query?: SessionQuery): AsyncIterable<wire.SessionInfo> {
    const { options, signal } = given<wire.SessionQuery>('harness.sessions', query, optionsOf.sessions);
    return pages(options.cursor, async (cursor) => {
      const page = await this.#host.connection.request('session/list', { ...options, cursor }, { signal });
      return { items: page.sessions, next: page.next };
    });
  }

  /** Iterates over the open interactions of all sessions, oldest first (SE8). */
  interactions(query?: wire.InteractionQuery & CallOptions): AsyncIterable<wire.SessionInteraction> {
    const { options, signal } = given<wire.InteractionQuery>('harness.interactions', query, optionsOf.interactions);
    return pages(options.cursor, async (cursor) => {
      const page = await this.#host.connection.request('interaction/list', { ...options, cursor }, { signal });
      return { items: page.interactions, next: page.next };
    });
  }

  /** Iterates over the agents that are in the store, registered by whatever process. */
  agents(query?: wire.AgentQuery & CallOptions): AsyncIterable<wire.AgentDefinition> {
    const { options, signal } = given<wire.AgentQuery>('harness.agents', query, optionsOf.agents);
    return pages(options.cursor, async (cursor) => {
      const page = await this.#host.connection.request('agent/list', { ...options, cursor }, { signal });
      return { items: page.agents, next: page.next };
    });
  }

  /** Token counts by agent and day, in UTC (SE8). */
  async usage(query?: { owner?: string | undefined; since?: Date | string | undefined } & CallOptions): Promise<wire.UsageRow[]> {
    const { options, signal } = given<wire.UsageQuery>('harness.usage', query, optionsOf.usage);
    return (await this.#host.connection.request('usage/list', options, { signal })).rows;
  }

  /**
   * Sets a provider's secret in memory, '' to remove it (RE5). Turns that waited for it go on by themselves. invalid_request where
   * the credentials are not in memory, unknown_provider for one that is not in {@link capabilities}.
   */
  async setCredential(provider: string, secret: string, options?: CallOptions): Promise<void> {
    const { signal } = given('harness.setCredential', options, optionsOf.wait);
    const { provider: name, secret: value } = cleaned('harness.setCredential', { provider, secret }, { provider: 'string', secret: 'string' });
    if (name === undefined || name === '' || value === undefined) {
      throw new InvalidRequestError("harness.setCredential needs a provider and a secret; '' removes the secret");
    }
    requireProvider(this.capabilities, 'the secret of harness.setCredential', provider);
    await this.#host.connection.request('credential/set', { provider, secret }, { signal });
  }

  /**
   * Stops the runtime's work and waits until it has ended. Turns under way are left to recovery: the next harness on the state
   * directory goes on with them. Tool bodies that run are told to stop by their signal. Every later call fails with ClosedError,
   * and so do those that wait. It never rejects, and may be called again.
   */
  async close(): Promise<void> {
    await this.#host.connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Registers a guardrail or hook, which the runtime knows an option for from then on. */
  #registerGuard(kind: 'guardrail' | 'hook', name: string, register: () => Promise<unknown>): void {
    const registered = this.#register(async () => {
      try {
        await register();
      } catch (error) {
        this.#guards.forget(kind, name);
        throw error;
      }
      this.#host.capabilities = await this.#host.connection.request('capabilities', {});
    });
    this.#registrations.set(`${kind} ${name}`, registered);
  }

  /** Guardrails and hooks that this process does not have, nor will by what it has called: another one may (RE8). */
  #missing(guards: Complete['guards']): Complete['guards'] {
    return guards.filter(({ kind, name }) => !this.#registrations.has(`${kind} ${name}`) && this.capabilities[`${kind}s`]?.includes(name) !== true);
  }

  /** Runs registrations one after the other. Each keeps its error for whoever asks, and holds up no other. */
  #register<T>(step: () => Promise<T>): Promise<T> {
    const registered = this.#last.then(step);
    this.#last = registered.catch(() => undefined);
    return registered;
  }
}
