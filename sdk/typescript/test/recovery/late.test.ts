// A body is asked for, and the process gets to it only when it must not begin any more.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';

import { actor, acts } from './actor.js';
import { World } from './world.js';

/** A process that is stopped, with a request for a body waiting for it. */
async function standingStill(t: TestContext, given: { polls?: boolean } = {}) {
  const [call, answer] = acts;
  const world = await World.make(t, [{ ...call, reply: { ...call?.reply, wait: 'gate' } }, { ...answer, reply: { text: 'acted' } }]);
  // What this runtime says is written down as soon as the process could read it.
  const said = path.join(world.directory, 'said');
  const runtimePath = path.join(world.directory, 'overheard');
  writeFileSync(runtimePath, `#!/bin/sh\n'${world.place.runtimePath}' "$@" | tee '${said}'\n`, { mode: 0o755 });
  const child = world.start('worker.ts', { place: { ...world.place, runtimePath }, role: {}, text: 'act', ...given });
  const { session, run } = await child.says<{ session: string; run: string }>();
  await world.model.arrived(1);
  child.process.kill('SIGSTOP');
  await world.model.open('gate');

  /** The requests for a body so far: at least one. */
  const requests = async (): Promise<[{ startBefore: string }, ...unknown[]]> => {
    for (;;) {
      const lines = readFileSync(said, 'utf8').split('\n').slice(0, -1);
      const messages = lines.map((line) => JSON.parse(line) as { method?: string; params: { startBefore: string } });
      const [first, ...more] = messages.filter(({ method }) => method === 'tool/run').map(({ params }) => params);
      if (first !== undefined) {
        return [first, ...more];
      }
      await setTimeout(5);
    }
  };
  return { world, child, session, run, requests };
}

suite('a body that is asked for', { concurrency: true }, () => {
  test('is not begun by a process that stood still until its time had passed; the next request begins it', async (t) => {
    const { world, child, requests } = await standingStill(t);
    const [{ startBefore }] = await requests();
    while (Date.now() <= Date.parse(startBefore)) {
      await setTimeout(20);
    }
    child.process.kill('SIGCONT');
    assert.ok('began' in (await child.says<object>()));
    assert.ok((await requests()).length > 1, 'the first request began the body');
    world.killRuntime();
    await assert.rejects(child.says(), /RuntimeExitedError/); // it was begun once
  });

  for (const [what, given] of [['', {}], [', though it finds that when it sends, and reads the request behind', { polls: true }]] as const) {
    test(`is not begun by a process that stood still while its runtime was killed and another process took the turn over${what}`, async (t) => {
      const { world, child, session: id, run: runId, requests } = await standingStill(t, given);
      await requests();
      world.killRuntime();

      let ran = 0;
      const harness = await world.open();
      await actor(harness, {}, { execute: () => `${++ran}`, inspect: () => ({ outcome: 'not_started' }) }).ready();
      const run = await (await harness.session(id)).openRun(runId);
      assert.equal((await run.result()).text, 'acted');
      assert.equal(ran, 1);
      child.process.kill('SIGCONT');
      await assert.rejects(child.says(), /RuntimeExitedError/); // it says nothing of a body, and ends
    });
  }
});
