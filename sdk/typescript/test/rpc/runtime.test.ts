// What the fakes of the other tests stand for: the runtime itself. It is the one at OPENWORKER_RUNTIME; without it Go compiles
// one.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { CancelledError, InvalidRequestError, RuntimeExitedError } from '../../src/generated/errors.js';
import type { RuntimeConnection } from '../../src/rpc/process.js';
import { startRuntime } from '../../src/rpc/process.js';

suite('the runtime', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'openworker-runtime-'));
  let program = process.env['OPENWORKER_RUNTIME'] ?? '';
  let runtime: RuntimeConnection;

  async function open(): Promise<void> {
    runtime = await startRuntime({ runtimePath: program, stateDir: path.join(dir, 'state') });
    await runtime.request('initialize', { protocolVersions: [1], client: { name: 'test', version: '1' } });
  }

  before(async () => {
    if (program === '') {
      program = path.join(dir, 'openworker');
      execFileSync('go', ['build', '-o', program, './cmd/openworker'], { cwd: fileURLToPath(new URL('../../../..', import.meta.url)), stdio: ['ignore', 'inherit', 'inherit'] });
    }
    await open();
  });

  after(async () => {
    await runtime.close();
    rmSync(dir, { recursive: true });
  });

  async function newSession(guardrails: string[] = []): Promise<string> {
    const name = ['agent', ...guardrails].join('-');
    const agent = await runtime.request('agent/register', { definition: { name, defaultModel: { provider: 'Scripted', name: 'echo' }, guardrails } });
    return (await runtime.request('session/create', { agent })).session;
  }

  test('reads and writes messages of several lines', async () => {
    const text = `${'\u0001'.repeat(200_000)}漢`; // in JSON each of these is six bytes
    const session = await newSession();
    await runtime.request('turn/submit', { session, text });
    const { items } = await runtime.request('history/list', { session });
    assert.equal(items[0]?.text, text);
  });

  test('refuses what it does not know', async () => {
    await assert.rejects(runtime.request('session/paint' as 'shutdown', {}), (error) => error instanceof InvalidRequestError && error.message.includes('"session/paint"'));
  });

  test('gives up what the client gives up, whether it settles or not', async () => {
    for (const settle of [false, true]) {
      const { subscription } = await runtime.request('event/subscribe', { session: await newSession(), after: 1 });
      const abort = new AbortController();
      const next = runtime.request('event/next', { subscription }, { signal: abort.signal, settle });
      await runtime.request('capabilities', {});
      abort.abort('enough');
      await assert.rejects(next, (error) => error instanceof CancelledError && error.cause === 'enough');
    }
  });

  test('asks this process, which answers, fails, or is told that the answer is not wanted any more', async () => {
    let given: AbortSignal | undefined;
    runtime.handle('guardrail/check', async ({ text }, signal) => {
      switch (text) {
        case 'answers':
          return { action: 'block', reason: 'not on Mondays' };
        case 'fails':
          throw new Error('out of paper');
        default:
          given = signal;
          return new Promise(() => undefined);
      }
    });
    await runtime.request('guardrail/register', { name: 'polite', points: ['user_input'], timeoutMs: 300 });
    const refused: readonly [text: string, code: string, message: RegExp][] = [
      ['answers', 'guardrail_blocked', /not on Mondays/],
      ['fails', 'guardrail_failed', /polite/],
      ['waits', 'guardrail_failed', /polite/],
    ];
    for (const [text, code, message] of refused) {
      const session = await newSession(['polite']);
      await assert.rejects(runtime.request('turn/submit', { session, text }), { code, message });
    }
    assert.ok(given?.reason instanceof CancelledError);
  });

  test('answers thousands of requests that are under way at once', async () => {
    const session = await newSession();
    const states = await Promise.all(Array.from({ length: 3_000 }, () => runtime.request('session/state', { session })));
    assert.ok(states.every((state) => state.session === session));
  });

  test('that is killed fails what waits, and the next one has the state', async () => {
    const session = await newSession();
    const { subscription } = await runtime.request('event/subscribe', { session, after: 1 });
    const waits = runtime.request('event/next', { subscription });
    process.kill(runtime.pid, 'SIGKILL');
    await assert.rejects(waits, (error) => error instanceof RuntimeExitedError && /was ended by SIGKILL/.test(error.message));
    assert.ok((await runtime.closed) instanceof RuntimeExitedError);
    await open();
    assert.equal((await runtime.request('session/state', { session })).session, session);
  });
});
