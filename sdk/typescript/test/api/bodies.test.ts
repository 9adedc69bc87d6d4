import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { Bodies } from '../../src/bodies.js';
import { ArgumentsInvalidError, CancelledError, RuntimeExitedError } from '../../src/generated/errors.js';
import { TooLateError } from '../../src/rpc/errors.js';

const call = (callId: string, attempt = 1, epoch = 1): { callId: string; attempt: number; epoch: number } => ({ callId, attempt, epoch });
const never = new AbortController().signal;

/** A body that a test ends. */
class Body {
  begun = 0;
  signal: AbortSignal | undefined;
  end!: (output: unknown) => void;
  fail!: (error: unknown) => void;
  readonly run = (signal: AbortSignal): Promise<unknown> => {
    this.begun++;
    this.signal = signal;
    return new Promise((resolve, reject) => {
      this.end = resolve;
      this.fail = reject;
    });
  };
}

/** A value of which nothing can be asked. */
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const begun = async (body: Body): Promise<void> => {
  while (body.begun === 0) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
};

suite('bodies', () => {
  test('of one call never run beside each other: who comes later gets the outcome of the first', async () => {
    const bodies = new Bodies();
    const body = new Body();
    const second = new Body();
    const first = bodies.run(call('c'), never, undefined, body.run);
    await begun(body);
    assert.deepEqual(bodies.inspect(call('c')), { outcome: 'running' });
    const joined = bodies.run(call('c', 2, 2), never, undefined, second.run);
    body.end({ sent: 1 });
    assert.deepEqual(await Promise.all([first, joined]), ['{"sent":1}', '{"sent":1}']);
    assert.equal(second.begun, 0);
  });

  test('go on when the runtime is gone, and their outcome is handed over to the next', async () => {
    const bodies = new Bodies();
    for (const [id, end, want] of [
      ['succeeded', (body: Body) => body.end('sent'), { outcome: 'succeeded', output: 'sent' }],
      ['failed', (body: Body) => body.fail(new Error('no money')), { outcome: 'failed', output: 'no money' }],
    ] as const) {
      const body = new Body();
      const gone = new AbortController();
      const first = bodies.run(call(id), gone.signal, undefined, body.run);
      await begun(body);
      gone.abort(new RuntimeExitedError('killed'));
      assert.equal(body.signal?.aborted, false);
      end(body);
      await first.catch(() => undefined);
      assert.deepEqual(bodies.inspect(call(id, 1, 2)), want);
      assert.deepEqual(bodies.inspect(call(id, 1, 3)), want, 'once is not enough: its runtime may have died before it was stored');
    }
    const again = new Body();
    assert.equal(await bodies.run(call('succeeded', 2, 3), never, undefined, again.run), 'sent');
    assert.equal(again.begun, 0, 'what succeeded is not done again');
    const retried = bodies.run(call('failed', 2, 3), never, undefined, again.run);
    await begun(again);
    again.end('now');
    assert.equal(await retried, 'now');
  });

  test('are stopped when the turn is cancelled, and what they throw then is no outcome', async () => {
    const bodies = new Bodies();
    const body = new Body();
    const cancel = new AbortController();
    const run = bodies.run(call('c'), cancel.signal, undefined, body.run);
    await begun(body);
    cancel.abort(new CancelledError('stop'));
    assert.equal(body.signal?.aborted, true);
    body.fail(new Error('stopped'));
    await assert.rejects(run, /stopped/);
    assert.equal(bodies.inspect(call('c')), undefined);
  });

  test('do not begin late, nor for an owner behind whom another has asked', async () => {
    const bodies = new Bodies();
    const body = new Body();
    await assert.rejects(bodies.run(call('c'), never, Date.now() - 1, body.run), TooLateError);
    await assert.rejects(bodies.run(call('c'), AbortSignal.abort(new CancelledError('stop')), undefined, body.run), TooLateError);
    assert.equal(bodies.inspect(call('c', 1, 2)), undefined);
    await assert.rejects(bodies.run(call('c', 1, 1), never, Date.now() + 60_000, body.run), TooLateError);
    assert.equal(body.begun, 0);
    const run = bodies.run(call('c', 2, 2), never, Date.now() + 60_000, body.run);
    await begun(body);
    body.end(undefined);
    assert.equal(await run, '');
  });

  test('tell what they return as a text, cut where it is too long, and what they throw by its message', async () => {
    const bodies = new Bodies();
    const outputs = await Promise.all(
      ['as it is', { a: [1] }, 7, null, undefined, 'ä'.repeat(200_000)].map((value, i) => bodies.run(call(`o${i}`), never, undefined, () => value)),
    );
    assert.deepEqual(outputs.slice(0, 5), ['as it is', '{"a":[1]}', '7', 'null', '']);
    assert.match(outputs[5] ?? '', /\n\[cut: the output had 400000 bytes, of which the first 255800 are shown\]$/);
    assert.ok(Buffer.byteLength(outputs[5] ?? '') <= 256_000);
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    for (const [id, body, code, message] of [
      ['error', () => Promise.reject(new Error('no money')), 'tool_failed', /^no money$/],
      ['text', () => Promise.reject('no money'), 'tool_failed', /no money/], // eslint-disable-line prefer-promise-reject-errors
      ['arguments', () => Promise.reject(new ArgumentsInvalidError('at /n: too small')), 'arguments_invalid', /at \/n/],
      ['cyclic', () => cyclic, 'tool_failed', /cannot be written as JSON/],
      ['bigint', () => 1n, 'tool_failed', /cannot be written as JSON/],
    ] as const) {
      await assert.rejects(bodies.run(call(id), never, undefined, body), { code, message });
    }
  });

  /** Errors of a kind that libraries and people make. */
  const unreadable: [what: string, value: () => unknown, message: string][] = [
    ['an error whose message was taken away', () => Object.assign(new TypeError('x'), { message: undefined }), 'TypeError'],
    ['an error whose message is an object', () => Object.assign(new Error('x'), { message: { status: 500 } }), 'Error'],
    ['an error without message and name', () => Object.assign(new Error('x'), { message: 1, name: Symbol('n') }), 'an error without a message'],
    ['an error whose message throws', () => Object.defineProperty(new Error('x'), 'message', { get: () => { throw new Error('no'); } }), 'it threw a value that cannot be shown'],
    ['an object without a prototype', () => Object.assign(Object.create(null) as object, { status: 500 }), '{"status":500}'],
    ['one without a prototype that JSON cannot hold', () => Object.assign(Object.create(null) as object, { n: 1n }), 'it threw a value that cannot be shown'],
    ['a symbol', () => Symbol('s'), 'Symbol(s)'],
    ['a function', () => Object.assign(() => 1, { toString: () => 'fn' }), 'fn'],
    ['a revoked proxy', revoked, 'it threw a value that cannot be shown'],
  ];
  for (const [what, value, message] of unreadable) {
    test(`end with ${what}: whoever waits is told, and so is who asks later`, async () => {
      const bodies = new Bodies();
      await assert.rejects(bodies.run(call('c'), never, undefined, () => Promise.reject(value())), { code: 'tool_failed', message });
      assert.deepEqual(bodies.inspect(call('c', 1, 2)), { outcome: 'failed', output: message });
    });
  }

  test('that outlast their time are told so, then nothing is known of them, and none is begun beside them', async (t) => {
    t.mock.timers.enable({ apis: ['Date'] });
    const bodies = new Bodies();
    const body = new Body();
    const again = new Body();
    const gone = new AbortController();
    const first = bodies.run(call('c'), gone.signal, undefined, body.run, 1_000);
    await begun(body);
    gone.abort(new RuntimeExitedError('killed'));
    t.mock.timers.tick(999);
    assert.deepEqual(bodies.inspect(call('c', 1, 2)), { outcome: 'running' });
    assert.equal(body.signal?.aborted, false);
    t.mock.timers.tick(1);
    assert.deepEqual(bodies.inspect(call('c', 1, 2)), { outcome: 'running' }, 'it gets a while to end');
    assert.equal(body.signal?.aborted, true);
    assert.equal((body.signal.reason as { code?: unknown }).code, 'cancelled');
    t.mock.timers.tick(4_000);
    assert.equal(bodies.inspect(call('c', 1, 2)), undefined);
    const retried = bodies.run(call('c', 2, 2), never, undefined, again.run, 1_000);
    assert.equal(bodies.inspect(call('c', 2, 2)), undefined);
    body.end('sent after all');
    assert.deepEqual(await Promise.all([first, retried]), ['sent after all', 'sent after all']);
    assert.deepEqual(bodies.inspect(call('c', 2, 3)), { outcome: 'succeeded', output: 'sent after all' });
    assert.equal(again.begun, 0);
  });

  test('that say nothing of their time have ten minutes', async (t) => {
    t.mock.timers.enable({ apis: ['Date'] });
    const bodies = new Bodies();
    const body = new Body();
    const run = bodies.run(call('c'), never, undefined, body.run);
    await begun(body);
    t.mock.timers.tick(600_000);
    assert.deepEqual(bodies.inspect(call('c')), { outcome: 'running' });
    t.mock.timers.tick(4_000);
    assert.equal(bodies.inspect(call('c')), undefined);
    body.fail(new Error('stopped'));
    await assert.rejects(run, /stopped/);
    assert.equal(bodies.inspect(call('c')), undefined, 'what it throws that was stopped is no outcome');
  });

  test('of an owner that a later one has asked about begin nothing behind one that was stopped', async () => {
    const bodies = new Bodies();
    const body = new Body();
    const cancel = new AbortController();
    const run = bodies.run(call('c', 1, 1), cancel.signal, undefined, body.run);
    await begun(body);
    assert.deepEqual(bodies.inspect(call('c', 1, 2)), { outcome: 'running' });
    cancel.abort(new CancelledError('stop'));
    body.fail(new Error('stopped'));
    await assert.rejects(run, /stopped/);
    await assert.rejects(bodies.run(call('c', 1, 1), never, undefined, body.run), TooLateError);
  });

  for (const [what, retry, begun2] of [
    ['is begun itself once that has ended', { attempt: 2, signal: never, left: 60_000 }, 1],
    ['is not begun where its time has passed', { attempt: 2, signal: never, left: -1 }, 0],
    ['fails with it where it is stopped too', { attempt: 2, signal: 'stopped', left: 60_000 }, 0],
    ['fails with it where it is the same attempt', { attempt: 1, signal: never, left: 60_000 }, 0],
  ] as const) {
    test(`of a retry that joined one which was stopped and throws: ${what}`, async () => {
      const bodies = new Bodies();
      const [body, second] = [new Body(), new Body()];
      const [cancel, cancelRetry] = [new AbortController(), new AbortController()];
      const first = bodies.run(call('c', 1), cancel.signal, undefined, body.run);
      await begun(body);
      cancel.abort(new CancelledError('its time is over'));
      const signal = retry.signal === 'stopped' ? cancelRetry.signal : retry.signal;
      const retried = bodies.run(call('c', retry.attempt), signal, Date.now() + retry.left, second.run);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      assert.equal(second.begun, 0, 'it was begun beside the first');
      if (retry.signal === 'stopped') {
        cancelRetry.abort(new CancelledError('stop'));
      }
      body.fail(new Error('stopped'));
      await assert.rejects(first, /stopped/);
      if (begun2 === 0) {
        await assert.rejects(retried, retry.left < 0 ? TooLateError : /stopped/);
      } else {
        await begun(second);
        second.end('done by the second');
        assert.equal(await retried, 'done by the second');
      }
      assert.equal(second.begun, begun2);
    });
  }

  test('that end their own turn as they begin are told so', async () => {
    const bodies = new Bodies();
    const cancel = new AbortController();
    let told: AbortSignal | undefined;
    const run = bodies.run(call('c'), cancel.signal, undefined, (signal) => {
      cancel.abort(new CancelledError('stop'));
      told = signal;
    });
    await run;
    assert.equal(told?.reason, cancel.signal.reason);
  });

  test('are remembered up to a bound', async () => {
    const bodies = new Bodies();
    for (let i = 0; i < 4_097; i++) {
      await bodies.run(call(`c${i}`), never, undefined, () => 'x');
    }
    assert.equal(bodies.inspect(call('c0')), undefined, 'the oldest is forgotten');
    assert.deepEqual(bodies.inspect(call('c4096')), { outcome: 'succeeded', output: 'x' });
    for (let i = 0; i < 70; i++) {
      await bodies.run(call(`large${i}`), never, undefined, () => 'x'.repeat(256_000));
    }
    assert.equal(bodies.inspect(call('large0')), undefined);
    assert.equal(bodies.inspect(call('large69'))?.outcome, 'succeeded');
  });
});
