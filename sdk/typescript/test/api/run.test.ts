import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { AlreadyResolvedError, InteractionNotFoundError, InvalidRequestError, SessionBusyError } from '../../src/generated/errors.js';
import type { Event, Interaction } from '../../src/generated/protocol.js';
import type { Session } from '../../src/session.js';
import { type Answers, failure, FakeConnection, newSession, untilAborted } from './fake.js';

const time = '2026-01-01T00:00:00Z';

function event(number: number, type = 'turn_started'): Event {
  return { number, type, time, run: 's1-r1' } as unknown as Event;
}

const delta = { type: 'text_delta', time, run: 's1-r1', data: { call: 1, attempt: 1, epoch: 1, from: 0, text: 'a' } } as const;

/** A runtime with events: each subscription gives those behind its number, `at` a time, and ends or waits. */
function journal(events: readonly Event[], { at = 2, waits = false }: { at?: number; waits?: boolean } = {}): Answers {
  const places = new Map<string, Event[]>();
  return {
    'event/subscribe': ({ after = 0 }) => {
      const subscription = `e${places.size + 1}`;
      places.set(subscription, events.filter(({ number }) => number === undefined || number > after));
      return { subscription };
    },
    'event/next': ({ subscription }, { signal }) => {
      const left = places.get(subscription) ?? [];
      const given = left.splice(0, at);
      return given.length === 0 && waits ? untilAborted(signal) : { events: given, end: left.length === 0 && !waits };
    },
  };
}

async function numbers(events: AsyncIterable<Event>): Promise<(number | undefined)[]> {
  const seen: (number | undefined)[] = [];
  for await (const { number } of events) {
    seen.push(number);
  }
  return seen;
}

/** Turns of the event loop, until something is so. */
async function until(met: () => boolean): Promise<void> {
  while (!met()) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

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

const approval: Interaction = { id: 'i1', kind: 'approval', run: 's1-r1', asked: time };
const question: Interaction = { id: 'i2', kind: 'question', run: 's1-r1', question: { text: 'Which?' }, asked: time };
const unknown: Interaction = { id: 'i3', kind: 'unknown_outcome', run: 's1-r1', asked: time };

/** A run that waits for interactions until each is resolved. */
function asking(open: Interaction[], resolve: (interaction: string) => void = () => undefined): Answers {
  let subscriptions = 0;
  return {
    'event/subscribe': () => ({ subscription: `e${++subscriptions}` }),
    'event/next': ({ subscription }) => ({ events: subscription === 'e1' ? [event(2, 'turn_accepted'), event(3, 'interaction_required')] : [event(9, 'turn_ended')], end: true }),
    'session/state': () => ({ interactions: [...open, { ...approval, id: 'of another run', run: 's1-r0' }] }),
    'interaction/resolve': ({ interaction }) => {
      open.splice(open.findIndex(({ id }) => id === interaction), 1);
      resolve(interaction);
    },
    'run/result': () => ({ run: 's1-r1', status: open.length > 0 ? 'interrupted' : 'completed', interactions: [...open], text: '', modelCalls: 1, auto_approved: 0, usage: {} }),
  };
}

function answers(connection: FakeConnection): unknown[] {
  return (connection.of('interaction/resolve') as { interaction: string; answer: unknown }[]).map(({ interaction, answer }) => [interaction, answer]);
}

suite('handlers', () => {
  test('answer each kind, one at a time, and the run goes to its end', async () => {
    const connection = new FakeConnection(asking([approval, question, unknown]));
    const types: string[] = [];
    const result = await (await newSession(connection)).runWith('hi', {
      onApproval: ({ id }) => ({ decision: 'allow', by: id }),
      onQuestion: async ({ question: asked }) => ({ decision: 'answered', answers: [asked.text] }),
      onUnknownOutcome: () => ({ decision: 'succeeded', output: '' }),
      onEvent: ({ type }) => types.push(type),
      submissionId: 'x',
    });
    assert.equal(result.status, 'completed');
    assert.deepEqual(answers(connection), [['i1', { decision: 'allow', by: 'i1' }], ['i2', { decision: 'answered', answers: ['Which?'] }], ['i3', { decision: 'succeeded', output: '' }]]);
    assert.deepEqual(types.slice(0, 2), ['turn_accepted', 'interaction_required']);
    assert.deepEqual(connection.of('turn/submit'), [{ session: 's1', text: 'hi', options: { submissionId: 'x' } }]);
  });

  test('are asked once for what they leave open, and the run is left waiting for it', async () => {
    const connection = new FakeConnection(asking([approval, question]));
    let asked = 0;
    const result = await (await newSession(connection)).runWith('hi', { onApproval: () => void asked++, onQuestion: () => ({ decision: 'skipped' }) });
    assert.deepEqual([result.status, result.interactions?.map(({ id }) => id), asked], ['interrupted', ['i1'], 1]);
    assert.deepEqual(answers(connection), [['i2', { decision: 'skipped' }]]);
  });

  for (const [who, error] of [['somebody else', new AlreadyResolvedError('resolved')], ["the turn's end", new InteractionNotFoundError('gone')]] as const) {
    test(`are content with what ${who} came before them with`, async () => {
      const connection = new FakeConnection(
        asking([approval], () => {
          throw error;
        }),
      );
      const result = await (await newSession(connection)).runWith('hi', { onApproval: () => ({ decision: 'deny', reason: 'no' }) });
      assert.equal(result.status, 'completed');
    });
  }

  test('that throw end the call, and resolve nothing', async () => {
    const connection = new FakeConnection(asking([approval]));
    const error = await failure(
      (await newSession(connection)).runWith('hi', {
        onApproval: () => {
          throw new RangeError('nobody is there');
        },
      }),
    );
    assert.deepEqual([error.name, error.message], ['RangeError', 'nobody is there']);
    assert.deepEqual(answers(connection), []);
  });

  test('whose answer the runtime refuses end the call with what it says', async () => {
    const connection = new FakeConnection(
      asking([approval], () => {
        throw new InvalidRequestError('that does not fit');
      }),
    );
    assert.equal((await failure((await newSession(connection)).runWith('hi', { onApproval: () => ({ decision: 'skipped' }) }))).message, 'that does not fit');
  });

  const refused: [what: string, call: (session: Session) => Promise<unknown>, message: RegExp][] = [
    ['no handlers', (session) => session.runWith('hi', undefined as never), /the handlers of session\.runWith are undefined/],
    ['a handler that is none', (session) => session.runWith('hi', { onApproval: true as never }), /onApproval of session\.runWith is a boolean; give a function/],
    ['a handler that is misspelt', (session) => session.runWith('hi', { onApprove: () => undefined } as never), /does not know "onApprove"/],
    ['an answer that is a word', (session) => session.resolve('i1', 'allow' as never), /the answer of session\.resolve is a string; give one as in \{ decision: 'allow' \}/],
    ['an answer without a decision', (session) => session.resolve('i1', { by: 'me' } as never), /has no decision/],
    ['an answer with a field that is misspelt', (session) => session.resolve('i1', { decision: 'deny', reasons: 'x' } as never), /did you mean "reason"\?/],
    ['an interaction for its ID', (session) => session.resolve(approval as never, { decision: 'allow' }), /was given an object for an interaction; give its ID/],
  ];
  for (const [what, call, message] of refused) {
    test(`are refused where they are ${what}`, async () => {
      const connection = new FakeConnection();
      const error = await failure(call(await newSession(connection)));
      assert.equal(error.code, 'invalid_request');
      assert.match(error.message, message);
      assert.deepEqual([...connection.of('turn/submit'), ...connection.of('interaction/resolve')], []);
    });
  }
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
