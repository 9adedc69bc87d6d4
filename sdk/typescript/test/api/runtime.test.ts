import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import { z } from 'zod';

import { Attachment, Harness, type HarnessOptions } from '@openworkerai/harness-sdk';
import { failure } from './fake.js';

const defaultModel = { provider: 'Scripted', name: 'demo' };

/** A directory of the test's own. */
function directory(t: TestContext): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'openworker-api-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** The runtime itself, with its offline model. */
function open(dir: string, options?: Partial<HarnessOptions>): Promise<Harness> {
  return Harness.open({ stateDir: path.join(dir, 'state'), scratchDir: path.join(dir, 'scratch'), ...options });
}

suite('with the runtime', { concurrency: true }, () => {
  test('tools of one name and different declarations serve each its agent, also behind a restart', async (t) => {
    const dir = directory(t);
    const tool = { name: 'app.add', inputSchema: z.object({ a: z.number() }), effect: 'readOnly' } as const;
    const create = (harness: Harness) => {
      harness.registerTool({ ...tool, description: 'Adds 1', execute: ({ a }) => a + 1 });
      const old = harness.createAgent({ name: 'v1', tools: ['app.add'], approvals: { mode: 'never' }, defaultModel });
      harness.registerTool({ ...tool, description: 'Adds 2', execute: ({ a }) => a + 2 });
      return [old, harness.createAgent({ name: 'v2', tools: ['app.add'], approvals: { mode: 'never' }, defaultModel })] as const;
    };
    const said = 'use app.add with {"a": 1}';
    const first = await open(dir);
    const [old, young] = create(first);
    const session = await old.newSession();
    assert.match((await session.run(said)).text, /returned “2”/);
    assert.match((await (await young.newSession()).run(said)).text, /returned “3”/);
    await first.close();
    await using second = await open(dir);
    const [again] = create(second);
    assert.match((await (await again.resumeSession(session.reference())).run(said)).text, /returned “2”/);
  });

  test('a model is told what a body throws, and what a schema refuses, as it was said', async (t) => {
    await using harness = await open(directory(t));
    harness.registerTool({
      name: 'pay',
      inputSchema: z.object({ amount: z.number().refine((amount) => amount < 10, 'it is over 9') }),
      execute: () => {
        throw new Error('the bank is closed');
      },
    });
    const agent = harness.createAgent({ name: 'a', tools: ['pay'], approvals: { mode: 'never' }, defaultModel });
    const session = await agent.newSession();
    const { text } = await session.run('use pay with {"amount": 1}\nuse pay with {"amount": 99}');
    assert.match(text, /pay did not succeed: “the bank is closed”/);
    assert.match(text, /at \/amount: it is over 9/);
    const codes: (string | undefined)[] = [];
    for await (const item of session.history()) {
      if (item.type === 'tool_result') {
        codes.push(item.code);
      }
    }
    assert.deepEqual(codes, ['tool_failed', 'arguments_invalid']);
  });

  test('a side effect that outlasts its time is for a person to decide on, and begun once; what it comes to in the end counts', async (t) => {
    await using harness = await open(directory(t));
    let begun = 0;
    let end: ((output: string) => void) | undefined;
    harness.registerTool({
      name: 'pay',
      inputSchema: { type: 'object' },
      timeoutMs: 2_000, // so that it begins in time on a machine that has much to do
      execute: () => {
        begun++;
        return new Promise((resolve) => {
          end = resolve;
        });
      },
    });
    const session = await harness.createAgent({ name: 'a', tools: ['pay'], approvals: { mode: 'never' }, defaultModel }).newSession();
    const run = await session.send('use pay');
    const asked = await run.result();
    assert.deepEqual([asked.status, asked.interactions?.map(({ kind }) => kind)], ['interrupted', ['unknown_outcome']]);
    await session.resolve(asked.interactions?.[0]?.id ?? '', { decision: 'retry' });
    for await (const event of session.events()) {
      if (event.type === 'tool_call_started' && event.data.attempt === 2) {
        break;
      }
    }
    end?.('paid');
    const result = await run.result();
    assert.match(result.text, /pay returned “paid”/);
    assert.equal(begun, 1);
  });

  test('a session that is deleted ends its streams with session_deleted, those that are open and those to come', async (t) => {
    const dir = directory(t);
    await using harness = await open(dir);
    const session = await harness.createAgent({ name: 'a', defaultModel }).newSession();
    const run = await session.send('hi');
    await run.result();
    const types: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { type } of session.events()) {
        types.push(type);
        if (type === 'turn_ended') {
          await session.delete();
        }
      }
    };
    assert.equal((await failure(read())).code, 'session_deleted');
    assert.equal(types.at(-1), 'session_deleted');
    for (const later of [session.events(), session.events({ after: 2 }), run.events()]) {
      assert.equal((await failure(later.next())).code, 'session_deleted');
    }
  });

  test('a handler that does not answer is not waited for when somebody else does, the turn is cancelled or the harness closed', async (t) => {
    const dir = directory(t);
    const harness = await open(dir);
    harness.registerTool({ name: 'pay', inputSchema: { type: 'object' }, execute: () => 'paid' });
    const agent = harness.createAgent({ name: 'a', tools: ['pay'], defaultModel });
    const ask = async () => {
      const session = await agent.newSession();
      let asked: ((told: { id: string; signal: AbortSignal }) => void) | undefined;
      const told = new Promise<{ id: string; signal: AbortSignal }>((resolve) => {
        asked = resolve;
      });
      const running = session.runWith('use pay', {
        onApproval: ({ id }, { signal }) => {
          asked?.({ id, signal });
          return new Promise(() => undefined);
        },
      });
      running.catch(() => undefined);
      return { session, running, ...(await told) };
    };
    const answered = await ask();
    await answered.session.resolve(answered.id, { decision: 'allow' });
    assert.match((await answered.running).text, /pay returned “paid”/);
    assert.equal(answered.signal.aborted, true);
    const cancelled = await ask();
    await cancelled.session.cancel();
    assert.equal((await cancelled.running).status, 'cancelled');
    const left = await ask();
    await harness.close();
    assert.equal((await failure(left.running)).code, 'closed');
    assert.equal(left.signal.aborted, true);
  });

  test('an output that is too long is cut once, with its whole length', async (t) => {
    await using harness = await open(directory(t));
    harness.registerTool({ name: 'read', inputSchema: { type: 'object' }, effect: 'readOnly', execute: () => 'ü'.repeat(400_000) });
    const session = await harness.createAgent({ name: 'a', tools: ['read'], approvals: { mode: 'never' }, defaultModel }).newSession();
    await session.run('use read');
    for await (const { type, output } of session.history()) {
      if (type === 'tool_result') {
        assert.match(output ?? '', /^ü+\n\[cut: the output had 800000 bytes, of which the first 255800 are shown\]$/);
      }
    }
  });

  test('files are what their bytes say: a text about GIF is a document', async (t) => {
    await using harness = await open(directory(t));
    const session = await harness.createAgent({ name: 'a', defaultModel }).newSession();
    const { text } = await session.run('Look.', [
      Attachment.fromBytes({ name: 'gif.txt', data: Buffer.from('GIF89a is a format') }),
      Attachment.fromBytes({ name: 'large.log', data: Buffer.alloc(300_000, 'x') }),
    ]);
    assert.match(text, /gif\.txt \(text\/plain, 18 bytes\), large\.log \(text\/plain, 300000 bytes\)/);
  });

  test('a harness, an agent and a session tell what is wrong by code', async (t) => {
    const dir = directory(t);
    await using harness = await open(dir);
    const agent = harness.createAgent({ name: 'a', defaultModel });
    const session = await agent.newSession();
    const { store } = session.reference();
    const codes = await Promise.all(
      [
        harness.createAgent({ name: 'a', instructions: 'other', defaultModel }).ready(),
        harness.createAgent({ name: 'b', defaultModel: { provider: 'Nobody', name: 'x' } }).ready(),
        harness.createAgent({ name: '-', defaultModel }).ready(),
        harness.createAgent({ name: 'c', defaultModel, limits: { maxModelCalls: 0 } }).ready(),
        harness.createAgent({ name: 'd', defaultModel, memory: { enabled: true } }).ready(),
        agent.resumeSession({ store, session: 'none', agent: 'a' }),
        agent.resumeSession({ store: 'other', session: session.id, agent: 'a' }),
        harness.resumeSession({ store, session: session.id, agent: 'z' }),
        harness.session('none'),
        session.openRun('none'),
        session.resolve('none', { decision: 'allow' }),
        session.run(''),
        session.run('x', [Attachment.fromBytes({ name: 'a.zip', data: Buffer.from('PK\x03\x04') })]),
        session.send('x', { instructionAddendum: 'x'.repeat(32_001) }),
        agent.newSession({ initialHistory: [{ type: 'assistant', text: 'x' }] }),
        agent.newSession({ workspace: path.join(dir, 'state') }),
        harness.setCredential('', 'x'),
      ].map(async (call) => (await failure(call)).code),
    );
    assert.deepEqual(codes, [
      'definition_conflict',
      'unknown_provider',
      'invalid_agent',
      'invalid_limits',
      'unsupported_option',
      'session_not_found',
      'foreign_store',
      'wrong_agent',
      'session_not_found',
      'run_not_found',
      'interaction_not_found',
      'invalid_request',
      'unsupported_media',
      'invalid_guidance',
      'invalid_history',
      'invalid_workspace',
      'invalid_request',
    ]);
  });

  test('lists tell of sessions, agents, open questions and use', async (t) => {
    await using harness = await open(directory(t));
    harness.registerTool({ name: 'ask', inputSchema: { type: 'object' }, execute: () => 'x' });
    const agent = harness.createAgent({ name: 'a', tools: ['ask'], defaultModel });
    const session = await agent.newSession({ metadata: { ticket: '7' }, owner: 'ann' });
    const { status, interactions = [], run } = await session.run('use ask');
    assert.equal(status, 'interrupted');
    for await (const info of harness.sessions({ owner: 'ann', before: new Date(Date.now() + 60_000) })) {
      assert.deepEqual([info.reference, info.metadata, info.activity], [session.reference(), { ticket: '7' }, 'waiting']);
    }
    for await (const { name, tools } of harness.agents()) {
      assert.deepEqual([name, tools?.map((tool) => tool.name)], ['a', ['ask']]);
    }
    const inbox: unknown[] = [];
    for await (const interaction of harness.interactions()) {
      inbox.push(interaction);
    }
    assert.deepEqual(inbox, interactions.map((interaction) => ({ session: session.id, ...interaction })));
    await session.resolve(interactions[0]?.id ?? '', { decision: 'deny', reason: 'not now', by: 'ann' });
    assert.equal((await (await session.openRun(run)).result()).status, 'completed');
    assert.deepEqual((await harness.usage({ since: new Date(0) })).map(({ agent: name, turns }) => [name, turns]), [['a', 1]]);
    await session.delete();
    assert.equal((await failure(session.state())).code, 'session_deleted');
  });
});
