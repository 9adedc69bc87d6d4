// The runtime is killed under this process, which lives on.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { type Agent, CancelledError, ClosedError, type EventStream, type Harness, RuntimeExitedError, type Session, type ToolContext } from '@openworkerai/harness-sdk';

import { actor, acts } from './actor.js';
import { Later, model, World } from './world.js';

const exited = (error: unknown): boolean => error instanceof RuntimeExitedError && error.code === 'runtime_exited';

/** A tool whose body ends when the test says so, and what it did. */
class Action {
  readonly effect: 'sideEffect' | 'idempotent' | 'readOnly';
  readonly contexts: ToolContext[] = [];
  readonly began = new Later();
  readonly ends = new Later<string>();
  done = 0;

  constructor(effect: Action['effect'] = 'sideEffect') {
    this.effect = effect;
  }

  agent(harness: Harness): Agent {
    return actor(harness, { effect: this.effect }, {
      execute: async (_input, context) => {
        this.contexts.push(context);
        this.began.resolve();
        const output = await this.ends.promise;
        this.done++;
        return output;
      },
    });
  }
}

/** What inspections of a session's calls said so far. */
async function inspections(session: Session): Promise<string[]> {
  const { lastEvent } = await session.state();
  const answers: string[] = [];
  for await (const event of session.events()) {
    if (event.type === 'tool_call_inspected') {
      answers.push(event.data.answer);
    }
    if (event.number === lastEvent) {
      break;
    }
  }
  return answers;
}

const waiter = (harness: Harness): Agent => harness.createAgent({ name: 'waiter', defaultModel: model });

suite('a runtime that is killed', { concurrency: true }, () => {
  test('fails all that waits and all that comes; the next one goes on with the turn', async (t) => {
    const world = await World.make(t, [{ user: 'wait', reply: { text: 'there', wait: 'gate' } }]);
    const harness = await world.open();
    const agent = waiter(harness);
    const [session, other] = await Promise.all([agent.newSession(), agent.newSession()]);
    const run = await session.send('wait');
    const began = new Later();
    const read = async (events: EventStream): Promise<void> => {
      for await (const event of events) {
        if (event.type === 'text_delta') {
          began.resolve();
        }
      }
    };
    const waits = [run.result(), run.resultWith({}), session.runWith('wait', { whenBusy: 'queue' }), other.run('wait'), read(run.events()), read(session.events())];
    const failures = Promise.all(waits.map((waiting) => assert.rejects(waiting, exited)));
    await began.promise;
    await world.model.arrived(2);
    world.killRuntime();
    await failures;
    assert.ok(exited(await harness.closed));
    const calls = [() => session.state(), () => session.run('more'), () => run.cancel(), () => agent.newSession(), () => harness.usage(), () => harness.createAgent({ name: 'b', defaultModel: model }).ready()];
    for (const call of calls) {
      await assert.rejects(call(), exited);
    }
    await harness.close(); // which never fails

    const next = await world.open();
    const found = await waiter(next).resumeSession(session.reference());
    await world.model.open('gate');
    const result = await (await found.openRun(run.id)).result();
    assert.deepEqual([result.status, result.text], ['completed', 'there']);
  });

  const endings = [
    { title: 'returns', end: (action: Action) => action.ends.resolve('the effect'), answer: /^the effect$/, done: 1 },
    { title: 'throws', end: (action: Action) => action.ends.reject(new Error('out of stock')), answer: /out of stock/, done: 0 },
  ];
  for (const { title, end, answer, done } of endings) {
    for (const when of ['behind the next start', 'before it'] as const) {
      test(`leaves a side effect running that ${title} ${when}: it is not begun again, and its outcome is what counts`, async (t) => {
        const world = await World.make(t, acts);
        const action = new Action();
        const harness = await world.open();
        const session = await action.agent(harness).newSession();
        const run = await session.send('act');
        await action.began.promise;
        world.killRuntime();
        await harness.closed;
        if (when === 'before it') {
          end(action);
          await action.ends.promise.catch(() => undefined);
        }
        const next = await world.open();
        const found = await action.agent(next).resumeSession(session.reference());
        if (when !== 'before it') {
          for await (const event of found.events()) {
            if (event.type === 'tool_call_inspected') {
              break;
            }
          }
          assert.equal(action.contexts[0]?.signal.aborted, false);
          end(action);
        }
        const result = await (await found.openRun(run.id)).result();
        assert.deepEqual([result.status, result.text], ['completed', 'acted']);
        assert.deepEqual([action.contexts.length, action.done], [1, done]);
        const [first, ...later] = await inspections(found);
        assert.equal(first, when === 'before it' ? (done === 1 ? 'succeeded' : 'failed') : 'running');
        assert.deepEqual(later, when === 'before it' ? [] : [...later.slice(1), done === 1 ? 'succeeded' : 'failed']);
        const told = (await world.model.requests()).at(-1)?.messages.at(-1);
        assert.equal(told?.role, 'tool');
        assert.match(told?.content ?? '', answer);
      });
    }
  }

  for (const effect of ['idempotent', 'readOnly'] as const) {
    test(`leaves a body running that is ${effect}: it is asked for again, and that joins the one that runs`, async (t) => {
      const world = await World.make(t, acts);
      const action = new Action(effect);
      const harness = await world.open();
      const session = await action.agent(harness).newSession();
      const run = await session.send('act');
      await action.began.promise;
      world.killRuntime();
      await harness.closed;
      const next = await world.open();
      const found = await action.agent(next).resumeSession(session.reference());
      for await (const event of found.events()) {
        if (event.type === 'tool_call_started' && event.data.attempt === 2) {
          break;
        }
      }
      action.ends.resolve('the effect');
      assert.equal((await (await found.openRun(run.id)).result()).text, 'acted');
      assert.deepEqual([action.contexts.length, action.done], [1, 1]);
    });
  }

  const stops = [
    { title: 'the turn is cancelled', stop: (session: Session) => session.cancel(), reason: CancelledError },
    { title: 'the harness is closed', stop: (_: Session, harness: Harness) => harness.close(), reason: ClosedError },
  ];
  for (const { title, stop, reason } of stops) {
    test(`is not what stops a body, but when ${title} its signal says so`, async (t) => {
      const world = await World.make(t, acts);
      const action = new Action();
      const harness = await world.open();
      const session = await action.agent(harness).newSession();
      await session.send('act');
      await action.began.promise;
      const signal = action.contexts[0]?.signal;
      assert.ok(signal !== undefined);
      const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      const stopping = stop(session, harness);
      await stopped;
      assert.ok(signal.reason instanceof reason, String(signal.reason));
      action.ends.resolve('stopped half way');
      await stopping;
    });
  }
});
