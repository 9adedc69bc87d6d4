import { asked, Unusable } from './asked.js';
import { CheckFailedError, GuardrailFailedError, HookFailedError, InvalidRequestError } from './generated/errors.js';
import type * as wire from './generated/protocol.js';
import type { Connection, Handler } from './rpc/connection.js';
import { cleaned, type Fields, plain, wordOf } from './options.js';
import { kindOf } from './text.js';
import { checkTimeout } from './timeout.js';

/** Where a guardrail looks (GR1): at what the user says before it is stored, at what a model is sent, at tools' results, at answers. */
export type GuardPoint = wire.Unit['point'];

/**
 * A text that a guardrail looks at, of at most 128,000 bytes (GR2): a block, a text file, an instruction, a result, an answer.
 * As every callback it is told session, run, call, agent, workspace, origin, owner and metadata (AG7), and has a signal that
 * ends when nobody waits for its answer any more.
 */
export type GuardrailUnit = Omit<wire.Unit, 'callback' | 'guardrail'> & { readonly signal: AbortSignal };

/** What a guardrail says. Make one with {@link allow}, {@link redact} or {@link block}. */
export type Verdict = wire.Verdict;

/** Lets the text pass. */
export function allow(): Verdict {
  return { action: 'allow' };
}

/**
 * Lets another text pass instead, of at most 128,000 bytes.
 *
 * @param reason is stored and shown; it must not repeat what is to be kept secret
 */
export function redact(text: string, reason?: string): Verdict {
  return reason === undefined ? { action: 'redact', text } : { action: 'redact', text, reason };
}

/**
 * Lets nothing pass: a message is refused, a model call fails and ends its turn, a result is withheld, all with code
 * guardrail_blocked.
 */
export function block(reason?: string): Verdict {
  return reason === undefined ? { action: 'block' } : { action: 'block', reason };
}

/** Looks at texts at some points (GR1). It must be repeatable: after a crash it is called again with the same text. */
export interface Guardrail {
  /** What agents and turns choose it by: 1–128 of A–Z a–z 0–9 . _ -, starting with a letter or digit. */
  readonly name: string;
  /** Where it looks, at least one. */
  readonly points: readonly GuardPoint[];
  /**
   * Gives the verdict. Where it throws, takes too long or gives none, nothing passes: guardrail_failed (GR2). Of what it throws,
   * which may quote the text, only the class is told, and that of the application's own not even by its name; this process has it
   * as the cause of a warning.
   */
  check(unit: GuardrailUnit): Verdict | Promise<Verdict>;
  /** Bounds one check, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
}

/** A request on its way to a model (GR4): the whole of it, without its credential. */
export type ModelCall = Omit<wire.ModelCall, 'callback' | 'hook'> & { readonly signal: AbortSignal };

/** A tool's result on its way to model and journal. `code` is absent for a success. */
export type HookedResult = Omit<wire.ToolResult, 'callback' | 'hook'> & { readonly signal: AbortSignal };

/** A hook's refusal of a request. Make one with {@link veto}. */
export type Veto = wire.Veto;

/** What a {@link Hook}'s beforeModel returns to refuse the request: the run fails with hook_vetoed. */
export function veto(reason: string): Veto {
  return { veto: true, reason };
}

/** Sees whole requests or results (GR4). It has at least one of the two functions, which must be repeatable. */
export interface Hook {
  /** What agents choose it by, like a guardrail's. */
  readonly name: string;
  /** Sees a request right before it is sent. Nothing returned lets it pass. Where it throws, the run fails with hook_failed. */
  beforeModel?(call: ModelCall): Veto | undefined | void | Promise<Veto | undefined | void>;
  /** Returns the output that stands for the tool's; undefined leaves it. Where it throws, the result is withheld: hook_failed. */
  toolResult?(result: HookedResult): string | undefined | void | Promise<string | undefined | void>;
  /** Bounds one call, in milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
}

/** A tool call that is about to be decided on. `changed`: its arguments are a person's. */
export type ToolAction = Omit<wire.Action, 'callback'> & { readonly signal: AbortSignal };

/**
 * The application's own hard check of each tool call, whatever grants and approvals say (AP2): it returns {@link allow} or
 * {@link block}. Where it throws, the action is not run, with code check_failed, which nobody takes for a refusal.
 */
export type CheckAction = (action: ToolAction) => Verdict | Promise<Verdict>;

const known: readonly GuardPoint[] = ['user_input', 'model_input', 'tool_result', 'model_output'];
const guardrailFields: Fields = { name: 'string', points: 'strings', check: 'any', timeoutMs: 'integer' };
const hookFields: Fields = { name: 'string', beforeModel: 'any', toolResult: 'any', timeoutMs: 'integer' };

/** The guardrails and hooks of a connection, by name. */
export class Guards {
  readonly #guardrails = new Map<string, Guardrail>();
  readonly #hooks = new Map<string, Hook>();

  /** Answers the runtime's questions to guardrails and hooks. */
  serve(connection: Connection): void {
    connection.handle('guardrail/check', ({ callback: _, guardrail, ...unit }, signal) =>
      asked(`guardrail "${guardrail}"`, GuardrailFailedError, signal, async () =>
        verdictOf(guardrail, await found(this.#guardrails, guardrail).check({ ...unit, signal }), ['allow', 'redact', 'block']),
      ),
    );
    connection.handle('hook/beforeModel', ({ callback: _, hook, ...call }, signal) =>
      asked(`hook "${hook}"`, HookFailedError, signal, async () => vetoOf(hook, await found(this.#hooks, hook).beforeModel?.({ ...call, signal }))),
    );
    connection.handle('hook/toolResult', ({ callback: _, hook, ...result }, signal) =>
      asked(`hook "${hook}"`, HookFailedError, signal, async () => {
        const output: unknown = await found(this.#hooks, hook).toolResult?.({ ...result, signal });
        if (output !== undefined && typeof output !== 'string') {
          throw new Unusable(`toolResult of hook "${hook}" returned ${kindOf(output)}; return a string, or nothing to leave the result`);
        }
        return { output: output ?? result.output };
      }),
    );
  }

  /** Forgets what the runtime has refused, so that its name is free. */
  forget(kind: 'guardrail' | 'hook', name: string): void {
    (kind === 'guardrail' ? this.#guardrails : this.#hooks).delete(name);
  }

  /** Adds a guardrail, and says what to register. */
  addGuardrail(guardrail: Guardrail): wire.RegisterGuardrail {
    const { name, check, points, timeoutMs } = checkedGuard('registerGuardrail', guardrail, guardrailFields, this.#guardrails);
    if (!Array.isArray(points) || points.length === 0) {
      throw new InvalidRequestError(`points of guardrail "${name}" must be a list of at least one of ${known.join(', ')}`);
    }
    const where = points.map((point, i) => wordOf(`points[${i}] of guardrail "${name}"`, point, known) as GuardPoint);
    if (typeof check !== 'function') {
      throw new InvalidRequestError(`check of guardrail "${name}" is ${kindOf(check)}; give a function`);
    }
    this.#guardrails.set(name, guardrail);
    return { name, points: where, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
  }

  /** Adds a hook, and says what to register. */
  addHook(hook: Hook): wire.RegisterHook {
    const { name, beforeModel, toolResult, timeoutMs } = checkedGuard('registerHook', hook, hookFields, this.#hooks);
    for (const [what, value] of Object.entries({ beforeModel, toolResult })) {
      if (value !== undefined && typeof value !== 'function') {
        throw new InvalidRequestError(`${what} of hook "${name}" is ${kindOf(value)}; give a function, or leave it out`);
      }
    }
    if (beforeModel === undefined && toolResult === undefined) {
      throw new InvalidRequestError(`hook "${name}" has no function; give beforeModel or toolResult`);
    }
    this.#hooks.set(name, hook);
    const does = { beforeModel: beforeModel !== undefined, toolResult: toolResult !== undefined };
    return { name, ...does, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
  }
}

/** What the runtime calls for the application's own check of actions. */
export function checkActions(check: CheckAction): Handler<'action/check'> {
  return ({ callback: _, ...action }, signal) =>
    asked('checkAction', CheckFailedError, signal, async () => verdictOf('checkAction', await check({ ...action, signal }), ['allow', 'block']));
}

/** The fields of a guardrail or hook, whose functions are not looked at yet. */
interface GuardFields {
  readonly name: string;
  readonly timeoutMs?: number;
  readonly points?: unknown;
  readonly check?: unknown;
  readonly beforeModel?: unknown;
  readonly toolResult?: unknown;
}

function checkedGuard(call: string, guard: unknown, fields: Fields, registered: ReadonlyMap<string, unknown>): GuardFields {
  if (typeof guard !== 'object' || guard === null) {
    throw new InvalidRequestError(`${call} was given ${kindOf(guard)}; give an object with a name`);
  }
  const { name, ...rest }: { name?: unknown; timeoutMs?: number } = cleaned(call, plain(call, guard, fields), fields);
  if (typeof name !== 'string' || name === '') {
    throw new InvalidRequestError(`${call} was given no name; give the one that agents choose it by`);
  }
  if (registered.has(name)) {
    throw new InvalidRequestError(`"${name}" is registered already; give it another name`);
  }
  checkTimeout(`${call} "${name}"`, rest.timeoutMs, 0);
  return { name, ...rest };
}

/** A verdict, checked: what is none lets nothing pass. */
function verdictOf(name: string, given: unknown, actions: readonly Verdict['action'][]): Verdict {
  const { action, text, ...verdict } = (typeof given === 'object' && given !== null ? given : {}) as { action?: Verdict['action']; text?: unknown; reason?: unknown };
  const reason = reasonOf(verdict.reason);
  if (action !== undefined && actions.includes(action)) {
    if (action === 'redact' && typeof text === 'string') {
      return { action, text, ...reason };
    }
    if (action !== 'redact') {
      return action === 'allow' ? { action } : { action, ...reason };
    }
  }
  throw new Unusable(
    `"${name}" returned ${action === undefined ? kindOf(given) : 'no such verdict'}; return ${actions.map((one) => `${one}()`).join(' or ')}`,
  );
}

function vetoOf(name: string, refusal: unknown): wire.Veto {
  if (refusal === undefined) {
    return {};
  }
  const { veto: refused, reason } = (typeof refusal === 'object' && refusal !== null ? refusal : {}) as Record<string, unknown>;
  if (typeof refused !== 'boolean') {
    throw new Unusable(`beforeModel of hook "${name}" returned ${kindOf(refusal)}; return veto(reason), or nothing`);
  }
  return { veto: refused, ...reasonOf(reason) };
}

function reasonOf(reason: unknown): { reason?: string } {
  return typeof reason === 'string' ? { reason } : {};
}

function found<T>(registered: ReadonlyMap<string, T>, name: string): T {
  const guard = registered.get(name);
  if (guard === undefined) {
    throw new Unusable(`"${name}" is not registered here`);
  }
  return guard;
}
