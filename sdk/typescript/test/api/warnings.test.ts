import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';

import type { CheckAction, Guardrail } from '../../src/guards.js';
import type { CredentialCallback } from '../../src/setup.js';
import { capabilities, failure, FakeConnection, open } from './fake.js';

const context = { session: { store: 'st', session: 's1', agent: 'a' }, run: 'r1', agent: { name: 'a', digest: 'd' } };

/** The warnings of this process while something is done, in their order. */
async function warningsOf(t: TestContext, act: () => Promise<void>): Promise<{ name: string; message: string; cause: unknown }[]> {
  const heard: { name: string; message: string; cause: unknown }[] = [];
  t.mock.method(process, 'emitWarning', ({ name, message, cause }: Error) => heard.push({ name, message, cause }));
  await act();
  return heard;
}

suite('what an application\'s code does wrong is told to its process where it', () => {
  const boom = new TypeError('SECRET');
  const thrown = `it threw a value of class TypeError; process.on('warning') has it as the cause of this warning`;
  const wrong: [what: string, ask: () => Promise<unknown>, message: string, cause: unknown][] = [
    ['is a check of actions that returns no verdict', () => checking(() => false as never), 'checkAction failed: "checkAction" returned a boolean; return allow() or block()', undefined],
    ['is a check of actions that throws', () => checking(() => { throw boom; }), `checkAction failed: ${thrown}`, boom],
    ['is a guardrail that returns no verdict', () => guarding(() => true as never), 'guardrail "g" failed: "g" returned a boolean; return allow() or redact() or block()', undefined],
    ['is a hook that returns an object for a result', () => hooking(() => ({ a: 1 }) as never), 'hook "h" failed: toolResult of hook "h" returned an object; return a string, or nothing to leave the result', undefined],
    ['is a function for secrets that throws', () => secret(() => { throw boom; }), `credentials for provider "OpenAI" failed: ${thrown}`, boom],
    ['is a function for secrets that returns an object', () => secret(() => ({ key: 'SECRET' }) as never), 'credentials for provider "OpenAI" failed: the function returned an object; return a string, or undefined for none', undefined],
    ['is an inspection that throws', () => inspecting(() => { throw boom; }), `inspect of tool "t" for call c1 failed: SECRET; process.on('warning') has it as the cause of this warning`, boom],
  ];
  for (const [what, ask, message, cause] of wrong) {
    test(what, async (t) => {
      const warnings = await warningsOf(t, async () => void (await failure(ask())));
      assert.deepEqual(warnings, [{ name: 'OpenWorkerWarning', message, cause }]);
    });
  }

  test('fails again and again, once until it is over', async (t) => {
    let works = false;
    const connection = new FakeConnection();
    await open(connection, { credentials: () => { if (works) return 'k'; throw boom; } });
    const get = () => connection.call('credential/get', { provider: 'OpenAI' });
    const warnings = await warningsOf(t, async () => {
      await failure(get());
      await failure(get());
      works = true;
      await get();
      works = false;
      await failure(get());
    });
    assert.equal(warnings.length, 2);
  });
});

async function checking(checkAction: CheckAction): Promise<unknown> {
  const connection = new FakeConnection();
  await open(connection, { checkAction });
  return connection.call('action/check', { ...context, tool: 't' });
}

async function guarding(check: Guardrail['check']): Promise<unknown> {
  const connection = new FakeConnection();
  (await open(connection)).registerGuardrail({ name: 'g', points: ['user_input'], check });
  return connection.call('guardrail/check', { ...context, guardrail: 'g', point: 'user_input', text: 'SECRET' });
}

async function hooking(toolResult: () => never): Promise<unknown> {
  const connection = new FakeConnection();
  (await open(connection)).registerHook({ name: 'h', toolResult });
  return connection.call('hook/toolResult', { ...context, hook: 'h', tool: 't', output: 'raw' });
}

async function secret(credentials: CredentialCallback): Promise<unknown> {
  const connection = new FakeConnection();
  await open(connection, { credentials });
  return connection.call('credential/get', { provider: 'OpenAI' });
}

async function inspecting(inspect: () => never): Promise<unknown> {
  const connection = new FakeConnection();
  (await open(connection)).registerTool({ name: 't', inputSchema: { type: 'object' }, execute: () => '', inspect });
  return connection.call('tool/inspect', { ...context, tool: 't', callId: 'c1', attempt: 1, epoch: 3, effect: 'sideEffect', arguments: {} });
}

suite('an agent that names a guardrail or a hook', () => {
  const definition = { name: 'a', defaultModel: { provider: 'Scripted', name: 'demo' }, guardrails: ['pii', 'g'], hooks: ['audit'] };

  test('which this process has not registered is ready, since another may have it, and the process is told', async (t) => {
    const harness = await open(new FakeConnection());
    harness.registerGuardrail({ name: 'g', points: ['user_input'], check: () => ({ action: 'allow' }) });
    const agent = harness.createAgent(definition);
    const warnings = await warningsOf(t, async () => void (await agent.ready()));
    assert.deepEqual(
      warnings.map(({ name, message }) => `${name}: ${message.split(',')[0]}`),
      ['OpenWorkerWarning: agent "a" names the guardrail "pii"', 'OpenWorkerWarning: agent "a" names the hook "audit"'],
    );
  });

  test('which this process registers before it is ready, or the runtime has, is not warned of', async (t) => {
    const harness = await open(new FakeConnection({ capabilities: () => ({ ...capabilities, guardrails: ['pii'] }) }));
    const agent = harness.createAgent(definition);
    harness.registerGuardrail({ name: 'g', points: ['user_input'], check: () => ({ action: 'allow' }) });
    harness.registerHook({ name: 'audit', toolResult: () => undefined });
    await harness.createAgent({ ...definition, name: 'b' }).ready();
    assert.deepEqual(await warningsOf(t, async () => void (await agent.ready())), []);
  });
});
