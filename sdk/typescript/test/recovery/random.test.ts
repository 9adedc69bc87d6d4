// The application and its runtime are killed at random, one at a time, while turns with side effects go on.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';

import { World } from './world.js';

const kills = 30;

test('through random kills each turn ends, and no side effect happens twice', { timeout: 180_000 }, async (t) => {
  const world = await World.make(t, []);
  const file = (name: string): string => path.join(world.directory, name);
  const turns = (): number => (existsSync(file('turns')) ? Number(readFileSync(file('turns'), 'utf8')) : 0);
  const start = (): ReturnType<World['start']> => world.start('busy.ts', { directory: world.directory });
  const progress = async (than: number): Promise<void> => {
    while (turns() <= than) {
      if (child.process.exitCode !== null) {
        await child.says(); // which fails with what it said
      }
      await setTimeout(10);
    }
  };
  let child = start();
  await progress(0);
  for (let n = 0; n < kills; n++) {
    const before = turns();
    await setTimeout(Math.random() * 100);
    if (n % 3 === 0) {
      await child.kill();
      child = start();
    } else {
      try {
        world.killRuntime();
      } catch {
        // it was between two runtimes
      }
    }
    await progress(before);
  }
  await progress(turns() + 1);
  await child.kill();
  const effects = readFileSync(file('ledger'), 'utf8').trim().split('\n');
  assert.equal(new Set(effects).size, effects.length, 'an effect happened twice');
  const ended = turns();
  assert.ok(effects.length >= 2 * ended && effects.length <= 2 * (ended + 1), `${ended} turns had ${effects.length} effects`);
});
