import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { z } from 'zod';

import { allow, block, type Guardrail, type Hook, redact, veto } from '../../src/guards.js';
import type { ToolContext } from '../../src/tools.js';
import { setupOf } from '../../src/setup.js';
import { failure, FakeConnection, open } from './fake.js';

const context = { session: { store: 'st', session: 's1', agent: 'a' }, run: 'r1', agent: { name: 'a', digest: 'd' }, workspace: '/w', origin: 'agent', owner: 'ann', metadata: { k: 'v' } };

let calls = 0;

/** A call of a tool, with an ID of its own: bodies are the whole process's. */
function callOf(tool: string, args: object = {}): object {
  calls++;
  return { ...context, tool, callId: `callbacks-c${calls}`, attempt: 1, epoch: 3, effect: 'sideEffect', arguments: args };
}

suite('a tool', () => {
  test('is given its input, and told of its call', async () => {
    const connection = new FakeConnection();
    const harness = await open(connection);
    let told: ToolContext | undefined;
    harness.registerTool({
      name: 'app.add',
      inputSchema: z.object({ a: z.number(), b: z.number().default(2) }),
      execute({ a, b }, its) {
        told = its;
        return { sum: a + b };
      },
    });
    const call = callOf('app.add', { a: 1 });
    assert.deepEqual(await connection.call('tool/run', call), { output: '{"sum":3}' });
    const { signal, ...rest } = told ?? assert.fail('it was not told');
    assert.equal(signal.aborted, false);
    assert.deepEqual(rest, { ...context, callId: `callbacks-c${calls}`, attempt: 1, epoch: 3, tool: 'app.add', arguments: { a: 1 } });
  });

  test('has the arguments as they came, whatever its body makes of its input', async () => {
    const connection = new FakeConnection();
    (await open(connection)).registerTool({
      name: 't',
      inputSchema: { type: 'object' },
      execute(input, its) {
        (input['to'] as string[]).push('bob');
        input['more'] = 1;
        return [input, its.arguments];
      },
    });
    assert.deepEqual(await connection.call('tool/run', callOf('t', { to: ['ann'] })), { output: '[{"to":["ann","bob"],"more":1},{"to":["ann"]}]' });
  });

  test('keeps its object: a body may use this', async () => {
    class Lookup {
      readonly name = 'app.lookup';
      readonly inputSchema = { type: 'object' };
      readonly prefix = 'found ';
      execute(input: Record<string, unknown>): string {
        return this.prefix + String(input['name']);
      }
    }
    const connection = new FakeConnection();
    (await open(connection)).registerTool(new Lookup());
    assert.deepEqual(await connection.call('tool/run', callOf('app.lookup', { name: 'Atlas' })), { output: 'found Atlas' });
  });

  test('is not run for arguments that its schema refuses', async () => {
    const connection = new FakeConnection();
    let runs = 0;
    (await open(connection)).registerTool({ name: 't', inputSchema: z.object({ n: z.number().refine((n) => n % 2 === 0, 'it is odd') }), execute: () => runs++ });
    const error = await failure(connection.call('tool/run', callOf('t', { n: 1 })));
    assert.deepEqual([error.code, runs], ['arguments_invalid', 0]);
    assert.match(error.message, /at \/n: it is odd/);
  });

  const found = [
    { outcome: 'succeeded', output: 'paid' },
    { outcome: 'failed' },
    { outcome: 'not_started' },
    { outcome: 'running' },
    { outcome: 'unknown' },
  ] as const;
  for (const inspection of found) {
    test(`is asked what became of a call that this process knows nothing of, and may say ${inspection.outcome}`, async () => {
      const connection = new FakeConnection();
      (await open(connection)).registerTool({ name: 't', inputSchema: { type: 'object' }, execute: () => '', inspect: async ({ callId }) => (callId === '' ? { outcome: 'unknown' } : inspection) });
      assert.deepEqual(await connection.call('tool/inspect', callOf('t')), inspection);
    });
  }

  test('without an inspection is unknown, unless this process ran it', async () => {
    const connection = new FakeConnection();
    (await open(connection)).registerTool({ name: 't', inputSchema: { type: 'object' }, execute: () => 'done' });
    assert.deepEqual(await connection.call('tool/inspect', callOf('t')), { outcome: 'unknown' });
    const call = callOf('t');
    await connection.call('tool/run', call);
    assert.deepEqual(await connection.call('tool/inspect', call), { outcome: 'succeeded', output: 'done' });
  });

  test('whose inspection says nothing of use fails, so that it is asked again', async () => {
    const connection = new FakeConnection();
    (await open(connection)).registerTool({ name: 't', inputSchema: { type: 'object' }, execute: () => '', inspect: () => ({ outcome: 'done' }) as never });
    assert.match((await failure(connection.call('tool/inspect', callOf('t')))).message, /inspect of tool "t" must return/);
  });
});

const unit = { ...context, guardrail: 'g', point: 'user_input', text: 'secret' };

/** What a guardrail's verdict is told as. */
async function verdictOf(check: Guardrail['check']): Promise<unknown> {
  const connection = new FakeConnection();
  (await open(connection)).registerGuardrail({ name: 'g', points: ['user_input', 'tool_result'], check });
  return connection.call('guardrail/check', unit);
}

suite('a guardrail', () => {
  test('sees the text and whose it is, and gives its verdict', async () => {
    assert.deepEqual(await verdictOf(() => allow()), { action: 'allow' });
    assert.deepEqual(await verdictOf(async ({ text, owner, point }) => redact(`${text.length} ${owner} ${point}`, 'why')), { action: 'redact', text: '6 ann user_input', reason: 'why' });
    assert.deepEqual(await verdictOf(() => redact('')), { action: 'redact', text: '' });
    assert.deepEqual(await verdictOf(() => block('no')), { action: 'block', reason: 'no' });
  });

  const none: [what: string, verdict: unknown][] = [['nothing', undefined], ['true', true], ['another word', { action: 'pass' }], ['a redaction without its text', { action: 'redact' }], ['an inherited word', { action: 'toString' }]];
  for (const [what, verdict] of none) {
    test(`that returns ${what} fails, so that nothing passes`, async () => {
      const error = await failure(verdictOf(() => verdict as never));
      assert.match(error.message, /"g" returned .*; return allow\(\) or redact\(\) or block\(\)/);
    });
  }

  test('that returns what names itself after the text is told without that name', async () => {
    const tagged = { [Symbol.toStringTag]: 'SECRET' };
    for (const error of [await failure(verdictOf(() => tagged as never)), await failure(asked({ toolResult: () => tagged as never }, 'hook/toolResult'))]) {
      assert.match(error.message, /returned a value of a class; return/);
    }
    assert.match((await failure(verdictOf(() => new Map() as never))).message, /returned a value of Map; return/);
  });

  for (const [what, given, message] of [
    ['without points', { name: 'g', points: [], check: allow }, /points of guardrail "g" must be a list of at least one of user_input/],
    ['with a point that is none', { name: 'g', points: ['input'], check: allow }, /points\[0\] of guardrail "g" is "input"; give one of "user_input", "model_input", "tool_result", "model_output"$/],
    ['with a point in another spelling', { name: 'g', points: ['tool_result', 'userInput'], check: allow }, /points\[1\] of guardrail "g" is "userInput"; did you mean "user_input"\?$/],
    ['without a function', { name: 'g', points: ['user_input'] }, /check of guardrail "g" is undefined; give a function/],
    ['without a name', { points: ['user_input'], check: allow }, /registerGuardrail was given no name/],
  ] as const) {
    test(`${what} is refused at once`, async () => {
      const harness = await open(new FakeConnection());
      assert.throws(() => harness.registerGuardrail(given as never), { code: 'invalid_request', message });
    });
  }

  test('of a name that is taken is refused at once', async () => {
    const harness = await open(new FakeConnection());
    harness.registerGuardrail({ name: 'g', points: ['user_input'], check: allow });
    assert.throws(() => harness.registerGuardrail({ name: 'g', points: ['user_input'], check: allow }), /"g" is registered already/);
  });
});

/** What a hook answers. */
async function asked(hook: Omit<Hook, 'name'>, method: 'hook/beforeModel' | 'hook/toolResult'): Promise<unknown> {
  const connection = new FakeConnection();
  (await open(connection)).registerHook({ name: 'h', ...hook });
  return connection.call(method, { ...context, hook: 'h', purpose: 'turn', provider: 'P', request: { model: 'm', items: [] }, tool: 't', arguments: {}, output: 'raw' });
}

suite('a hook', () => {
  test('lets a request pass, or refuses it with its reason', async () => {
    assert.deepEqual(await asked({ beforeModel: () => undefined }, 'hook/beforeModel'), {});
    assert.deepEqual(await asked({ beforeModel: ({ request }) => veto(`not ${request.model}`) }, 'hook/beforeModel'), { veto: true, reason: 'not m' });
  });

  test('leaves a result, or gives another', async () => {
    assert.deepEqual(await asked({ toolResult: () => undefined }, 'hook/toolResult'), { output: 'raw' });
    assert.deepEqual(await asked({ toolResult: ({ output }) => output.toUpperCase() }, 'hook/toolResult'), { output: 'RAW' });
    assert.deepEqual(await asked({ toolResult: () => '' }, 'hook/toolResult'), { output: '' });
  });

  test('that returns what is neither fails', async () => {
    assert.match((await failure(asked({ beforeModel: () => false as never }, 'hook/beforeModel'))).message, /return veto\(reason\), or nothing/);
    assert.match((await failure(asked({ toolResult: () => 7 as never }, 'hook/toolResult'))).message, /return a string, or nothing/);
  });

  test('without a function is refused at once', async () => {
    const harness = await open(new FakeConnection());
    assert.throws(() => harness.registerHook({ name: 'h' }), /hook "h" has no function; give beforeModel or toolResult/);
  });
});

const withProvider = (field: object): object => ({ stateDir: '/s', providers: [{ name: 'L', protocol: 'openai-chat', baseURL: 'http://127.0.0.1:9/v1', ...field }] });

suite('the options of a harness', () => {
  test('say where secrets come from', () => {
    const sources = [undefined, {}, { OpenAI: 'k' }, { OpenAI: 'k', file: 'f' }, 'environment', { file: '/s.json' }, () => 'k'].map(
      (credentials) => setupOf({ stateDir: '/s', credentials }).initialize.credentials,
    );
    assert.deepEqual(sources, [
      undefined,
      { source: 'memory', secrets: {} },
      { source: 'memory', secrets: { OpenAI: 'k' } },
      { source: 'memory', secrets: { OpenAI: 'k', file: 'f' } },
      { source: 'environment' },
      { source: 'file', file: '/s.json' },
      { source: 'callback' },
    ]);
  });

  test('give the function for secrets its provider, and take none for none', async () => {
    const connection = new FakeConnection();
    await open(connection, { credentials: (provider) => (provider === 'OpenAI' ? 'k' : undefined) });
    assert.deepEqual(await connection.call('credential/get', { provider: 'OpenAI' }), { secret: 'k' });
    assert.deepEqual(await connection.call('credential/get', { provider: 'Google' }), { secret: '' });
  });

  test('give the check of actions each action, and take nothing for a verdict but allow and block', async () => {
    const connection = new FakeConnection();
    await open(connection, { checkAction: ({ tool }) => (tool === 'rm' ? block('no') : tool === 'ls' ? allow() : redact('')) });
    assert.deepEqual(await connection.call('action/check', { ...context, tool: 'rm' }), { action: 'block', reason: 'no' });
    assert.deepEqual(await connection.call('action/check', { ...context, tool: 'ls' }), { action: 'allow' });
    assert.match((await failure(connection.call('action/check', { ...context, tool: 'cp' }))).message, /return allow\(\) or block\(\)/);
  });

  for (const [what, given, message] of [
    ['are none', undefined, /Harness\.open was given undefined; give an object with a stateDir/],
    ['have no directory', {}, /needs a stateDir/],
    ['are misspelt', { stateDir: '/s', statedir: '/s' }, /did you mean "stateDir"\?/],
    ['have a secret that is no text', { stateDir: '/s', credentials: { OpenAI: 5 } }, /^credentials\.OpenAI of Harness\.open is a number; give a string$/],
    ['misspell a field of a provider', withProvider({ baseUrl: 'http://h/v1' }), /providers\[0\] of Harness\.open does not know "baseUrl"; did you mean "baseURL"\?$/],
    ['have a key in a provider', withProvider({ apiKey: 'SECRET' }), /does not know "apiKey"; secrets are given to Harness\.open as credentials$/],
    ['have a protocol that is none', withProvider({ protocol: 'openai' }), /protocol of providers\[0\] of Harness\.open is "openai"; give one of "openai-chat", "openai-responses", /],
    ['have a provider without an address', withProvider({ baseURL: undefined }), /providers\[0\] of Harness\.open has no baseURL; give/],
    ['have an address without its scheme', withProvider({ baseURL: '127.0.0.1:9/v1' }), /baseURL of providers\[0\] of Harness\.open is no http or https address/],
    ['have one provider for a list', { stateDir: '/s', providers: { name: 'x' } }, /providers of Harness\.open is an object; give a list/],
  ] as const) {
    test(`are refused where they ${what}`, () => {
      assert.throws(() => setupOf(given), { code: 'invalid_request', message });
    });
  }

  test('close what was begun where the runtime refuses it', async () => {
    const connection = new FakeConnection({
      initialize: () => {
        throw new Error('no common version');
      },
    });
    assert.equal((await failure(open(connection))).message, 'no common version');
    assert.equal(connection.isClosed, true);
  });
});
