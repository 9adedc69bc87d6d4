import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { z } from 'zod';

import { DefinitionConflictError, InvalidToolError } from '../../src/generated/errors.js';
import { failure, FakeConnection, newSession, open } from './fake.js';

const defaultModel = { provider: 'Scripted', name: 'demo' };
const inputSchema = { type: 'object', properties: {} };
const execute = (): string => 'x';

/** What a run of unhandled rejections would end: the program. */
async function unhandled(body: () => Promise<void>): Promise<unknown[]> {
  const found: unknown[] = [];
  const note = (reason: unknown): void => void found.push(reason);
  process.on('unhandledRejection', note);
  try {
    await body();
    await new Promise((resolve) => setImmediate(resolve)); // they are told behind the microtasks
  } finally {
    process.off('unhandledRejection', note);
  }
  return found;
}

suite('what is registered', () => {
  test('goes to the runtime in the order of the calls, and before the agent that names it, with nothing awaited', async () => {
    const connection = new FakeConnection();
    const harness = await open(connection);
    harness.registerGuardrail({ name: 'g', points: ['user_input'], check: () => ({ action: 'allow' }), timeoutMs: 50 });
    harness.registerTool({ name: 'app.lookup', description: 'Looks up', inputSchema: z.object({ name: z.string() }), effect: 'readOnly', execute, timeoutMs: 9 });
    harness.registerHook({ name: 'h', toolResult: () => undefined });
    const agent = harness.createAgent({ name: 'naming', instructions: 'Help.', tools: ['app.lookup'], guardrails: ['g'], hooks: ['h'], defaultModel });
    assert.equal(agent.name, 'naming');
    assert.deepEqual(await agent.reference(), { name: 'naming', digest: 'd1' });
    const declaration = { name: 'app.lookup', description: 'Looks up', inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }, effect: 'readOnly' };
    assert.deepEqual(
      connection.sent.map(({ method, params }) => [method, params]).filter(([method]) => String(method).includes('register')),
      [
        ['guardrail/register', { name: 'g', points: ['user_input'], timeoutMs: 50 }],
        ['tool/register', { tools: [{ ...declaration, inspect: true, timeoutMs: 9 }] }],
        ['hook/register', { name: 'h', beforeModel: false, toolResult: true }],
        ['agent/register', { definition: { name: 'naming', instructions: 'Help.', tools: [declaration], guardrails: ['g'], hooks: ['h'], defaultModel } }],
      ],
    );
  });

  test('keeps its error for the calls that need it, and for no others', async () => {
    const found = await unhandled(async () => {
      const connection = new FakeConnection({
        'tool/register': ({ tools: [tool] }) => {
          if (tool?.name === 'bad') {
            throw new InvalidToolError('the runtime found a flaw');
          }
        },
      });
      const harness = await open(connection);
      harness.registerTool({ name: 'bad', inputSchema, execute });
      harness.registerTool({ name: 'good', inputSchema, execute });
      const bad = harness.createAgent({ name: 'one', tools: ['bad', 'good'], defaultModel });
      const good = harness.createAgent({ name: 'two', tools: ['good'], defaultModel });
      assert.equal((await (await good.ready()).newSession()).id, 's1');
      for (const call of [bad.ready(), bad.reference(), bad.newSession(), bad.resumeSession({ store: 'st', session: 's1', agent: 'one' })]) {
        assert.equal((await failure(call)).message, 'the runtime found a flaw');
      }
      assert.equal(connection.of('agent/register').length, 1);
    });
    assert.deepEqual(found, []);
  });

  test('ends no program where nobody asks for its error', async () => {
    const found = await unhandled(async () => {
      const connection = new FakeConnection({
        'agent/register': () => {
          throw new DefinitionConflictError('another is there');
        },
      });
      const harness = await open(connection);
      harness.createAgent({ name: 'a', defaultModel });
      harness.createAgent(undefined as never);
    });
    assert.deepEqual(found, []);
  });

  test('is as it was when it was given, whatever becomes of the object', async () => {
    const connection = new FakeConnection();
    const harness = await open(connection);
    const definition = { name: 'a', defaultModel: { ...defaultModel }, compaction: { additionalInstructions: '' } };
    const agent = harness.createAgent(definition);
    definition.defaultModel.name = 'other';
    await agent.ready();
    assert.deepEqual(connection.of('agent/register'), [{ definition: { name: 'a', defaultModel, compaction: { additionalInstructions: '' }, tools: [] } }]);
  });

  test('is refused once the harness is closed', async () => {
    const harness = await open(new FakeConnection());
    await harness.close();
    assert.equal((await failure(harness.createAgent({ name: 'a', defaultModel }).ready())).code, 'closed');
    assert.equal(await harness.closed, undefined);
  });
});

suite('a definition of an agent is refused, by the first call that needs it,', () => {
  const refused: [what: string, definition: unknown, code: string, message: RegExp][] = [
    ['where it is undefined', undefined, 'invalid_request', /createAgent was given undefined/],
    ['with a tool that is not registered', { name: 'a', tools: ['app.absent'], defaultModel }, 'invalid_tool', /"app\.absent", which is not registered; call harness\.registerTool before/],
    ['with a tool that is no name', { name: 'a', tools: [{ name: 't' }], defaultModel }, 'invalid_agent', /tools\[0\] of createAgent is an object; give a string/],
    ['with a field that is misspelt', { name: 'a', instruction: 'x', defaultModel }, 'invalid_agent', /did you mean "instructions"\?/],
    ['with what is no data', { name: 'a', defaultModel, team: { run: execute } }, 'invalid_agent', /team\.run of createAgent is a function, which JSON cannot say/],
  ];
  for (const [what, definition, code, message] of refused) {
    test(what, async () => {
      const connection = new FakeConnection();
      const agent = (await open(connection)).createAgent(definition as never);
      const error = await failure(agent.ready());
      assert.equal(error.code, code);
      assert.match(error.message, message);
      assert.deepEqual(connection.of('agent/register'), []);
    });
  }
});

suite('a tool is refused at once', () => {
  const tool = { name: 'app.t', inputSchema, execute };
  const refused: [what: string, given: unknown, message: RegExp][] = [
    ['where it is undefined', undefined, /registerTool was given undefined/],
    ['without a name', { inputSchema, execute }, /a tool's name is undefined/],
    ['with a name that no provider takes', { ...tool, name: 'app/t' }, /"app\/t" as "app\/t", and providers take/],
    ['with a name that is too long once models see it', { ...tool, name: `${'a'.repeat(62)}.b` }, /providers take 1–64/],
    ['without a function', { name: 'app.t', inputSchema }, /execute of tool "app\.t" is undefined; give the function/],
    ['without a schema', { name: 'app.t', execute }, /inputSchema is undefined/],
    ['with an effect that is none', { ...tool, effect: 'write' }, /effect of tool "app\.t" is "write"; give one of "sideEffect", "idempotent", "readOnly"$/],
    ['with an inspection that is no function', { ...tool, inspect: true }, /inspect of tool "app\.t" is a boolean/],
    ['with no time at all', { ...tool, timeoutMs: 0 }, /timeoutMs of tool "app\.t" is 0; give milliseconds above 0/],
    ['with more than a year', { ...tool, timeoutMs: 365 * 24 * 3_600_000 + 1 }, /timeoutMs of tool "app\.t" is 31536000001; give milliseconds above 0 up to 31536000000/],
    ['with a field that is misspelt', { ...tool, descripton: 'x' }, /did you mean "description"\?/],
  ];
  for (const [what, given, message] of refused) {
    test(what, async () => {
      const connection = new FakeConnection();
      const harness = await open(connection);
      assert.throws(() => harness.registerTool(given as never), { name: 'InvalidToolError', message });
      assert.deepEqual(connection.of('tool/register'), []);
    });
  }
});

suite('tools of one name', () => {
  let calls = 0;
  const tool = { name: 'app.t', inputSchema, execute };

  /** What a call of an agent's comes to. */
  function called(connection: FakeConnection, agent: string): Promise<unknown> {
    calls++;
    return connection.call('tool/run', { tool: 'app.t', agent: { name: agent, digest: 'd' }, callId: `registration-c${calls}`, attempt: 1, epoch: 1, arguments: {} });
  }

  test('that declare the same are one, with the body that came last', async () => {
    const connection = new FakeConnection();
    const harness = await open(connection);
    const properties = { to: { type: 'string', description: 'q' } };
    harness.registerTool({ ...tool, inputSchema: { type: 'object', title: 'T', properties }, execute: () => 'first' });
    await harness.createAgent({ name: 'a', tools: ['app.t'], defaultModel }).ready();
    const same: object[] = [
      { inputSchema: { properties: { to: { description: 'q', type: 'string' } }, title: 'T', type: 'object' } },
      { effect: 'sideEffect' },
      { description: '' },
      { description: undefined },
      { timeoutMs: 9 },
      { inputSchema: { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', title: 'T', properties, required: undefined } },
    ];
    for (const [i, its] of same.entries()) {
      harness.registerTool({ ...tool, inputSchema: { type: 'object', title: 'T', properties }, ...its, execute: () => `body ${i}` });
      await harness.createAgent({ name: 'a', tools: ['app.t'], defaultModel }).ready();
      assert.deepEqual(await called(connection, 'a'), { output: `body ${i}` });
    }
  });

  test('do not lose their name to a declaration that the runtime refused', async () => {
    const connection = new FakeConnection({
      'tool/register': ({ tools: [given] }) => {
        if (given?.inputSchema['properties'] === 5) {
          throw new InvalidToolError('properties is no object');
        }
      },
    });
    const harness = await open(connection);
    for (const round of [1, 2]) {
      harness.registerTool({ ...tool, inputSchema: { type: 'object', properties: 5 } });
      assert.equal((await failure(harness.createAgent({ name: `bad ${round}`, tools: ['app.t'], defaultModel }).ready())).code, 'invalid_tool');
      harness.registerTool({ ...tool, execute: () => `mended ${round}` });
      await harness.createAgent({ name: `good-${round}`, tools: ['app.t'], defaultModel }).ready();
      assert.deepEqual(await called(connection, `good-${round}`), { output: `mended ${round}` });
    }
  });

  test('that declare different things stand beside each other: an agent keeps what it was created with', async () => {
    const connection = new FakeConnection();
    const harness = await open(connection);
    harness.registerTool({ ...tool, description: 'Old', execute: () => 'old' });
    await harness.createAgent({ name: 'v1', tools: ['app.t'], defaultModel }).ready();
    harness.registerTool({ ...tool, description: 'New', execute: () => 'new' });
    await harness.createAgent({ name: 'v2', tools: ['app.t'], defaultModel }).ready();
    assert.deepEqual([await called(connection, 'v1'), await called(connection, 'v2')], [{ output: 'old' }, { output: 'new' }]);
    harness.registerTool({ ...tool, description: 'Old', execute: () => 'mended' });
    await harness.createAgent({ name: 'v1', tools: ['app.t'], defaultModel }).ready();
    assert.deepEqual([await called(connection, 'v1'), await called(connection, 'v2')], [{ output: 'mended' }, { output: 'new' }]);
  });

  test('are there for calls that come before the answer to their agent', async () => {
    const early: Promise<unknown>[] = [];
    const connection: FakeConnection = new FakeConnection({
      'agent/register': async ({ definition }) => {
        early.push(called(connection, definition.name));
        await early[0];
        return { name: definition.name, digest: 'd' };
      },
    });
    const harness = await open(connection);
    harness.registerTool({ ...tool, description: 'Old', execute: () => 'old' });
    const agent = harness.createAgent({ name: 'v1', tools: ['app.t'], defaultModel });
    harness.registerTool({ ...tool, description: 'New', execute: () => 'new' });
    await agent.ready();
    assert.deepEqual(await early[0], { output: 'old' });
  });

  test('are not exchanged by a definition that is refused', async () => {
    const connection = new FakeConnection({
      'agent/register': ({ definition }) => {
        if (definition.instructions === 'other') {
          throw new DefinitionConflictError('taken');
        }
        return { name: definition.name, digest: 'd' };
      },
    });
    const harness = await open(connection);
    harness.registerTool({ ...tool, description: 'Old', execute: () => 'old' });
    await harness.createAgent({ name: 'a', tools: ['app.t'], defaultModel }).ready();
    harness.registerTool({ ...tool, description: 'New', execute: () => 'new' });
    assert.equal((await failure(harness.createAgent({ name: 'a', instructions: 'other', tools: ['app.t'], defaultModel }).ready())).code, 'definition_conflict');
    assert.deepEqual(await called(connection, 'a'), { output: 'old' });
    assert.equal((await failure(harness.createAgent({ name: 'b', instructions: 'other', tools: ['app.t'], defaultModel }).ready())).code, 'definition_conflict');
    harness.registerTool({ ...tool, description: 'Newest', execute: () => 'newest' });
    await harness.createAgent({ name: 'b', tools: ['app.t'], defaultModel }).ready();
    assert.deepEqual(await called(connection, 'b'), { output: 'newest' });
  });
});

suite('a reference', () => {
  const reference = { store: 'st', session: 's1', agent: 'a' };

  test('is taken with whatever a database row has beside it', async () => {
    const connection = new FakeConnection();
    const harness = await open(connection);
    const session = await harness.resumeSession({ ...reference, owner: 'ann' } as never);
    assert.deepEqual(connection.of('session/resume'), [{ reference, agent: 'a' }]);
    assert.deepEqual(JSON.parse(JSON.stringify(session.reference())), reference);
  });

  for (const [what, given, message] of [
    ['its text', JSON.stringify(reference), /JSON\.parse what was stored/],
    ['null', null, /the reference is null/],
    ['without its store', { session: 's1', agent: 'a' }, /the reference has no store; .* harness\.session/],
  ] as const) {
    test(`is refused where it is ${what}`, async () => {
      const error = await failure((await open(new FakeConnection())).resumeSession(given as never));
      assert.equal(error.code, 'invalid_request');
      assert.match(error.message, message);
    });
  }

  test('is found by the session ID alone, with the agent that its first event names', async () => {
    const connection = new FakeConnection({ 'event/list': () => ({ events: [{ number: 1, type: 'session_created', time: '', data: { agent: 'naming', digest: 'd' } }] }) });
    const harness = await open(connection);
    assert.deepEqual((await harness.session('s7')).reference(), { store: 'st', session: 's7', agent: 'naming' });
  });
});

suite('a session value that was closed', () => {
  test('takes no more calls, and another value of the session does', async () => {
    const connection = new FakeConnection();
    const session = await newSession(connection);
    await session.close();
    for (const call of [session.run('x'), session.state(), session.cancel(), session.historyPage()]) {
      assert.equal((await failure(call)).code, 'closed');
    }
    assert.throws(() => session.events(), { code: 'closed' });
    await (await (await open(connection)).resumeSession(session.reference())).state();
  });
});
