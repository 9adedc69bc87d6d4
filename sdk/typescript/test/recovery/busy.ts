// A process that sends one message after the other, each with two side effects, and goes on where it stood whenever it or its
// runtime was killed. What it did is outside of it: a line of the ledger for each effect, and how many turns have ended.
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { type Harness, RuntimeExitedError, type SessionReference } from '@openworkerai/harness-sdk';

import { openAt, type Place } from './world.js';

const { place, directory } = JSON.parse(process.argv[2] ?? '') as { place: Place; directory: string };
const ledger = path.join(directory, 'ledger');
const kept = path.join(directory, 'reference');
const turns = path.join(directory, 'turns');

const moment = (): Promise<void> => setTimeout(Math.random() * 15);

async function work(harness: Harness): Promise<never> {
  harness.registerTool({
    name: 'app.act',
    description: 'Acts.',
    inputSchema: { type: 'object' },
    execute: async (_, { callId }) => {
      await moment();
      appendFileSync(ledger, `${callId}\n`);
      await moment();
      return 'acted';
    },
    inspect: ({ callId }) =>
      existsSync(ledger) && readFileSync(ledger, 'utf8').includes(`${callId}\n`) ? { outcome: 'succeeded', output: 'acted' } : { outcome: 'not_started' },
  });
  const agent = harness.createAgent({ name: 'busy', tools: ['app.act'], approvals: { mode: 'never' }, defaultModel: { provider: 'Scripted', name: 'demo' } });
  const session = existsSync(kept)
    ? await agent.resumeSession(JSON.parse(readFileSync(kept, 'utf8')) as SessionReference)
    : await agent.newSession({ idempotencyKey: 'the one' });
  writeFileSync(`${kept}.new`, JSON.stringify(session.reference()));
  renameSync(`${kept}.new`, kept);
  for (;;) {
    const done = existsSync(turns) ? Number(readFileSync(turns, 'utf8')) : 0;
    const result = await session.run('use app.act with {}\nuse app.act with {}', { submissionId: `turn ${done + 1}`, whenBusy: 'queue' });
    if (result.status !== 'completed') {
      throw new Error(`turn ${done + 1} is ${JSON.stringify(result)}`);
    }
    writeFileSync(`${turns}.new`, String(done + 1)); // a file that is cut off would say less
    renameSync(`${turns}.new`, turns);
  }
}

for (;;) {
  const harness = await openAt(place).catch((error: unknown) => {
    if (error instanceof RuntimeExitedError) {
      return undefined;
    }
    throw error;
  });
  if (harness === undefined) {
    continue;
  }
  try {
    await work(harness);
  } catch (error) {
    if (!(error instanceof RuntimeExitedError)) {
      throw error;
    }
  } finally {
    await harness.close();
  }
}
