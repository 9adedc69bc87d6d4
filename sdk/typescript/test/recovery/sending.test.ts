// Sending is cut off: by the signal of who sends, or since the runtime is killed.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { suite, test } from 'node:test';

import { type Agent, Attachment, CancelledError, type Harness, Run, RuntimeExitedError, type Session } from '@openworkerai/harness-sdk';

import { openTapped } from './tapped.js';
import { model, World } from './world.js';

const plain = (harness: Harness): Agent => harness.createAgent({ name: 'plain', defaultModel: model });

/** A PDF of 8 MiB: 32 chunks of 256 KiB. */
const report = Buffer.alloc(8 << 20, '% padding\n');
report.write('%PDF-1.7\n');
const table = report.length - 96; // behind which there are 96 bytes
report.write(`\nxref\n0 1\n0000000000 65535 f \ntrailer\n<</Size 1>>\nstartxref\n${table}\n%%EOF`.padEnd(97), table - 1);
const large = Attachment.fromBytes({ name: 'report.pdf', data: report });

/** Chunks that were sent, and what is done when one is on its way. */
class Chunks {
  sent: number[] = [];
  at: (index: number) => void = () => undefined;

  readonly watch = (method: string, params: unknown): void => {
    if (method === 'upload/chunk') {
      const { index } = (params as { chunk: { index: number } }).chunk;
      this.sent.push(index);
      this.at(index);
    }
  };
}

async function runsOf(session: Session): Promise<number> {
  let runs = 0;
  const { lastEvent } = await session.state();
  for await (const event of session.events()) {
    runs += event.type === 'turn_accepted' ? 1 : 0;
    if (event.number === lastEvent) {
      break;
    }
  }
  return runs;
}

const sendOne = (on: Session, signal?: AbortSignal): Promise<Run> => on.send('Read it.', large, { submissionId: 'one', signal });

/** Whether waiting was given up by our signal. */
const stopped = (error: unknown): boolean => error instanceof CancelledError && error.cause === 'enough';

const upFrom = (first: number, end: number): number[] => Array.from({ length: end - first }, (_, i) => first + i);

suite('sending that is cut off', { concurrency: true }, () => {
  test('goes on with an attachment of 8 MiB where it stopped: given up first, then the runtime killed, it is one turn with the bytes as they are', async (t) => {
    const world = await World.make(t, [{ user: 'Read it.', reply: { text: 'read' } }]);
    const open = async (chunks: Chunks): Promise<Harness> => {
      const harness = await openTapped(world.place, chunks.watch);
      t.after(() => harness.close());
      return harness;
    };
    const chunks = new Chunks();
    const harness = await open(chunks);
    const session = await plain(harness).newSession();

    const abort = new AbortController();
    chunks.at = (index) => {
      if (index === 10) {
        abort.abort('enough');
      }
    };
    await assert.rejects(sendOne(session, abort.signal), stopped);
    assert.deepEqual(chunks.sent, upFrom(0, 11));
    assert.deepEqual([(await session.state()).activity, await runsOf(session)], ['idle', 0]);

    chunks.sent = [];
    chunks.at = (index) => {
      if (index === 20) {
        world.killRuntime();
      }
    };
    await assert.rejects(sendOne(session), RuntimeExitedError);
    // What was on its way when it was stopped may have come through, and may not.
    assert.ok([10, 11].includes(chunks.sent[0] ?? -1), `it began again at ${chunks.sent[0]}`);
    assert.deepEqual(chunks.sent, upFrom(chunks.sent[0] ?? 0, 21));

    const rest = new Chunks();
    const next = await open(rest);
    const found = await plain(next).resumeSession(session.reference());
    assert.equal(await runsOf(found), 0);
    const run = await sendOne(found);
    assert.ok([20, 21].includes(rest.sent[0] ?? -1), `it began again at ${rest.sent[0]}`);
    assert.deepEqual(rest.sent, upFrom(rest.sent[0] ?? 0, 32));
    assert.equal((await run.result()).text, 'read');

    // Once more, it is the turn of then, and nothing is sent.
    rest.sent = [];
    const again = await sendOne(found);
    assert.deepEqual([again.id, again.repeated, rest.sent], [run.id, true, []]);
    assert.equal(await runsOf(found), 1);
    const stored: (string | undefined)[] = [];
    for await (const item of found.history()) {
      stored.push(...(item.content ?? []).flatMap((block) => (block.type !== 'text' && block.source.type === 'attachment' ? [block.source.sha256] : [])));
    }
    assert.deepEqual(stored, [createHash('sha256').update(report).digest('hex')]);
    const requests = await world.model.requests();
    assert.deepEqual(
      requests.map(({ messages }) => messages.at(-1)?.parts),
      [[{ mediaType: 'application/pdf', name: 'report.pdf', size: 8 << 20 }]],
    );
  });

  for (const count of [0, 1, 2]) {
    test(`comes to one run by the submission ID, when the runtime was killed with the message on its way (${count} requests later)`, async (t) => {
      const world = await World.make(t, [{ user: 'once', reply: { text: 'done' } }]);
      const harness = await openTapped(world.place, (method) => {
        if (method !== 'turn/submit') {
          return;
        }
        // Between sending and the answer: at once, or when the runtime has answered what was asked behind it.
        let later = Promise.resolve<unknown>(undefined);
        for (let i = 0; i < count; i++) {
          later = later.then(() => harness.usage());
        }
        void later.then(() => world.killRuntime());
      });
      t.after(() => harness.close());
      const session = await plain(harness).newSession();
      const lost: unknown = await session.send('once', { submissionId: 'one' }).catch((error: unknown) => error);
      assert.ok(lost instanceof Run || lost instanceof RuntimeExitedError);
      await harness.closed;
      const next = await world.open();
      const found = await plain(next).resumeSession(session.reference());
      const [one, other] = await Promise.all([found.send('once', { submissionId: 'one' }), found.send('once', { submissionId: 'one' })]);
      assert.equal(one.id, other.id);
      assert.ok(!(lost instanceof Run) || lost.id === one.id);
      assert.equal((await one.result()).text, 'done');
      assert.equal(await runsOf(found), 1);
    });
  }

  test('submits nothing where the signal ended before', async (t) => {
    const world = await World.make(t, []);
    const session = await plain(await world.open()).newSession();
    const signal = AbortSignal.abort('no');
    const given = { signal };
    for (const send of [() => session.run('x', given), () => session.send('x', given), () => session.runWith('x', given), () => session.runStreamed('x', given), () => session.send('x', large, given)]) {
      await assert.rejects(send, (error) => error instanceof CancelledError && error.cause === 'no');
    }
    assert.equal(await runsOf(session), 0);
  });
});

suite('waiting that is given up', { concurrency: true }, () => {
  test('leaves the turn going, whichever call waited', async (t) => {
    const world = await World.make(t, [{ user: 'wait', reply: { text: 'there', wait: 'gate' } }]);
    const session = await plain(await world.open()).newSession();
    const abort = new AbortController();
    const { signal } = abort;
    const run = await session.send('wait', { signal });
    const told = session.run('wait', { whenBusy: 'queue', signal }); // which was accepted, and waits for its turn
    const read = async (): Promise<void> => {
      for await (const event of run.events({ signal })) {
        assert.notEqual(event.type, 'turn_ended');
      }
    };
    const waits = [run.result({ signal }), run.resultWith({}, { signal }), read()];
    await world.model.arrived(1);
    let queue: string[] | undefined;
    for await (const event of session.events()) {
      if (event.type === 'turn_accepted') {
        ({ queue } = await session.state());
        if (queue !== undefined) {
          break;
        }
      }
    }
    abort.abort('enough');
    await Promise.all(waits.map((waiting) => assert.rejects(waiting, stopped)));
    await assert.rejects(told, (error) => stopped(error) && (error as CancelledError).details['run'] === queue?.[0]);
    assert.equal((await session.state()).activity, 'running');
    await world.model.open('gate');
    assert.equal((await run.result()).text, 'there');
    assert.equal((await (await session.openRun(queue?.[0] ?? '')).result()).text, 'there');
  });

  test('goes on reading where it was left: no event is missed, and none comes twice', async (t) => {
    const world = await World.make(t, [
      { user: 'act', round: 0, reply: { calls: [{ name: 'app__act' }] } },
      { user: 'act', round: 1, reply: { text: 'acted' } },
    ]);
    const subscriptions = new Set<string>();
    const harness = await openTapped(world.place, (method) => {
      if (method.startsWith('event/')) {
        subscriptions.add(method);
      }
    });
    t.after(() => harness.close());
    harness.registerTool({ name: 'app.act', inputSchema: { type: 'object' }, execute: () => 'done' });
    const session = await harness.createAgent({ name: 'actor', tools: ['app.act'], approvals: { mode: 'never' }, defaultModel: model }).newSession();
    const run = await session.send('act');
    const parts: (number | undefined)[][] = [];
    for (let over = false; !over; ) {
      const part: (number | undefined)[] = [];
      over = true;
      for await (const event of run.events()) {
        if (event.number !== undefined) {
          part.push(event.number);
          over = event.type === 'turn_ended';
          break;
        }
      }
      parts.push(part);
    }
    assert.ok(parts.length > 5, `${parts.length} events`);
    const { lastEvent } = await session.state();
    assert.deepEqual(parts.flat(), upFrom(run.accepted, lastEvent + 1));
    assert.ok(subscriptions.has('event/unsubscribe'));
  });
});
