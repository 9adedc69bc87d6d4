import { isDeepStrictEqual } from 'node:util';

import { Failures } from './asked.js';
import type { Attempt, Bodies } from './bodies.js';
import { InvalidToolError } from './generated/errors.js';
import type * as wire from './generated/protocol.js';
import type { Connection } from './rpc/connection.js';
import { cleaned, type Fields, plain } from './options.js';
import { reading } from './reading.js';
import { type InputOf, inputOf, type InputSchema, jsonSchemaOf } from './schema.js';
import { kindOf, messageOf } from './text.js';
import { checkTimeout } from './timeout.js';

/** What a body is told of its call (AG7). */
export interface ToolContext {
  /** Unique, and the same in every attempt: the idempotency key. Hand it on to whatever the body calls. */
  readonly callId: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** The claim under which it runs; a later owner's is greater. */
  readonly epoch: number;
  /** The tool's catalogue name. */
  readonly tool: string;
  /** The arguments as the model gave them, or a person changed them. They match the JSON Schema. */
  readonly arguments: Record<string, unknown>;
  readonly session: wire.SessionReference;
  readonly run: string;
  readonly agent: wire.AgentReference;
  /** The session's working directory; '' if it has none. */
  readonly workspace: string;
  /** Where the call comes from: 'agent' is the session's own. */
  readonly origin: string;
  /** The session's owner; '' if it has none. */
  readonly owner: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Ends when the turn is cancelled, the time is over or the harness is closed: the body should stop soon. */
  readonly signal: AbortSignal;
}

/** What became of an attempt whose process died (RE3). `not_started` promises that it did nothing and can no longer start. */
export type Inspection = wire.Inspection;

/** A tool whose body runs in this process. */
export interface ToolDefinition<S extends InputSchema = InputSchema> {
  /** The catalogue name, for example "app.lookup", which models see as "app__lookup": 1–64 of A–Z a–z 0–9 _ - then (AG5). */
  readonly name: string;
  /** Tells the model what it does. */
  readonly description?: string | undefined;
  /** What it takes: a JSON Schema (2020-12) of an object, or a Zod schema (4.2 or newer). A part of the agent's identity (AG4). */
  readonly inputSchema: S;
  /**
   * What a repetition would do (RE3). Default "sideEffect": it must not happen twice. "idempotent" may be repeated under the same
   * call ID, "readOnly" changes nothing.
   */
  readonly effect?: wire.Effect | undefined;
  /**
   * Performs the action. What it returns is the model's: a string as it stands, anything else as JSON, at most 256,000 bytes; the
   * rest is cut with a mark. The message of what it throws is told to the model, as the call's failure. A call is never begun
   * beside a body of the same call that runs.
   */
  execute(input: InputOf<S>, context: ToolContext): unknown;
  /**
   * Says what became of an attempt whose outcome was lost with its runtime (RE3). It must be safe to repeat. It is asked only
   * where this process does not know itself. Where it throws, it is asked again a while later.
   */
  inspect?(context: ToolContext): Inspection | Promise<Inspection>;
  /** Bounds one attempt, in milliseconds. Default 600,000. */
  readonly timeoutMs?: number | undefined;
}

const toolFields: Fields = {
  name: 'string',
  description: 'string',
  inputSchema: 'any',
  effect: ['sideEffect', 'idempotent', 'readOnly'],
  execute: 'any',
  inspect: 'any',
  timeoutMs: 'integer',
};

const outcomes: readonly unknown[] = ['succeeded', 'failed', 'not_started', 'running', 'unknown'];

/** A tool under one of the declarations that its name has had: agents are made of declarations (AG4). */
export interface Declared {
  readonly declaration: wire.ToolDeclaration;
  /** What runs: exchanged only once the runtime has taken it. */
  definition: ToolDefinition;
  taken: boolean;
}

/** The tools of a connection. A call says the tool's name and its agent, which was made with one of the tools of that name. */
export class Tools {
  readonly #tools = new Map<string, Declared[]>(); // by catalogue name, the last one last
  readonly #ofAgents = new Map<string, readonly Declared[]>();
  readonly #bodies: Bodies;
  readonly #failures = new Failures(); // of inspections

  constructor(bodies: Bodies) {
    this.#bodies = bodies;
  }

  /** Answers the runtime's requests to run and to inspect. */
  serve(connection: Connection): void {
    connection.handle('tool/run', async (call, signal) => ({ output: await this.#run(call, signal) }));
    connection.handle('tool/inspect', (call, signal) => this.#inspect(call, signal));
  }

  /**
   * Adds a tool, in place of one that declares the same and beside others of its name, and says what to register. The runtime may
   * refuse it: the body and the time of the one in whose place it comes are its own until `taken` is called. One that comes in
   * nobody's place is there at once, since calls may come before the answer does.
   */
  add(tool: ToolDefinition): { readonly registered: wire.Tool; readonly taken: () => void } {
    const { declaration, timeoutMs } = checkedTool(tool);
    const named = this.#tools.get(declaration.name) ?? [];
    const same = named.find((other) => isDeepStrictEqual(other.declaration, declaration));
    const added = same ?? { declaration, definition: tool, taken: false };
    this.#tools.set(declaration.name, [...named.filter((other) => other !== same), added]);
    return {
      registered: { ...declaration, inspect: true, ...(timeoutMs === undefined ? {} : { timeoutMs }) },
      taken: () => Object.assign(added, { definition: tool, taken: true }),
    };
  }

  /** The tool of a name, as it was registered last; undefined if there is none. */
  last(name: string): Declared | undefined {
    return this.#tools.get(name)?.at(-1);
  }

  /** The names of all tools. */
  names(): readonly string[] {
    return [...this.#tools.keys()];
  }

  /** Registers an agent that has these tools. Its calls may come before the answer does; a definition that is refused changes nothing. */
  async bind<T>(agent: string, tools: readonly Declared[], register: () => Promise<T>): Promise<T> {
    const before = this.#ofAgents.get(agent);
    this.#ofAgents.set(agent, before ?? tools);
    try {
      const registered = await register();
      this.#ofAgents.set(agent, tools);
      return registered;
    } catch (error) {
      if (before === undefined) {
        this.#ofAgents.delete(agent);
      }
      throw error;
    }
  }

  async #run(call: wire.ToolCall, signal: AbortSignal): Promise<string> {
    const { definition } = this.#found(call);
    const startBefore = call.startBefore === undefined ? undefined : Date.parse(call.startBefore);
    return this.#bodies.run(
      attemptOf(call),
      signal,
      startBefore,
      (stopped, input) => definition.execute(input as never, contextOf(call, stopped)),
      definition.timeoutMs,
      () => inputOf(definition.inputSchema, structuredClone(call.arguments)), // its input is the body's to change
    );
  }

  async #inspect(call: wire.ToolCall, signal: AbortSignal): Promise<Inspection> {
    const { definition } = this.#found(call);
    const known = this.#bodies.inspect(attemptOf(call));
    if (known !== undefined) {
      return known;
    }
    return definition.inspect === undefined ? { outcome: 'unknown' } : this.#asked(call, definition, signal);
  }

  /** Asks a tool's own inspection. Where it fails it is asked again, so that nobody is told but this process. */
  async #asked(call: wire.ToolCall, definition: ToolDefinition, signal: AbortSignal): Promise<Inspection> {
    const what = `inspect of tool "${call.tool}" for call ${call.callId}`;
    try {
      const found = inspectionOf(call.tool, await definition.inspect?.(contextOf(call, signal)));
      this.#failures.over(what);
      return found;
    } catch (thrown) {
      if (!signal.aborted) {
        this.#failures.warn(what, messageOf(thrown), { thrown });
      }
      throw thrown;
    }
  }

  #found({ tool, agent }: wire.ToolCall): Declared {
    const own = this.#ofAgents.get(agent.name)?.find(({ declaration }) => declaration.name === tool);
    const found = own ?? this.#tools.get(tool)?.findLast(({ taken }) => taken) ?? this.last(tool);
    if (found === undefined) {
      throw new InvalidToolError(`tool "${tool}" is not registered here`);
    }
    return found;
  }
}

/** What an inspection found, checked. */
function inspectionOf(tool: string, found: unknown): Inspection {
  const { outcome, output } = (typeof found === 'object' && found !== null ? found : {}) as Record<string, unknown>;
  if (!outcomes.includes(outcome) || (output !== undefined && typeof output !== 'string')) {
    throw new InvalidToolError(
      `inspect of tool "${tool}" must return { outcome: ${outcomes.map((o) => `"${String(o)}"`).join(' | ')} }, with a string as output of the first two`,
    );
  }
  return { outcome, ...(output === undefined ? {} : { output }) } as Inspection;
}

function checkedTool(tool: unknown): { declaration: wire.ToolDeclaration; timeoutMs?: number } {
  if (typeof tool !== 'object' || tool === null) {
    throw new InvalidToolError(`registerTool was given ${kindOf(tool)}; give { name, description, inputSchema, execute }`);
  }
  const name = invalid(() => reading('registerTool', () => (tool as { readonly name?: unknown }).name));
  if (typeof name !== 'string' || name === '') {
    throw new InvalidToolError(`a tool's name is ${name === '' ? 'empty' : kindOf(name)}; give one as in "app.lookup"`);
  }
  const what = `tool "${name}"`;
  const fields: { description?: string; effect?: wire.Effect; timeoutMs?: number; inputSchema?: unknown; execute?: unknown; inspect?: unknown } = invalid(() =>
    cleaned(what, plain(what, tool, toolFields), toolFields),
  );
  checkName(name);
  const { description, effect, timeoutMs } = fields;
  if (typeof fields.execute !== 'function') {
    throw new InvalidToolError(`execute of tool "${name}" is ${kindOf(fields.execute)}; give the function that performs the action`);
  }
  if (fields.inspect !== undefined && typeof fields.inspect !== 'function') {
    throw new InvalidToolError(`inspect of tool "${name}" is ${kindOf(fields.inspect)}; give a function, or leave it out`);
  }
  invalid(() => checkTimeout(what, timeoutMs, 1));
  const declaration = {
    name,
    ...(description === undefined || description === '' ? {} : { description }),
    inputSchema: jsonSchemaOf(name, fields.inputSchema),
    ...(effect === undefined || effect === 'sideEffect' ? {} : { effect }), // a default is as good as absent (AG2), and so is an empty text
  };
  return { declaration, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
}

/** What is wrong with a field is wrong with the tool. */
function invalid<T>(check: () => T): T {
  try {
    return check();
  } catch (cause) {
    throw new InvalidToolError(messageOf(cause), {}, { cause });
  }
}

function checkName(name: string): void {
  const seen = name.replaceAll('.', '__');
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(seen)) {
    throw new InvalidToolError(`models would see tool "${name}" as "${seen}", and providers take 1–64 of A–Z a–z 0–9 _ - alone`);
  }
}

function attemptOf(call: wire.ToolCall): Attempt {
  return { callId: call.callId ?? '', attempt: call.attempt, epoch: call.epoch };
}

function contextOf(call: wire.ToolCall, signal: AbortSignal): ToolContext {
  return {
    callId: call.callId ?? '',
    attempt: call.attempt,
    epoch: call.epoch,
    tool: call.tool,
    arguments: call.arguments,
    session: call.session,
    run: call.run ?? '',
    agent: call.agent,
    workspace: call.workspace ?? '',
    origin: call.origin ?? '',
    owner: call.owner ?? '',
    metadata: call.metadata ?? {},
    signal,
  };
}
