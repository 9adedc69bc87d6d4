// An agent with one tool, as each process of a test makes it.
import type { Agent, AgentDefinition, Harness, ToolDefinition } from '@openworkerai/harness-sdk';

import { model } from './world.js';

/** What an agent and its tool are, apart from what runs here. */
export type Role = Pick<ToolDefinition, 'effect'> & Pick<AgentDefinition, 'approvals' | 'unknownOutcome'>;

/** Registers the tool app.act and an agent that has it. No call is asked about, unless the role says so. */
export function actor(harness: Harness, { effect, ...definition }: Role, body: Pick<ToolDefinition, 'execute' | 'inspect'>): Agent {
  harness.registerTool({ name: 'app.act', inputSchema: { type: 'object' }, effect: effect ?? 'sideEffect', ...body });
  return harness.createAgent({ name: 'actor', tools: ['app.act'], approvals: { mode: 'never' }, defaultModel: model, ...definition });
}

/** What the model says to "act": it calls the tool, and takes what comes for an answer. */
export const acts = [
  { user: 'act', round: 0, reply: { calls: [{ name: 'app__act' }] } },
  { user: 'act', round: 1, reply: { text: 'acted' } },
];
