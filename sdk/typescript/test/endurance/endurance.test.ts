import assert from 'node:assert/strict';
import { test } from 'node:test';

import { World } from '../recovery/world.js';
import type { Held } from './turns.js';

const turns = 1_000;
/** What a turn may leave behind on average, in bytes. */
const mostLeft = 512;
/** Open files may come and go; those of a leak stay, one a turn. */
const fewFiles = 10;
/** The runtime's memory is that of its collector too, which takes and gives back as it likes. */
const mostRuntimeGrowth = 8 << 20;

test('1,000 turns leave no memory and no open handle behind, in the application and in its runtime', { timeout: 120_000 }, async (t) => {
  const world = await World.make(t, [
    { user: 'look', round: 0, reply: { calls: [{ name: 'app__look' }] } },
    { user: 'look often', round: 0, reply: { calls: Array.from({ length: 60 }, () => ({ name: 'app__look' })) } },
    { reply: { text: 'seen' } },
  ]);
  const child = world.start('../endurance/turns.ts', { turns });
  const { before, after } = await child.says<{ before: Held; after: Held }>();
  assert.equal(await child.ended, 0);
  t.diagnostic(JSON.stringify({ before, after }));
  assert.ok(after.heap - before.heap < turns * mostLeft, `the application's memory grew from ${before.heap} to ${after.heap} bytes`);
  assert.deepEqual(after.resources, before.resources);
  assert.ok(after.files < before.files + fewFiles, `the application has ${after.files} open files, and had ${before.files}`);
  assert.ok(after.runtimeFiles < before.runtimeFiles + fewFiles, `the runtime has ${after.runtimeFiles} open files, and had ${before.runtimeFiles}`);
  assert.ok(after.runtimeMemory - before.runtimeMemory < mostRuntimeGrowth, `the runtime's memory grew from ${before.runtimeMemory} to ${after.runtimeMemory} bytes`);
});
