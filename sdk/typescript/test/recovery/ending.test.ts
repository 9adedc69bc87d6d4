// A harness is closed, or its process ends without that.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { ClosedError, type ToolContext } from '@openworkerai/harness-sdk';

import { actor, acts } from './actor.js';
import type { End } from './worker.js';
import { Later, World } from './world.js';

suite('the end of a harness', { concurrency: true }, () => {
  for (const { title, finishes, ...want } of [
    { title: 'that finishes what it does', finishes: true, told: /^as far as it got$/ },
    { title: 'that throws when it is stopped', finishes: false, told: /unknown/i },
  ]) {
    test(`tells a body ${title}, and the turn goes on in the next one`, async (t) => {
      const world = await World.make(t, acts);
      const contexts: ToolContext[] = [];
      const began = new Later();
      const body = {
        execute: (_input: unknown, context: ToolContext): Promise<string> => {
          contexts.push(context);
          began.resolve();
          const { signal } = context;
          return new Promise((resolve, reject) => {
            signal.addEventListener('abort', () => (finishes ? resolve('as far as it got') : reject(signal.reason as Error)), { once: true });
          });
        },
      };
      const harness = await world.open();
      const session = await actor(harness, { unknownOutcome: 'tell_model' }, body).newSession();
      const run = await session.send('act');
      const waiting = assert.rejects(run.result(), ClosedError);
      await began.promise;
      await harness.close();
      await waiting;
      assert.ok(contexts[0]?.signal.reason instanceof ClosedError);
      assert.equal(await harness.closed, undefined);
      await assert.rejects(session.state(), ClosedError);
      await world.runtimeEnds();

      const next = await world.open();
      const found = await actor(next, { unknownOutcome: 'tell_model' }, body).resumeSession(session.reference());
      assert.equal((await (await found.openRun(run.id)).result()).text, 'acted');
      assert.equal(contexts.length, 1);
      assert.match((await world.model.requests()).at(-1)?.messages.at(-1)?.content ?? '', want.told);
    });
  }

  test('waits for a body that does not stop no longer than its time, and the body is not begun again', async (t) => {
    const world = await World.make(t, acts);
    const began = new Later();
    const ends = new Later<string>();
    let bodies = 0;
    const body = {
      execute: (): Promise<string> => {
        bodies++;
        began.resolve();
        return ends.promise;
      },
    };
    const harness = await world.open();
    const session = await actor(harness, {}, body).newSession();
    const run = await session.send('act');
    await began.promise;
    await harness.close();
    await world.runtimeEnds();
    const next = await world.open();
    const found = await actor(next, {}, body).resumeSession(session.reference());
    for await (const event of found.events()) {
      if (event.type === 'tool_call_inspected') {
        assert.equal(event.data.answer, 'running');
        break;
      }
    }
    ends.resolve('done in the end');
    assert.equal((await (await found.openRun(run.id)).result()).text, 'acted');
    assert.equal(bodies, 1);
    assert.match((await world.model.requests()).at(-1)?.messages.at(-1)?.content ?? '', /^done in the end$/);
  });

  const endings: readonly { title: string; end?: End; signal?: NodeJS.Signals; ended: number | NodeJS.Signals }[] = [
    { title: 'exits', end: 'exit', ended: 3 },
    { title: 'throws what nobody catches', end: 'throw', ended: 1 },
    { title: 'is ended by SIGTERM', signal: 'SIGTERM', ended: 'SIGTERM' },
    { title: 'is killed', signal: 'SIGKILL', ended: 'SIGKILL' },
  ];
  for (const { title, end, signal, ended } of endings) {
    test(`needs no close: where the application ${title}, its runtime ends too`, async (t) => {
      const world = await World.make(t, acts);
      const child = world.start('worker.ts', { role: {}, text: 'act', end });
      while (!('began' in (await child.says<object>())));
      if (signal !== undefined) {
        child.process.kill(signal);
      }
      assert.equal(await child.ended, ended);
      await world.runtimeEnds();
    });
  }
});
