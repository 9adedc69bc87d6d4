import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { AlreadyResolvedError, InteractionNotFoundError, InvalidRequestError } from '../../src/generated/errors.js';
import type { Event } from '../../src/generated/protocol.js';
import type { Session } from '../../src/session.js';
import { failure, FakeConnection, newSession, untilAborted } from './fake.js';
import { answers, approval, asking, event, question, unknown, until } from './journal.js';

/** A run that asks, whose handler does not answer; `happen` is called when it waits, with what ends the session's events. */
async function hanging(happen: (say: (one: Event) => void, connection: FakeConnection) => void, options: { signal?: AbortSignal } = {}) {
  const open = [approval];
  let say: ((one: Event) => void) | undefined;
  const said = new Promise<Event>((resolve) => {
    say = (one) => {
      open.length = 0;
      resolve(one);
    };
  });
  let watched = 0;
  const base = asking(open);
  const connection = new FakeConnection({
    ...base,
    'event/subscribe': ({ run, after }) => ({ subscription: run === undefined ? 'watch' : after === 1 ? 'e1' : 'e2' }),
    'event/next': ({ subscription }, { signal }) => {
      if (subscription === 'e1') {
        return { events: [event(2, 'turn_accepted'), event(3, 'interaction_required')] };
      }
      if (subscription === 'e2') {
        return { events: [event(9, 'turn_ended')], end: true };
      }
      watched++;
      return Promise.race([untilAborted(signal), said.then((one) => ({ events: [one] }))]);
    },
  });
  let told: AbortSignal | undefined;
  let late: ((error: Error) => void) | undefined;
  const running = (await newSession(connection)).runWith('hi', {
    ...options,
    onApproval: (_, { signal }) => {
      told = signal;
      return new Promise((_resolve, reject) => {
        late = reject;
      });
    },
  });
  running.catch(() => undefined);
  await until(() => watched === 1);
  assert.equal(told?.aborted, false);
  happen((one) => say?.(one), connection);
  return { connection, running, told, late };
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

  for (const [what, closing] of [
    ['somebody else answers', { ...event(4, 'interaction_resolved'), data: { id: 'i1', decision: 'deny' } } as Event],
    ['the turn is cancelled', event(4, 'turn_ended')],
  ] as const) {
    test(`that do not answer are not waited for when ${what}, and what they come to then is dropped`, async () => {
      const { connection, running, told, late } = await hanging((say) => say(closing));
      assert.equal((await running).status, 'completed');
      assert.deepEqual([told.aborted, (told.reason as { code?: unknown }).code], [true, 'cancelled']);
      late?.(new Error('nobody hears this'));
      await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(answers(connection), []);
      assert.deepEqual(connection.of('event/unsubscribe'), [{ subscription: 'e1' }, { subscription: 'watch' }]);
    });
  }

  test('that do not answer are not waited for when the signal ends, and what they come to then is dropped', async () => {
    const abort = new AbortController();
    const reason = new Error('enough');
    const { running, told, late } = await hanging(() => abort.abort(reason), { signal: abort.signal });
    const error = await failure(running);
    assert.deepEqual([error.code, error.cause, error.details, told.aborted], ['cancelled', reason, { run: 's1-r1' }, true]);
    late?.(new Error('nobody hears this'));
    await new Promise((resolve) => setImmediate(resolve));
  });

  test('that do not answer are not waited for when the harness is closed', async () => {
    const { running, told } = await hanging((_, connection) => void connection.close());
    assert.equal((await failure(running)).code, 'closed');
    assert.equal((told.reason as { code?: unknown }).code, 'closed');
  });

  test('that take an event for ever do not hold up what ends the call', async () => {
    const abort = new AbortController();
    const connection = new FakeConnection(asking([]));
    let given = 0;
    const running = (await newSession(connection)).runWith('hi', {
      signal: abort.signal,
      onEvent: () => {
        given++;
        return new Promise(() => undefined);
      },
    });
    running.catch(() => undefined);
    await until(() => given === 1);
    abort.abort();
    assert.equal((await failure(running)).code, 'cancelled');
    assert.deepEqual(connection.of('event/unsubscribe'), []);
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
