// What a strict compiler must understand of the package, and print the same when it runs.
import { Attachment, Harness, OpenWorkerError, type Result } from '@openworkerai/harness-sdk';

async function explain(stateDir: string): Promise<Result & { version: string }> {
  await using harness = await Harness.open({ stateDir });
  harness.registerTool({
    name: 'parcels.find',
    description: 'Finds a parcel.',
    inputSchema: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'], additionalProperties: false },
    effect: 'readOnly',
    execute: (input, { signal }) => (signal.aborted ? 'too late' : JSON.stringify(input)),
  });
  const agent = harness.createAgent({
    name: 'support',
    instructions: 'Help.',
    tools: ['parcels.find'],
    approvals: { mode: 'never' },
    defaultModel: { provider: 'Scripted', name: 'demo' },
  });
  const session = await agent.newSession();
  for await (const event of session.runStreamed('use parcels.find with {"number": 42}')) {
    if (event.type === 'tool_call_finished') console.error(event.data.name);
  }
  const file = Attachment.fromBytes({ name: 'answer.txt', mediaType: 'text/plain', data: new TextEncoder().encode('forty-two') });
  return { ...(await session.run('Explain this.', file)), version: harness.version };
}

try {
  const { status, text, version } = await explain(process.argv[2] ?? './state');
  console.log(JSON.stringify({ status, text, version }));
} catch (error) {
  if (error instanceof OpenWorkerError) console.error(error.code);
  throw error;
}
