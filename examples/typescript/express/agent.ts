import type { Agent, Harness } from '@openworkerai/harness-sdk';
import type { Store } from './database.js';

/**
 * Registers what the sessions of this server need. It is done at each start, before the server listens: turns that were under way
 * when the last process ended go on from here by themselves.
 */
export async function registerAgent(harness: Harness, store: Store): Promise<Agent> {
  harness.registerTool({
    name: 'parcels.return',
    description: 'Sends a parcel back.',
    effect: 'sideEffect',
    inputSchema: { type: 'object', properties: { number: { type: 'integer', minimum: 1 } }, required: ['number'], additionalProperties: false },
    execute({ number }, { callId }) {
      store.sendBack(callId, Number(number));
      return `parcel ${Number(number)} is on its way back`;
    },
    // What became of a call that a crash has cut off? Its ID stands with what it did.
    inspect({ callId }) {
      const parcel = store.sentBack(callId);
      return parcel === undefined ? { outcome: 'not_started' } : { outcome: 'succeeded', output: `parcel ${parcel} is on its way back` };
    },
  });
  const model = process.env['OPENAI_API_KEY'] ? { provider: 'OpenAI', name: process.env['OPENAI_MODEL'] ?? 'gpt-5-mini' } : { provider: 'Scripted', name: 'demo' };
  const agent = harness.createAgent({
    name: `support-${model.provider.toLowerCase()}`, // another model is another definition, and needs another name
    instructions: 'Help the customer with parcels.',
    tools: ['parcels.return'],
    defaultModel: model,
  });
  await agent.ready(); // what is wrong with it is found now, and not by the first request
  return agent;
}
