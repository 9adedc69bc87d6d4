// What the runtime refuses to register changes nothing here.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { InvalidRequestError, InvalidToolError } from '../../src/generated/errors.js';
import { Later } from '../recovery/world.js';
import { failure, FakeConnection, open } from './fake.js';

const defaultModel = { provider: 'Scripted', name: 'demo' };
const tool = { name: 'app.t', inputSchema: { type: 'object' } };
const year = 365 * 24 * 3_600_000;

let calls = 0;
function called(connection: FakeConnection, agent: string): Promise<unknown> {
  calls++;
  return connection.call('tool/run', { tool: 'app.t', agent: { name: agent, digest: 'd' }, callId: `refused-c${calls}`, attempt: 1, epoch: 1, arguments: {} });
}

suite('a registration that the runtime refuses', () => {
  test('does not exchange the body of the tool that declares the same, nor its time', async (t) => {
    t.mock.timers.enable({ apis: ['Date'] });
    let refuses = false;
    const connection = new FakeConnection({
      'tool/register': () => {
        if (refuses) {
          throw new InvalidToolError('not now');
        }
      },
    });
    const harness = await open(connection);
    const begun = new Later<() => void>();
    harness.registerTool({ ...tool, timeoutMs: 1_000, execute: () => new Promise<string>((resolve) => begun.resolve(() => resolve('first'))) });
    const agent = { name: 'a', tools: ['app.t'], defaultModel };
    await harness.createAgent(agent).ready();
    refuses = true;
    harness.registerTool({ ...tool, timeoutMs: 1_000_000, execute: () => 'second' });
    assert.equal((await failure(harness.createAgent(agent).ready())).message, 'not now');

    const output = called(connection, 'a');
    const end = await begun.promise;
    const inspect = (): Promise<unknown> => connection.call('tool/inspect', { tool: 'app.t', agent: { name: 'a', digest: 'd' }, callId: `refused-c${calls}`, attempt: 1, epoch: 1, arguments: {} });
    assert.deepEqual(await inspect(), { outcome: 'running' });
    t.mock.timers.tick(6_000);
    assert.deepEqual(await inspect(), { outcome: 'unknown' }, 'the time is that of the tool that was refused');
    end();
    assert.deepEqual(await output, { output: 'first' });

    refuses = false;
    harness.registerTool({ ...tool, timeoutMs: 1_000_000, execute: () => 'third' });
    await harness.createAgent(agent).ready();
    assert.deepEqual(await called(connection, 'a'), { output: 'third' });
  });

  test('gives no body to calls of agents that this process did not create', async () => {
    const connection = new FakeConnection({
      'tool/register': ({ tools: [given] }) => {
        if (given?.description === 'Refused') {
          throw new InvalidToolError('not that');
        }
      },
    });
    const harness = await open(connection);
    harness.registerTool({ ...tool, execute: () => 'taken' });
    harness.registerTool({ ...tool, description: 'Refused', execute: () => 'refused' });
    assert.equal((await failure(harness.createAgent({ name: 'a', tools: ['app.t'], defaultModel }).ready())).message, 'not that');
    assert.deepEqual(await called(connection, 'another'), { output: 'taken' });
  });

  test('leaves its name to another guardrail, or another hook', async () => {
    let refused = 0;
    const refuse = (): void => {
      if (refused++ === 0) {
        throw new InvalidRequestError('not now');
      }
    };
    for (const [kind, register] of [
      ['guardrails', (harness: Awaited<ReturnType<typeof open>>) => harness.registerGuardrail({ name: 'one', points: ['user_input'], check: () => ({ action: 'allow' }) })],
      ['hooks', (harness: Awaited<ReturnType<typeof open>>) => harness.registerHook({ name: 'one', toolResult: () => undefined })],
    ] as const) {
      refused = 0;
      const harness = await open(new FakeConnection({ 'guardrail/register': refuse, 'hook/register': refuse }));
      const ready = (): Promise<unknown> => harness.createAgent({ name: 'a', [kind]: ['one'], defaultModel }).ready();
      register(harness);
      assert.throws(() => register(harness), /"one" is registered already/);
      assert.equal((await failure(ready())).message, 'not now');
      register(harness);
      await ready();
    }
  });
});

suite('a guardrail or hook', () => {
  for (const timeoutMs of [-1, year + 1]) {
    test(`is refused at once with a time of ${timeoutMs} ms`, async () => {
      const connection = new FakeConnection();
      const harness = await open(connection);
      const message = /timeoutMs of register(Guardrail|Hook) "one" is -?\d+; give milliseconds from 0, which is the default, up to 31536000000/;
      assert.throws(() => harness.registerGuardrail({ name: 'one', points: ['user_input'], check: () => ({ action: 'allow' }), timeoutMs }), { code: 'invalid_request', message });
      assert.throws(() => harness.registerHook({ name: 'one', toolResult: () => undefined, timeoutMs }), { code: 'invalid_request', message });
      harness.registerHook({ name: 'one', toolResult: () => undefined, timeoutMs: year });
    });
  }
});
