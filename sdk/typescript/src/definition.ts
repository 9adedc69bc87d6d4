import type { AgentDefinition } from './agent.js';
import { offers, requireOptions } from './capabilities.js';
import { InvalidAgentError, InvalidRequestError, InvalidToolError } from './generated/errors.js';
import type * as wire from './generated/protocol.js';
import { cleaned, optionsOf } from './options.js';
import { nearest } from './suggestion.js';
import { isRecord, kindOf } from './text.js';
import type { Declared, Tools } from './tools.js';

/** A guardrail or hook that an agent names. */
export interface Named {
  readonly kind: 'guardrail' | 'hook';
  readonly name: string;
}

/** A definition with what its names stand for. */
export interface Complete {
  /** As it is stored: tools by what they declare. */
  readonly stored: wire.AgentDefinition;
  readonly tools: readonly Declared[];
  readonly guards: readonly Named[];
}

/**
 * Checks a definition as far as that is done here, and looks its tools up.
 *
 * @throws by code: invalid_request, invalid_agent, invalid_tool for a tool that is not registered, unsupported_option.
 */
export function completeDefinition(definition: unknown, capabilities: wire.Capabilities, registered: Tools): Complete {
  if (!isRecord(definition)) {
    throw new InvalidRequestError(`createAgent was given ${kindOf(definition)}; give { name, instructions, defaultModel }`);
  }
  const offered = Object.keys(optionsOf.agent).filter((name) => offers(capabilities, 'agent', name));
  const own = fieldsOf(definition, offered) as unknown as AgentDefinition;
  requireOptions(capabilities, 'agent', own);
  const { tools: names = [], guardrails = [], hooks = [] } = own;
  const tools = names.map((name) => {
    const tool = registered.last(name);
    if (tool === undefined) {
      const meant = nearest(name, registered.names());
      const advice = meant === undefined ? 'call harness.registerTool before' : `did you mean "${meant}"?`;
      throw new InvalidToolError(`agent "${own.name}" has the tool "${name}", which is not registered; ${advice}`);
    }
    return tool;
  });
  return {
    stored: { ...own, tools: tools.map(({ declaration }) => declaration) } as wire.AgentDefinition,
    tools,
    guards: [...guardrails.map((name) => ({ kind: 'guardrail' as const, name })), ...hooks.map((name) => ({ kind: 'hook' as const, name }))],
  };
}

/** The name that a definition has, as far as that can be told. */
export function nameOf(definition: unknown): string {
  try {
    const { name } = definition as { readonly name?: unknown };
    return typeof name === 'string' ? name : '';
  } catch {
    return ''; // why is told by completeDefinition
  }
}

/** A copy of a definition's fields, each of its kind: what becomes of the object later changes nothing. What is wrong with one is wrong with the agent. */
function fieldsOf(definition: object, offered: readonly string[]): Record<string, unknown> {
  try {
    return cleaned('createAgent', definition, optionsOf.agent, offered);
  } catch (cause) {
    throw cause instanceof InvalidRequestError ? new InvalidAgentError(cause.message, cause.details, { cause }) : cause;
  }
}
