// What an application's code throws or returns may name the text that it was shown: none of that is told.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { suite, test } from 'node:test';

import { SessionBusyError } from '../../src/generated/errors.js';
import type { Guardrail, Hook } from '../../src/guards.js';
import { failure, FakeConnection, open } from './fake.js';

const unit = { guardrail: 'g', point: 'user_input', text: 'SECRET' };

/** What a guardrail's verdict is told as. */
async function verdictOf(check: Guardrail['check']): Promise<unknown> {
  const connection = new FakeConnection();
  (await open(connection)).registerGuardrail({ name: 'g', points: ['user_input'], check });
  return connection.call('guardrail/check', unit);
}

/** What a hook answers. */
async function asked(hook: Omit<Hook, 'name'>, method: 'hook/beforeModel' | 'hook/toolResult'): Promise<unknown> {
  const connection = new FakeConnection();
  (await open(connection)).registerHook({ name: 'h', ...hook });
  return connection.call(method, { hook: 'h', request: { model: 'm', items: [] }, tool: 't', arguments: {}, output: 'SECRET' });
}

test('what names itself after the text is told without that name', async () => {
  const tagged = { [Symbol.toStringTag]: 'SECRET' } as never;
  for (const answer of [verdictOf(() => tagged), asked({ toolResult: () => tagged }, 'hook/toolResult'), asked({ beforeModel: () => tagged }, 'hook/beforeModel')]) {
    assert.match((await failure(answer)).message, / returned a value of a class; return/);
  }
  assert.match((await failure(verdictOf(() => new Map() as never))).message, / returned a value of Map; return/);
  await new Promise((resolve) => setImmediate(resolve)); // it is warned of too, in the next tick
});

suite('what an application\'s code throws', () => {
  class SecretError extends TypeError {}
  const thrown: [value: unknown, told: string][] = [
    [new SecretError('cannot parse "SECRET"'), "it threw an error of the application's own"],
    [new (class SECRET extends Error {})('x'), "it threw an error of the application's own"],
    [new TypeError('SECRET'), 'it threw a value of class TypeError'],
    [AbortSignal.abort().reason, 'it threw a value of class DOMException'],
    [{ constructor: { name: 'SECRET' } }, 'it threw an object'],
    [Object.assign(new SessionBusyError('x'), { code: 'SECRET', name: 'SECRET' }), 'it threw a value of class OpenWorkerError'],
    [new SessionBusyError('SECRET', { SECRET: 'SECRET' }), 'it threw a value of class SessionBusyError'],
    [Object.assign(new Error('SECRET'), { name: 'SECRET' }), 'it threw a value of class Error'],
    [Object.assign(new Error('SECRET'), { constructor: { name: 'a SECRET' } }), 'it threw a value of class Error'],
    ['SECRET', 'it threw a string'],
    [{ SECRET: 1 }, 'it threw an object'],
    [{ [Symbol.toStringTag]: 'SECRET', constructor: undefined }, 'it threw an object'],
    [new Proxy(new Error('SECRET'), { get: () => { throw new Error('SECRET'); } }), 'it threw a value of class Error'],
    [undefined, 'it threw undefined'],
    [new Proxy(new Error('SECRET'), { get: () => { throw new Error('SECRET'); }, getPrototypeOf: () => { throw new Error('SECRET'); } }), 'it threw an object'],
  ];
  const asks: [what: string, code: string, failed: (fail: () => never) => Promise<unknown>][] = [
    ['a guardrail', 'guardrail_failed', (fail) => verdictOf(fail)],
    ['a guardrail, in its verdict', 'guardrail_failed', (fail) => verdictOf(() => ({ get action() { return fail(); } }))],
    ['a hook before a model call', 'hook_failed', (fail) => asked({ beforeModel: fail }, 'hook/beforeModel')],
    ['a hook behind a tool', 'hook_failed', (fail) => asked({ toolResult: fail }, 'hook/toolResult')],
    ['the check of actions', 'check_failed', async (fail) => {
      const connection = new FakeConnection();
      await open(connection, { checkAction: fail });
      return connection.call('action/check', { tool: 'rm' });
    }],
  ];
  for (const [what, code, failed] of asks) {
    test(`is told of ${what} by its class alone, and the process has it as the cause of a warning`, async () => {
      for (const [value, told] of thrown) {
        const warned = once(process, 'warning') as Promise<[Error]>;
        const error = await failure(failed(() => { throw value; }));
        assert.deepEqual([error.code, error.message, error.details], [code, told, {}]);
        const [warning] = await warned;
        assert.deepEqual([warning.name, warning.cause === value, warning.message.includes('SECRET')], ['OpenWorkerWarning', true, false]);
      }
    });
  }

  test('once nobody waits for it any more is no warning', async () => {
    const warnings: unknown[] = [];
    const note = (warning: unknown): void => void warnings.push(warning);
    process.on('warning', note);
    const connection = new FakeConnection();
    (await open(connection)).registerGuardrail({ name: 'g', points: ['user_input'], check: ({ signal }) => { throw signal.reason; } });
    assert.equal((await failure(connection.call('guardrail/check', unit, AbortSignal.abort(new Error('over'))))).code, 'guardrail_failed');
    await new Promise((resolve) => setImmediate(resolve)); // warnings are told in the next tick
    process.off('warning', note);
    assert.deepEqual(warnings, []);
  });
});
