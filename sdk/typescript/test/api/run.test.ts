import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { suite, test } from 'node:test';

import { SessionBusyError } from '../../src/generated/errors.js';
import { EventStream } from '../../src/stream.js';
import { FakeRuntime } from '../rpc/fake-runtime.js';
import { failure, FakeConnection, newSession } from './fake.js';
import { delta, event, journal, numbers, until, untilLater } from './journal.js';

suite("a run's events", () => {
  test('begin with its turn_accepted and come in order, with what is live between them', async () => {
    const connection = new FakeConnection(journal([event(1), event(2), delta, event(3)]));
    const run = await (await newSession(connection)).send('hi');
    assert.deepEqual(await numbers(run.events()), [2, undefined, 3]);
    assert.deepEqual(connection.of('event/subscribe'), [{ session: 's1', run: 's1-r1', after: 1 }]);
    assert.deepEqual(connection.of('event/unsubscribe'), [], 'what has ended needs no unsubscribing');
  });

  test('unsubscribe when the loop is left, and go on behind the last one that was given', async () => {
    const connection = new FakeConnection(journal([event(2), event(3), event(4), event(5)], { at: 3 }));
    const run = await (await newSession(connection)).send('hi');
    for await (const { number } of run.events()) {
      if (number === 3) {
        break;
      }
    }
    assert.deepEqual(connection.of('event/unsubscribe'), [{ subscription: 'e1' }]);
    assert.deepEqual(await numbers(run.events()), [4, 5]);
  });

  test('are not asked for before the first is wanted', async () => {
    const connection = new FakeConnection(journal([event(2)]));
    const run = await (await newSession(connection)).send('hi');
    const events = run.events();
    await events.return();
    assert.deepEqual(await events.next(), { done: true, value: undefined });
    assert.deepEqual(connection.of('event/subscribe'), []);
  });

  test('end for a reader that waits when somebody ends them', async () => {
    const connection = new FakeConnection(journal([], { waits: true }));
    const run = await (await newSession(connection)).send('hi');
    const events = run.events();
    const waiting = events.next();
    await until(() => connection.of('event/next').length === 1);
    await events.return();
    assert.deepEqual(await waiting, { done: true, value: undefined });
    assert.deepEqual(connection.of('event/unsubscribe'), [{ subscription: 'e1' }]);
  });

  test('are given once each, in order, to a reader that asks for several at once', async () => {
    const connection = new FakeConnection(journal([event(2), event(3), event(4)], { at: 1 }));
    const run = await (await newSession(connection)).send('hi');
    const events = run.events();
    const given = await Promise.all([events.next(), events.next(), events.next(), events.next()]);
    assert.deepEqual(given.map(({ value }) => value?.number), [2, 3, 4, undefined]);
  });

  test('fail with the reason of the signal that ends, and unsubscribe', async () => {
    const connection = new FakeConnection(journal([event(2)], { waits: true }));
    const run = await (await newSession(connection)).send('hi');
    const abort = new AbortController();
    const reason = new Error('enough');
    const reading = numbers(run.events({ signal: abort.signal }));
    await until(() => connection.of('event/next').length === 2);
    abort.abort(reason);
    const error = await failure(reading);
    assert.deepEqual([error.code, error.cause], ['cancelled', reason]);
    assert.deepEqual(connection.of('event/unsubscribe'), [{ subscription: 'e1' }]);
  });

  test('do not begin for a signal that had ended', async () => {
    const connection = new FakeConnection(journal([event(2)]));
    const run = await (await newSession(connection)).send('hi');
    assert.equal((await failure(numbers(run.events({ signal: AbortSignal.abort() })))).code, 'cancelled');
  });

  test('end with the session value that they were asked of', async () => {
    const connection = new FakeConnection(journal([event(1)], { waits: true }));
    const session = await newSession(connection);
    const reading = numbers(session.events({ after: 0 }));
    await until(() => connection.of('event/next').length === 2);
    await session.close();
    assert.deepEqual(await reading, [1]);
    assert.deepEqual(connection.of('event/subscribe'), [{ session: 's1', after: 0 }]);
  });
});

suite('streams of events', () => {
  test('of one signal, however many, have one listener on it, and none when they are over', async () => {
    const runtime = new FakeRuntime();
    const warned: string[] = [];
    const note = ({ message }: Error): void => void warned.push(message);
    process.on('warning', note);
    runtime.serve(({ method }) => (method === 'event/subscribe' ? { subscription: 's' } : { events: [event(1)], end: true }));
    const { signal } = new AbortController();
    const streams = Array.from({ length: 30 }, () => new EventStream({ connection: runtime.peer, signal, query: () => ({ session: 's1' }) }));
    const first = Promise.all(streams.map((stream) => stream.next()));
    assert.ok(getEventListeners(signal, 'abort').length <= 1);
    await first;
    assert.deepEqual(getEventListeners(signal, 'abort'), []);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', note);
    assert.deepEqual(warned, []);
  });

  test('that nobody reads hold nothing, and those that were dropped let go of the runtime, and go on when they are wanted', async () => {
    const connection = new FakeConnection(journal([event(1), event(2), event(3)], { at: 2, waits: true }));
    const holds: boolean[] = [];
    const stream = new EventStream({ connection, signal: undefined, query: () => ({ session: 's1' }), onHold: (held) => holds.push(held), idleMs: 1 });
    assert.deepEqual([connection.sent.length - connection.of('initialize').length, holds], [0, []]);
    assert.equal((await stream.next()).value?.number, 1);
    assert.deepEqual(holds, [true]);
    await untilLater(() => connection.of('event/unsubscribe').length === 1);
    assert.deepEqual(holds, [true, false]);
    assert.deepEqual([(await stream.next()).value?.number, (await stream.next()).value?.number], [2, 3]);
    assert.deepEqual(connection.of('event/subscribe'), [{ session: 's1' }, { session: 's1', after: 2 }]);
    await untilLater(() => connection.of('event/unsubscribe').length === 2);
    assert.equal(holds.at(-1), false);
  });

  test('are not let go of while somebody waits for an event', async () => {
    let come: ((batch: unknown) => void) | undefined;
    const connection = new FakeConnection({
      'event/subscribe': () => ({ subscription: 'e1' }),
      'event/next': () => (connection.of('event/next').length === 1 ? { events: [event(1)] } : new Promise((resolve) => {
        come = resolve;
      })),
    });
    const stream = new EventStream({ connection, signal: undefined, query: () => ({ session: 's1' }), idleMs: 1 });
    await stream.next();
    const waiting = stream.next();
    await new Promise((resolve) => setTimeout(resolve, 5)); // the minute, which is a millisecond here
    come?.({ events: [event(2)] });
    assert.equal((await waiting).value?.number, 2);
    assert.deepEqual([connection.of('event/subscribe').length, connection.of('event/unsubscribe')], [1, []]);
    await stream.return();
  });

  test('of a session value that was closed end, also those that were not begun', async () => {
    const connection = new FakeConnection(journal([event(1)], { waits: true }));
    const session = await newSession(connection);
    const stream = session.events();
    await session.close();
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
    assert.deepEqual(connection.of('event/subscribe'), []);
  });

  test('whose signal has ended give nothing any more, also of what had come', async () => {
    const connection = new FakeConnection(journal([event(1), event(2)], { waits: true }));
    const abort = new AbortController();
    const stream = (await newSession(connection)).events({ signal: abort.signal });
    await stream.next();
    abort.abort();
    assert.equal((await failure(stream.next())).code, 'cancelled');
    assert.deepEqual(connection.of('event/unsubscribe'), [{ subscription: 'e1' }]);
  });
});

suite('a streamed run', () => {
  test('can be ranged over at once, and finished', async () => {
    const connection = new FakeConnection(journal([event(2), event(3)]));
    const stream = (await newSession(connection)).runStreamed('hi');
    assert.deepEqual(await numbers(stream), [2, 3]);
    assert.equal((await stream.finish()).text, 'done');
    assert.equal(connection.of('turn/submit').length, 1);
  });

  test('can be awaited: then its run is known before an event is read', async () => {
    const connection = new FakeConnection(journal([event(2), event(3)]));
    const stream = await (await newSession(connection)).runStreamed('hi');
    assert.equal(stream.run.id, 's1-r1');
    assert.equal((await stream.finish()).status, 'completed');
    assert.deepEqual(await numbers(stream), [2, 3]);
  });

  test('unsubscribes when its loop is left', async () => {
    const connection = new FakeConnection(journal([event(2), event(3)], { at: 1 }));
    for await (const { number } of (await newSession(connection)).runStreamed('hi')) {
      assert.equal(number, 2);
      break;
    }
    assert.deepEqual(connection.of('event/unsubscribe'), [{ subscription: 'e1' }]);
  });

  test('that was refused says so to whoever looks, and ends no program where nobody does', async () => {
    const found: unknown[] = [];
    const note = (reason: unknown): void => void found.push(reason);
    process.on('unhandledRejection', note);
    const session = await newSession(
      new FakeConnection({
        'turn/submit': () => {
          throw new SessionBusyError('busy');
        },
      }),
    );
    const stream = session.runStreamed('hi');
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    assert.deepEqual(found, []);
    for (const look of [numbers(stream), stream.finish(), stream]) {
      assert.equal((await failure(look as Promise<unknown>)).code, 'session_busy');
    }
  });
});

suite('what is read by pages', () => {
  test('is iterated over to its end, page by page as it is wanted', async () => {
    const connection = new FakeConnection({
      'history/list': ({ cursor = '' }) => (cursor === '' ? { items: [{ text: 'a' }, { text: 'b' }], next: 'c2' } : { items: [{ text: 'c' }] }),
    });
    const session = await newSession(connection);
    for await (const { text } of session.history()) {
      assert.equal(text, 'a');
      break;
    }
    assert.equal(connection.of('history/list').length, 1);
    const texts: unknown[] = [];
    for await (const { text } of session.history()) {
      texts.push(text);
    }
    assert.deepEqual(texts, ['a', 'b', 'c']);
    assert.deepEqual(connection.of('history/list').at(-1), { session: 's1', cursor: 'c2' });
  });
});
