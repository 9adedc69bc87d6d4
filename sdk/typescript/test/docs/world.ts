// What the programs of docs/typescript.md are given where they do not make it themselves. Each test copies it beside them.
import { Harness } from '@openworkerai/harness-sdk';

export const harness = await Harness.open({ stateDir: './state', scratchDir: './workspaces' });
harness.registerTool({
  name: 'app.send',
  description: 'Sends a letter.',
  inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false },
  execute: ({ to }) => `sent to ${String(to)}`,
});
export const agent = harness.createAgent({
  name: 'secretary',
  instructions: 'Write letters.',
  tools: ['app.send'],
  defaultModel: { provider: 'Scripted', name: 'demo' },
});
export const session = await agent.newSession();

/** Ends what was begun here, so that the program ends. */
export function finished(): Promise<void> {
  return harness.close();
}
