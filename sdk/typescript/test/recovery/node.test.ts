// The process of the application is killed, with its runtime or so that its runtime ends by itself. This process is the next one.
import assert from 'node:assert/strict';
import { suite, test, type TestContext } from 'node:test';

import type { Agent, Answer, Harness, Inspection, Run, Session, ToolContext } from '@openworkerai/harness-sdk';

import { actor, acts, type Role } from './actor.js';
import type { Rule } from './model.js';
import type { Said } from './worker.js';
import { type Child, Later, World } from './world.js';

/** What the next process has of a turn that was cut off. */
interface Next {
  readonly world: World;
  readonly callId: string;
  readonly session: Session;
  readonly run: Run;
  readonly ran: ToolContext[];
  readonly inspected: ToolContext[];
}

/** Both processes at once, or the application's alone: its runtime then ends by itself. */
type Killed = 'both' | 'the application';

async function kill(world: World, child: Child, killed: Killed): Promise<void> {
  if (killed === 'both') {
    world.killRuntime();
  }
  await child.kill();
}

async function cutOff(t: TestContext, role: Role, killed: Killed, inspect?: (context: ToolContext, times: number) => Inspection): Promise<Next> {
  const world = await World.make(t, acts);
  const child = world.start('worker.ts', { role, text: 'act' });
  const said = [await child.says<Said>(), await child.says<Said>()]; // the body may begin before it is known that the turn is accepted
  await kill(world, child, killed);
  const { session: id, run: runId, began: callId } = Object.assign({}, ...said) as { session: string; run: string; began: string };

  const ran: ToolContext[] = [];
  const inspected: ToolContext[] = [];
  const harness = await world.open();
  const agent: Agent = actor(harness, role, {
    execute: (_input, context) => {
      ran.push(context);
      return 'done now';
    },
    ...(inspect && {
      inspect: (context) => {
        inspected.push(context);
        return inspect(context, inspected.length);
      },
    }),
  });
  await agent.ready();
  const session = await harness.session(id);
  return { world, callId, session, run: await session.openRun(runId), ran, inspected };
}

/** What the model was told of the call. */
async function told(next: Next): Promise<string> {
  const last = (await next.world.model.requests()).at(-1)?.messages.at(-1);
  assert.equal(last?.role, 'tool');
  return last.content ?? '';
}

const attempts = (contexts: readonly ToolContext[]): (readonly [string, number])[] => contexts.map(({ callId, attempt }) => [callId, attempt]);

suite('a process of an application that is killed while a body runs', { concurrency: 4 }, () => {
  const inspections: readonly { says: string; inspect: (context: ToolContext, times: number) => Inspection; inspected: number; ran: number; told: RegExp }[] = [
    { says: 'succeeded', inspect: () => ({ outcome: 'succeeded', output: 'done before' }), inspected: 1, ran: 0, told: /^done before$/ },
    { says: 'failed', inspect: () => ({ outcome: 'failed', output: 'out of stock' }), inspected: 1, ran: 0, told: /out of stock/ },
    { says: 'not_started', inspect: () => ({ outcome: 'not_started' }), inspected: 1, ran: 1, told: /^done now$/ },
    {
      says: 'running, and then succeeded',
      inspect: (_, times) => (times === 1 ? { outcome: 'running' } : { outcome: 'succeeded', output: 'done before' }),
      inspected: 2,
      ran: 0,
      told: /^done before$/,
    },
    {
      says: 'nothing, as it throws, and then succeeded',
      inspect: (_, times) => {
        if (times === 1) {
          throw new Error('no network');
        }
        return { outcome: 'succeeded', output: 'done before' };
      },
      inspected: 2,
      ran: 0,
      told: /^done before$/,
    },
  ];
  for (const killed of ['both', 'the application'] as const) {
    // How the processes ended shows in whether it is asked, and not in what becomes of its answer: one of the answers will do.
    for (const { says, inspect, ...want } of killed === 'both' ? inspections : inspections.slice(0, 1)) {
      test(`(${killed}) has its tool's inspect asked by the next one; it says ${says}`, async (t) => {
        const next = await cutOff(t, {}, killed, inspect);
        const result = await next.run.result();
        assert.deepEqual([result.status, result.text], ['completed', 'acted']);
        assert.deepEqual([next.inspected.length, next.ran.length], [want.inspected, want.ran]);
        assert.ok(next.inspected.every(({ callId, session }) => callId === next.callId && session.session === next.session.id));
        assert.deepEqual(attempts(next.ran), want.ran === 0 ? [] : [[next.callId, 2]]);
        assert.match(await told(next), want.told);
      });
    }
  }

  const answers: readonly { answer: Answer; ran: number; told: RegExp }[] = [
    { answer: { decision: 'succeeded', output: 'seen by a person' }, ran: 0, told: /seen by a person/ },
    { answer: { decision: 'failed', reason: 'not there' }, ran: 0, told: /not there/ },
    { answer: { decision: 'retry' }, ran: 1, told: /^done now$/ },
  ];
  for (const { title, inspect } of [{ title: 'whose inspect does not know' as const, inspect: (): Inspection => ({ outcome: 'unknown' }) }, { title: 'without inspect' as const, inspect: undefined }]) {
    for (const { answer, ...want } of answers) {
      test(`has a person asked about a tool ${title}; the answer is ${answer.decision}`, async (t) => {
        const next = await cutOff(t, {}, 'both', inspect);
        const waiting = await next.run.result();
        assert.equal(waiting.status, 'interrupted');
        const [interaction] = (await next.session.state()).interactions ?? [];
        assert.equal(interaction?.kind, 'unknown_outcome');
        assert.equal(interaction.call?.call_id, next.callId);
        assert.equal((await next.session.state()).unknownActions?.length, 1);
        assert.equal(next.ran.length, 0);
        await next.session.resolve(interaction.id, answer);
        assert.equal((await next.run.result()).text, 'acted');
        assert.deepEqual(attempts(next.ran), want.ran === 0 ? [] : [[next.callId, 2]]);
        assert.match(await told(next), want.told);
        assert.equal((await next.session.state()).unknownActions, undefined);
      });
    }
    test(`has the model told about a tool ${title}, where the agent says so`, async (t) => {
      const next = await cutOff(t, { unknownOutcome: 'tell_model' }, 'both', inspect);
      assert.equal((await next.run.result()).text, 'acted');
      assert.equal(next.ran.length, 0);
      assert.match(await told(next), /unknown/i);
    });
  }

  for (const effect of ['readOnly', 'idempotent'] as const) {
    test(`has the body run again under the same call ID where it is ${effect}, and asks nobody`, async (t) => {
      const next = await cutOff(t, { effect }, 'both', () => ({ outcome: 'unknown' }));
      assert.equal((await next.run.result()).text, 'acted');
      assert.deepEqual(attempts(next.ran), [[next.callId, 2]]);
      assert.deepEqual(next.inspected, []);
      assert.match(await told(next), /^done now$/);
    });
  }
});

suite('what waits for a person', { concurrency: 4 }, () => {
  const asks: readonly { kind: string; role: Role; rules: readonly Rule[]; answer: Answer; told: RegExp }[] = [
    {
      kind: 'approval',
      role: { approvals: { mode: 'always' } },
      rules: acts,
      answer: { decision: 'allow' },
      told: /^done now$/,
    },
    {
      kind: 'question',
      role: {},
      rules: [
        { user: 'act', round: 0, reply: { calls: [{ name: 'ask_user', arguments: { question: 'Which colour?' } }] } },
        { user: 'act', round: 1, reply: { text: 'acted' } },
      ],
      answer: { decision: 'answered', answers: ['red'] },
      told: /red/,
    },
  ];
  for (const { kind, role, rules, answer, ...want } of asks) {
    for (const killed of ['both', 'the application', 'the runtime'] as const) {
      test(`outlives that ${killed} ${killed === 'both' ? 'are' : 'is'} killed: the ${kind} is answered behind it`, async (t) => {
        const world = await World.make(t, rules);
        let id: string;
        let runId: string;
        const ran = new Later();
        const register = (harness: Harness): Agent =>
          actor(harness, role, {
            execute: () => {
              ran.resolve();
              return 'done now';
            },
          });
        if (killed === 'the runtime') {
          const harness = await world.open();
          const session = await register(harness).newSession();
          const waiting = await session.run('act');
          assert.equal(waiting.status, 'interrupted');
          [id, runId] = [session.id, waiting.run];
          world.killRuntime();
          await harness.closed;
        } else {
          const child = world.start('worker.ts', { role, text: 'act' });
          ({ session: id, run: runId } = await child.says<{ session: string; run: string }>());
          assert.deepEqual(await child.says(), { status: 'interrupted' });
          await kill(world, child, killed);
        }
        const harness = await world.open();
        await register(harness).ready();
        const session = await harness.session(id);
        const [interaction, ...more] = (await session.state()).interactions ?? [];
        assert.equal(interaction?.kind, kind);
        assert.deepEqual(more, []);
        const run = await session.openRun(runId);
        assert.equal((await run.result()).status, 'interrupted');
        await session.resolve(interaction.id, answer);
        assert.equal((await run.result()).text, 'acted');
        const last = (await world.model.requests()).at(-1)?.messages.at(-1);
        assert.match(last?.content ?? '', want.told);
        if (kind === 'approval') {
          await ran.promise;
        }
      });
    }
  }
});
