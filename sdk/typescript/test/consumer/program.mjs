// A program of somebody who installed the package: prints what the offline model answers to a file.
import { Attachment, Harness } from '@openworkerai/harness-sdk';

const harness = await Harness.open({ stateDir: process.argv[2] });
try {
  const agent = harness.createAgent({ name: 'support', instructions: 'Help.', defaultModel: { provider: 'Scripted', name: 'demo' } });
  const session = await agent.newSession();
  const result = await session.run('Explain this.', Attachment.fromBytes({ name: 'answer.txt', mediaType: 'text/plain', data: new TextEncoder().encode('forty-two') }));
  console.log(JSON.stringify({ status: result.status, text: result.text, version: harness.version }));
} finally {
  await harness.close();
}
