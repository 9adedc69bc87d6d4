// A body is asked for, and the process gets to it only when it must not begin any more.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';

import { actor, acts } from './actor.js';
import { openTapped } from './tapped.js';
import { Later, World } from './world.js';

suite('a body that is asked for', { concurrency: true }, () => {
  test('is not begun when its time has passed; it is asked for again, and begun once', async (t) => {
    const world = await World.make(t, acts);
    let asked = 0;
    const askedAgain = new Later();
    const harness = await openTapped(world.place, (method) => {
      if (method === 'tool/run' && ++asked === 3) {
        askedAgain.resolve();
      }
    });
    t.after(() => harness.close());
    const began: number[] = [];
    const session = await actor(harness, {}, { execute: () => `${began.push(asked)}` }).newSession();
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 3_600_000 }); // as if this process had been held up for an hour
    const run = await session.send('act');
    await askedAgain.promise;
    assert.deepEqual(began, []);
    t.mock.timers.reset();
    assert.equal((await run.result()).text, 'acted');
    assert.equal(began.length, 1);
    assert.ok((began[0] ?? 0) >= 3); // the first two requests began nothing
  });

  test('is not begun by a process that stood still while its runtime was killed and another process took the turn over', async (t) => {
    const [call, answer] = acts;
    const world = await World.make(t, [{ ...call, reply: { ...call?.reply, wait: 'gate' } }, { ...answer, reply: { text: 'acted' } }]);
    // What this runtime says is written down as soon as the process could read it.
    const said = path.join(world.directory, 'said');
    const runtimePath = path.join(world.directory, 'overheard');
    writeFileSync(runtimePath, `#!/bin/sh\n'${world.place.runtimePath}' "$@" | tee '${said}'\n`, { mode: 0o755 });
    const child = world.start('worker.ts', { place: { ...world.place, runtimePath }, role: {}, text: 'act' });
    const { session: id, run: runId } = await child.says<{ session: string; run: string }>();
    await world.model.arrived(1);
    const { runtime } = world;
    child.process.kill('SIGSTOP');
    await world.model.open('gate');
    while (!existsSync(said) || !readFileSync(said, 'utf8').includes('"tool/run"')) {
      await setTimeout(5);
    }
    process.kill(runtime, 'SIGKILL');

    let ran = 0;
    const harness = await world.open();
    await actor(harness, {}, { execute: () => `${++ran}`, inspect: () => ({ outcome: 'not_started' }) }).ready();
    const run = await (await harness.session(id)).openRun(runId);
    assert.equal((await run.result()).text, 'acted');
    assert.equal(ran, 1);
    child.process.kill('SIGCONT');
    await assert.rejects(child.says(), /RuntimeExitedError/); // it says nothing of a body, and ends
  });
});
