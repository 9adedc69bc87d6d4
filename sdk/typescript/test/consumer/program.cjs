// The same from a CommonJS module.
const { Attachment, Harness } = require('@openworkerai/harness-sdk');

async function main() {
  const harness = await Harness.open({ stateDir: process.argv[2] });
  try {
    const agent = harness.createAgent({ name: 'support', instructions: 'Help.', defaultModel: { provider: 'Scripted', name: 'demo' } });
    const session = await agent.newSession();
    const result = await session.run('Explain this.', Attachment.fromBytes({ name: 'answer.txt', mediaType: 'text/plain', data: new TextEncoder().encode('forty-two') }));
    console.log(JSON.stringify({ status: result.status, text: result.text, version: harness.version }));
  } finally {
    await harness.close();
  }
}

void main();
