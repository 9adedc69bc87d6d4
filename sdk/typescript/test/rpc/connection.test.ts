import assert from 'node:assert/strict';
import buffer from 'node:buffer';
import { getEventListeners } from 'node:events';
import { suite, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { CancelledError, ClosedError, FrameTooLargeError, InvalidRequestError, RuntimeExitedError, SessionBusyError, ToolFailedError } from '../../src/generated/errors.js';
import type { CredentialQuery } from '../../src/generated/protocol.js';
import { TooLateError } from '../../src/rpc/errors.js';
import type { Message } from '../../src/rpc/lines.js';
import { maxFrameBytes, maxMessageBytes } from '../../src/rpc/lines.js';
import { FakeRuntime } from './fake-runtime.js';

const session = { session: 'ses_1' };

/** Resolves behind all that is under way without a timer. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function isAnswer(message: Message): boolean {
  return message.method === undefined;
}

/** The error that a promise rejects with. */
async function failure(promise: Promise<unknown>): Promise<Error> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Error, 'it did not fail');
  return error;
}

function throws(): never {
  throw new Error('no');
}

/** A value of which nothing can be asked. */
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

suite('requests of the client', () => {
  test('with half a character are refused, and what looks like one is not', async () => {
    const runtime = new FakeRuntime();
    runtime.serve((message) => message.params);
    for (const text of ['a\ud800b', '\udc00', '\\\ud800', 'x\udbff']) {
      await assert.rejects(runtime.peer.request('turn/submit', { session: 's', text }), { code: 'invalid_request' });
    }
    for (const text of [String.raw`\ud800`, '😀', String.raw`a\\udc00`]) {
      assert.deepEqual(await runtime.peer.request('turn/submit', { session: 's', text }), { session: 's', text });
    }
    await runtime.peer.close();
  });

  test('that are longer than a string can be with the line around them are refused', async () => {
    const runtime = new FakeRuntime();
    const text = 'x'.repeat(buffer.constants.MAX_STRING_LENGTH - 40);
    await assert.rejects(runtime.peer.request('turn/submit', { session: 's', text }), { code: 'frame_too_large' });
    await runtime.peer.close();
  });

  test('for a session with half a character are refused, unless it is in the conversation to begin with, of which the runtime tells the item', async () => {
    const runtime = new FakeRuntime();
    runtime.serve((message) => message.params);
    const agent = { name: 'a', digest: 'd' };
    for (const options of [{ idempotencyKey: 'k\ud800' }, { owner: '\udbff' }, { metadata: { 'a\ud800': '1' } }, { metadata: { a: 'x\udc00' } }, { workspace: '/\ud800' }, { owner: '\ud800', initialHistory: [] }]) {
      await assert.rejects(runtime.peer.request('session/create', { agent, options }), { code: 'invalid_request', message: /half a character/ });
    }
    const options = { owner: 'ann', initialHistory: [{ type: 'user' as const, text: 'a\ud800' }] };
    assert.deepEqual(await runtime.peer.request('session/create', { agent, options }), { agent, options });
    await runtime.peer.close();
  });

  test('are sent with a text as their id, and answered in any order', async () => {
    const runtime = new FakeRuntime();
    const first = runtime.peer.request('run/cancel', { session: 'a' });
    const second = runtime.peer.request('run/cancel', { session: 'b' });
    const heard = await runtime.hears(2);
    assert.deepEqual(heard, [
      { jsonrpc: '2.0', id: 'c1', method: 'run/cancel', params: { session: 'a' } },
      { jsonrpc: '2.0', id: 'c2', method: 'run/cancel', params: { session: 'b' } },
    ]);
    runtime.say({ jsonrpc: '2.0', id: 'c2', result: { n: 2 } });
    runtime.say({ jsonrpc: '2.0', id: 'c1', result: { n: 1 } });
    assert.deepEqual(await Promise.all([first, second]), [{ n: 1 }, { n: 2 }]);
  });

  test('fail with the class, the details and the words of the runtime', async () => {
    const runtime = new FakeRuntime();
    const asked = runtime.peer.request('session/compact', session);
    runtime.say({ jsonrpc: '2.0', id: 'c1', error: { code: -32030, message: 'run_7 is under way', data: { code: 'session_busy', details: { run: 'run_7' }, retryable: true } } });
    const error = await failure(asked);
    assert.ok(error instanceof SessionBusyError);
    assert.deepEqual([error.code, error.message, error.details, error.retryable], ['session_busy', 'run_7 is under way', { run: 'run_7' }, true]);
  });

  const foreign: readonly [name: string, error: unknown, code: string, message: string | RegExp][] = [
    ['an unknown method', { code: -32601, message: 'no such method' }, 'invalid_request', 'no such method'],
    ['no JSON', { code: -32700, message: 'x' }, 'invalid_request', 'x'],
    ['a cancellation of the library', { code: -32097, message: 'x' }, 'cancelled', 'x'],
    ['a number of the table', { code: -32021, message: 'x' }, 'session_not_found', 'x'],
    ['a number that nobody knows', { code: 7, message: 'x' }, 'internal', 'x'],
    ['a code of a later version', { code: -32999, message: 'x', data: { code: 'out_of_paper' } }, 'out_of_paper', 'x'],
    ['data of another form', { code: -32021, message: 'x', data: ['code'] }, 'session_not_found', 'x'],
    ['no object', 'x', 'internal', /without a message/],
  ];
  for (const [name, error, code, message] of foreign) {
    test(`fail with a code for an error that is ${name}`, async () => {
      const runtime = new FakeRuntime();
      const asked = runtime.peer.request('session/state', session);
      runtime.say({ jsonrpc: '2.0', id: 'c1', error });
      const failed = await failure(asked);
      assert.equal('code' in failed && failed.code, code);
      assert.match(failed.message, typeof message === 'string' ? new RegExp(`^${message}$`) : message);
    });
  }

  test('of more than a line go out and come back whole', async () => {
    const runtime = new FakeRuntime();
    runtime.serve(({ params }) => params);
    const text = '漢'.repeat(maxFrameBytes);
    assert.deepEqual(await runtime.peer.request('interaction/resolve', { session: text, interaction: 'i', answer: { decision: 'allow' } }), {
      session: text,
      interaction: 'i',
      answer: { decision: 'allow' },
    });
  });

  test('that cannot be written are refused, and others go on', async () => {
    const runtime = new FakeRuntime();
    const big = await failure(runtime.peer.request('session/state', { session: 'x'.repeat(maxMessageBytes) }));
    assert.ok(big instanceof FrameTooLargeError);
    const odd = await failure(runtime.peer.request('session/state', { session: 1n as unknown as string }));
    assert.ok(odd instanceof InvalidRequestError);
    assert.match(odd.message, /^what session\/state is to carry cannot be written as JSON: .*BigInt/);
    runtime.serve(() => ({}));
    await runtime.peer.request('run/cancel', session);
    assert.equal(runtime.heard.length, 1);
  });

  test('may be ten thousand at once', async () => {
    const runtime = new FakeRuntime();
    const asked = Array.from({ length: 10_000 }, (_, i) => runtime.peer.request('run/cancel', { session: `s${i}` }));
    const heard = await runtime.hears(10_000);
    for (const { id, params } of heard.toReversed()) {
      runtime.say({ jsonrpc: '2.0', id, result: params });
    }
    assert.deepEqual(
      await Promise.all(asked),
      asked.map((_, i) => ({ session: `s${i}` })),
    );
  });
});

suite('a request that is given up', () => {
  test('before it is sent is not sent', async () => {
    const runtime = new FakeRuntime();
    for (const settle of [false, true]) {
      const error = await failure(runtime.peer.request('run/cancel', session, { signal: AbortSignal.abort('no more'), settle }));
      assert.ok(error instanceof CancelledError);
      assert.equal(error.cause, 'no more');
    }
    await settled();
    assert.deepEqual(runtime.heard, []);
  });

  test('fails at once, the runtime is told, and its answer is for nobody', async () => {
    const runtime = new FakeRuntime();
    const abort = new AbortController();
    const asked = runtime.peer.request('run/result', session, { signal: abort.signal });
    await runtime.hears(1);
    abort.abort(new Error('the tab was closed'));
    const error = await failure(asked);
    assert.ok(error instanceof CancelledError);
    assert.equal((error.cause as Error).message, 'the tab was closed');
    assert.deepEqual((await runtime.hears(2))[1], { jsonrpc: '2.0', method: 'rpc/cancel', params: { id: 'c1' } });
    runtime.say({ jsonrpc: '2.0', id: 'c1', result: {} });
    runtime.serve(() => ({ id: 'still here' }));
    assert.deepEqual(await runtime.peer.request('run/get', session), { id: 'still here' });
  });

  test('that is to settle learns what came of it: an acceptance that was under way', async () => {
    const runtime = new FakeRuntime();
    const abort = new AbortController();
    const asked = runtime.peer.request('turn/submit', { session: 's', text: 'x' }, { signal: abort.signal, settle: true });
    await runtime.hears(1);
    abort.abort();
    assert.equal((await runtime.hears(2))[1]?.method, 'rpc/cancel');
    runtime.say({ jsonrpc: '2.0', id: 'c1', result: { run: 'run_1' } });
    assert.deepEqual(await asked, { run: 'run_1' });
  });

  test('that is to settle learns that nothing came of it, with the reason of its signal', async () => {
    const runtime = new FakeRuntime();
    const abort = new AbortController();
    const asked = runtime.peer.request('run/get', session, { signal: abort.signal, settle: true });
    abort.abort('changed my mind');
    await runtime.hears(2);
    runtime.say({ jsonrpc: '2.0', id: 'c1', error: { code: -32068, message: 'x', data: { code: 'cancelled' } } });
    const error = await failure(asked);
    assert.ok(error instanceof CancelledError);
    assert.equal(error.cause, 'changed my mind');
  });

  test('leaves nothing behind: a hundred thousand requests share one signal', async () => {
    const runtime = new FakeRuntime();
    runtime.serve(() => ({}));
    const { signal } = new AbortController();
    const warned: string[] = [];
    const warn = (warning: Error): void => void warned.push(warning.message);
    process.on('warning', warn);
    for (let round = 0; round < 500; round++) {
      const asked = Array.from({ length: 200 }, () => runtime.peer.request('run/cancel', session, { signal, settle: round % 2 === 0 }));
      runtime.heard.length = 0;
      await Promise.all(asked);
    }
    await settled();
    process.off('warning', warn);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    assert.deepEqual(warned, []);
  });
});

suite('requests of the runtime', () => {
  const query: CredentialQuery = { callback: 'k1', provider: 'openai' };

  test('are answered under their own ids, those that are numbers too', async () => {
    const runtime = new FakeRuntime();
    runtime.peer.handle('credential/get', async ({ provider }) => Promise.resolve({ secret: `of ${provider}` }));
    runtime.peer.handle('action/check', () => ({ action: 'allow' }));
    runtime.say({ jsonrpc: '2.0', id: 7, method: 'credential/get', params: query });
    runtime.say({ jsonrpc: '2.0', id: 'r"8', method: 'action/check', params: { callback: 'k2' } });
    assert.deepEqual(await runtime.hears(2), [
      { jsonrpc: '2.0', id: 'r"8', result: { action: 'allow' } },
      { jsonrpc: '2.0', id: 7, result: { secret: 'of openai' } },
    ]);
  });

  test('for what the client does not do are refused; notifications are not', async () => {
    const runtime = new FakeRuntime();
    runtime.say({ jsonrpc: '2.0', method: 'weather/changed', params: {} });
    runtime.say({ jsonrpc: '2.0', id: 1, method: 'credential/get', params: query });
    assert.deepEqual(await runtime.hears(1), [{ jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'this client has no method "credential/get"' } }]);
  });

  test('run under the last handler that was set', async () => {
    const runtime = new FakeRuntime();
    runtime.peer.handle('credential/get', () => ({ secret: 'first' }));
    runtime.peer.handle('credential/get', () => ({ secret: 'second' }));
    runtime.say({ jsonrpc: '2.0', id: 1, method: 'credential/get', params: query });
    assert.deepEqual((await runtime.hears(1))[0]?.result, { secret: 'second' });
  });

  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  const thrown: readonly [name: string, value: unknown, error: object][] = [
    ['an error with a code', new ToolFailedError('the printer is out', { tray: '2' }), { code: -32064, message: 'the printer is out', data: { code: 'tool_failed', details: { tray: '2' }, retryable: false } }],
    ['any other error', new RangeError('too many'), { code: -32064, message: 'too many' }],
    ['an error without words', new RangeError(), { code: -32064, message: 'RangeError' }],
    ['that it came too late', new TooLateError('its time was over'), { code: -32083, message: 'its time was over' }],
    ['a text', 'out of paper', { code: -32064, message: 'out of paper' }],
    ['nothing', undefined, { code: -32064, message: 'undefined' }],
    ['an object', { status: 404 }, { code: -32064, message: '{"status":404}' }],
    ['what cannot be shown', circle, { code: -32064, message: 'it threw a value that cannot be shown' }],
    ['an error whose message is none', Object.assign(new RangeError('x'), { message: { status: 500 } }), { code: -32064, message: 'RangeError' }],
    ['an error with a code whose message throws', Object.defineProperty(new ToolFailedError('x'), 'message', { get: throws }), { code: -32064, message: 'it threw a value that cannot be shown', data: { code: 'tool_failed', details: {}, retryable: false } }],
    ['an error with a code that throws', Object.defineProperty(new ToolFailedError('jammed'), 'code', { get: throws }), { code: -32064, message: 'jammed' }],
    ['an object that cannot be asked', revoked(), { code: -32064, message: 'it threw a value that cannot be shown' }],
    ['a symbol', Symbol('s'), { code: -32064, message: 'Symbol(s)' }],
  ];
  for (const [name, value, error] of thrown) {
    test(`fail with what their handler throws: ${name}`, async () => {
      const runtime = new FakeRuntime();
      runtime.peer.handle('credential/get', () => {
        throw value;
      });
      runtime.peer.handle('action/check', () => Promise.reject(value as Error));
      runtime.say({ jsonrpc: '2.0', id: 1, method: 'credential/get', params: query });
      runtime.say({ jsonrpc: '2.0', id: 2, method: 'action/check', params: { callback: 'k2' } });
      assert.deepEqual(await runtime.hears(2), [
        { jsonrpc: '2.0', id: 1, error },
        { jsonrpc: '2.0', id: 2, error },
      ]);
    });
  }

  test('fail when their result cannot be sent, and are null without one', async () => {
    const runtime = new FakeRuntime();
    runtime.peer.handle('tool/run', ({ callback }) => (callback === 'big' ? { output: 'x'.repeat(maxMessageBytes) } : callback === 'odd' ? ({ output: 1n } as never) : (undefined as never)));
    for (const callback of ['odd', 'big', 'none']) {
      runtime.say({ jsonrpc: '2.0', id: callback, method: 'tool/run', params: { callback } });
    }
    const [odd, big, none] = await runtime.hears(3);
    assert.match(JSON.stringify(odd?.error), /the answer cannot be written as JSON/);
    assert.match(JSON.stringify(big?.error), /"code":"frame_too_large"/);
    assert.deepEqual(none, { jsonrpc: '2.0', id: 'none', result: null });
  });

  test('that are given up abort their own signal alone, and may still answer', async () => {
    const runtime = new FakeRuntime();
    const signals = new Map<string, AbortSignal>();
    runtime.peer.handle('tool/run', async ({ callback }, signal) => {
      signals.set(callback, signal);
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve({ output: `stopped: ${(signal.reason as Error).message}` }));
      });
    });
    runtime.say({ jsonrpc: '2.0', id: 1, method: 'tool/run', params: { callback: 'a' } });
    runtime.say({ jsonrpc: '2.0', id: 2, method: 'tool/run', params: { callback: 'b' } });
    runtime.say({ jsonrpc: '2.0', method: 'callback/cancel', params: { callback: 'b' } });
    runtime.say({ jsonrpc: '2.0', method: 'callback/cancel', params: { callback: 'b' } }); // again
    runtime.say({ jsonrpc: '2.0', method: 'callback/cancel', params: { callback: 'never was' } });
    assert.deepEqual(await runtime.hears(1), [{ jsonrpc: '2.0', id: 2, result: { output: 'stopped: the runtime has given this up' } }]);
    assert.deepEqual([signals.get('a')?.aborted, signals.get('b')?.aborted], [false, true]);
  });

  test('that never end hold nothing else up, and hear of the end of the connection', async () => {
    const runtime = new FakeRuntime();
    let heard: AbortSignal | undefined;
    runtime.peer.handle('tool/run', async (_params, signal) => {
      heard = signal;
      return new Promise(() => undefined);
    });
    runtime.peer.handle('credential/get', () => ({ secret: 's' }));
    runtime.say({ jsonrpc: '2.0', id: 1, method: 'tool/run', params: { callback: 'a' } });
    runtime.say({ jsonrpc: '2.0', id: 2, method: 'credential/get', params: query });
    assert.equal((await runtime.hears(1))[0]?.id, 2);
    runtime.output.end();
    await runtime.peer.closed;
    assert.ok(heard?.reason instanceof RuntimeExitedError);
  });

  test('may ask the runtime themselves while they run', async () => {
    const runtime = new FakeRuntime();
    runtime.serve(({ params }) => params);
    runtime.peer.handle('tool/run', async () => {
      const answer: unknown = await runtime.peer.request('run/cancel', { session: 'within' });
      return { output: JSON.stringify(answer) };
    });
    runtime.say({ jsonrpc: '2.0', id: 1, method: 'tool/run', params: { callback: 'a' } });
    assert.deepEqual(await runtime.hears(1, isAnswer), [{ jsonrpc: '2.0', id: 1, result: { output: '{"session":"within"}' } }]);
  });
});

suite('a connection that ends', () => {
  test('in the middle of a line fails what waits and what is asked later', async () => {
    const runtime = new FakeRuntime();
    const asked = failure(runtime.peer.request('run/result', session));
    await runtime.hears(1);
    runtime.output.end('{"jsonrpc":"2.0","id":"c1","resu');
    const error = await asked;
    assert.ok(error instanceof RuntimeExitedError);
    assert.equal(error.message, 'the fake is gone');
    assert.equal(await runtime.peer.closed, error);
    assert.equal(await failure(runtime.peer.request('run/result', session)), error);
    await runtime.peer.close();
    assert.equal(await runtime.peer.closed, error);
    assert.equal(runtime.gone, 1);
  });

  test('by a stream that breaks is one too', async () => {
    for (const stream of ['input', 'output'] as const) {
      const runtime = new FakeRuntime();
      const asked = failure(runtime.peer.request('run/result', session));
      runtime[stream].destroy(new Error('EPIPE'));
      assert.ok((await asked) instanceof RuntimeExitedError);
    }
  });

  test('since the runtime broke the protocol says so, at once, and hears nothing more', async () => {
    const faults: readonly [line: string, message: RegExp][] = [
      ['panic: out of memory\n', /the protocol.*no JSON: "panic: out of memory"/],
      [`"${'x'.repeat(maxFrameBytes)}"\n`, /longer than 1048576 bytes/],
      ['{"method":1}\n', /method of a request is no text/],
      ['{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a line is not JSON"}}\n', /it refused a line of this client: a line is not JSON/],
    ];
    for (const [line, message] of faults) {
      const runtime = new FakeRuntime();
      let ran = false;
      runtime.peer.handle('credential/get', () => {
        ran = true;
        return { secret: '' };
      });
      const asked = failure(runtime.peer.request('run/result', session));
      runtime.output.write(`${line}{"jsonrpc":"2.0","id":1,"method":"credential/get","params":{"callback":"k"}}\n`);
      runtime.output.write('{"jsonrpc":"2.0","id":"c1","result":{}}\n');
      const error = await asked;
      assert.ok(error instanceof RuntimeExitedError);
      assert.match(error.message, message);
      assert.equal(await runtime.peer.closed, error);
      assert.equal(ran, false);
    }
  });

  test('ignores answers that nobody waits for', async () => {
    const runtime = new FakeRuntime();
    runtime.say({ jsonrpc: '2.0', id: 'c9', result: {} });
    runtime.say({ jsonrpc: '2.0', id: 4, error: { code: -32600, message: 'no method' } });
    runtime.serve(() => ({ id: 'fine' }));
    assert.deepEqual(await runtime.peer.request('run/get', session), { id: 'fine' });
  });

  test('by close says shutdown, answers no more, and is no error', async () => {
    const runtime = new FakeRuntime();
    let signal: AbortSignal | undefined;
    let finish: ((result: { output: string }) => void) | undefined;
    runtime.peer.handle('tool/run', async (_params, s) => {
      signal = s;
      return new Promise((resolve) => {
        finish = resolve;
      });
    });
    runtime.say({ jsonrpc: '2.0', id: 1, method: 'tool/run', params: { callback: 'a' } });
    await settled();
    const asked = failure(runtime.peer.request('run/result', session));
    const closing = runtime.peer.close();
    assert.ok((await failure(runtime.peer.request('run/get', session))) instanceof ClosedError);
    assert.ok(signal?.reason instanceof ClosedError);
    finish?.({ output: 'late' });
    await Promise.all([closing, runtime.peer.close()]);
    assert.ok((await asked) instanceof ClosedError);
    assert.equal(await runtime.peer.closed, undefined);
    await settled();
    assert.deepEqual(
      runtime.heard.map((message) => message.method),
      ['run/result', 'shutdown'],
    );
    assert.equal(runtime.input.readableEnded, true);
    assert.equal(runtime.gone, 1);
  });
});

test('a connection does not grow with what went over it', async () => {
  const runtime = new FakeRuntime();
  runtime.serve(({ params }) => params);
  runtime.peer.handle('tool/run', async ({ callback }) => Promise.resolve({ output: callback }));
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const round = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) {
      runtime.say({ jsonrpc: '2.0', id: i, method: 'tool/run', params: { callback: `t${i}` } });
      const abort = new AbortController();
      const asked = runtime.peer.request('run/cancel', { session: 'x'.repeat(1_000) }, { signal: abort.signal });
      if (i % 2 === 0) {
        abort.abort();
      }
      await asked.catch(() => undefined);
      runtime.heard.length = 0;
    }
  };
  const used = async (): Promise<number> => {
    await settled();
    gc();
    return process.memoryUsage().heapUsed;
  };
  await round(2_000);
  const before = await used();
  await round(20_000);
  const grown = (await used()) - before;
  assert.ok(grown < 1 << 20, `it grew by ${grown} bytes`);
});
