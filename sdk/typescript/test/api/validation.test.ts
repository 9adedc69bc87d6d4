// A schema may take its time, as one that looks into a database: nothing begins that must not begin once it is done.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { z } from 'zod';

import { Bodies } from '../../src/bodies.js';
import { CancelledError, ClosedError, RuntimeExitedError } from '../../src/generated/errors.js';
import { TooLateError } from '../../src/rpc/errors.js';
import { Tools } from '../../src/tools.js';
import { Later } from '../recovery/world.js';
import { FakeConnection } from './fake.js';

/** A tool whose schema checks until the test lets it, and what a call of it comes to. */
function checking() {
  const seen = { began: 0, checked: 0 };
  const fine = new Later<boolean>();
  const reached = new Later();
  const checks = (): Promise<boolean> => {
    seen.checked++;
    reached.resolve();
    return fine.promise;
  };
  const connection = new FakeConnection();
  const tools = new Tools(new Bodies());
  tools.add({ name: 'app.send', inputSchema: z.object({ to: z.string().refine(checks, 'nobody of that name') }), execute: () => `${++seen.began}` });
  tools.serve(connection);
  const call = { tool: 'app.send', callId: 'c1', attempt: 1, epoch: 1, arguments: { to: 'ann' }, session: {}, run: 'r1', agent: { name: 'a', digest: 'd' } };
  const run = (signal: AbortSignal, startBefore: number, epoch = 1): Promise<unknown> =>
    connection.call('tool/run', { ...call, epoch, startBefore: new Date(startBefore).toISOString() }, signal);
  const inspect = (epoch: number): Promise<unknown> => connection.call('tool/inspect', { ...call, epoch });
  return { seen, decide: fine.resolve, reached: reached.promise, run, inspect };
}

const later = (): number => Date.now() + 60_000;

suite('a body whose arguments are being checked', () => {
  const reasons: readonly [what: string, reason: Error][] = [
    ['its turn is cancelled', new CancelledError('the turn was cancelled')],
    ['its runtime is killed', new RuntimeExitedError('killed')],
    ['the harness is closed', new ClosedError('the harness was closed')],
  ];
  for (const [what, reason] of reasons) {
    test(`is not begun when ${what} meanwhile`, async () => {
      const { seen, decide, reached, run } = checking();
      const abort = new AbortController();
      const answer = run(abort.signal, later());
      await reached;
      abort.abort(reason);
      decide(true);
      await assert.rejects(answer, TooLateError);
      assert.equal(seen.began, 0);
    });
  }

  test('is not begun when its time to begin passes meanwhile', async (t) => {
    t.mock.timers.enable({ apis: ['Date'] });
    const { seen, decide, reached, run } = checking();
    const answer = run(new AbortController().signal, Date.now() + 100);
    await reached;
    t.mock.timers.tick(100);
    decide(true);
    await assert.rejects(answer, TooLateError);
    assert.equal(seen.began, 0);
  });

  test('is not begun when a later owner asks about it meanwhile', async () => {
    const { seen, decide, reached, run, inspect } = checking();
    const answer = run(new AbortController().signal, later());
    await reached;
    assert.deepEqual(await inspect(2), { outcome: 'unknown' });
    decide(true);
    await assert.rejects(answer, TooLateError);
    assert.equal(seen.began, 0);
  });

  test('is begun once, whoever asks for it again meanwhile, and not checked anew when it has run', async () => {
    const { seen, decide, reached, run } = checking();
    const signal = new AbortController().signal;
    const answers = [run(signal, later()), run(signal, later(), 2)];
    await reached;
    decide(true);
    assert.deepEqual(await Promise.all(answers), [{ output: '1' }, { output: '1' }]);
    const { checked } = seen;
    assert.deepEqual(await run(signal, later(), 3), { output: '1' });
    assert.deepEqual(seen, { began: 1, checked });
  });

  test('is not begun when they are refused, and the model is told why', async () => {
    const { seen, decide, reached, run } = checking();
    const answer = run(new AbortController().signal, later());
    await reached;
    decide(false);
    await assert.rejects(answer, { code: 'arguments_invalid', message: /nobody of that name/ });
    assert.equal(seen.began, 0);
  });
});
