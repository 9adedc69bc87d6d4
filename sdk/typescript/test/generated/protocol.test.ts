// What the generated types let through and what they refuse: the compiler is the test, so most of it needs no run.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';

import { bounds, protocolVersion } from '../../src/generated/protocol.js';
import type * as wire from '../../src/generated/protocol.js';

/** Fails to compile unless the two types are the same. */
function same<A, B>(are: [A] extends [B] ? ([B] extends [A] ? true : false) : false): void {
  assert.ok(are);
}

/** What a user of events writes: the type of an event gives the type of its data. */
function told(event: wire.Event): string {
  if (event.type === 'turn_ended') {
    same<typeof event.data, wire.TurnEnded>(true);
    same<typeof event.number, number>(true);
    return event.data.status;
  }
  if (event.type === 'text_delta') {
    same<typeof event.number, undefined>(true);
    return event.data.text;
  }
  if (event.type === 'interaction_required') {
    return event.data.kind === 'question' ? event.data.question.text : (event.data.call?.name ?? '');
  }
  if (event.type === 'turn_started') {
    same<typeof event.data, undefined>(true);
    return 'started';
  }
  return event.type;
}

function asked(interaction: wire.Interaction): string {
  if (interaction.kind === 'question') {
    return interaction.question.text;
  }
  // @ts-expect-error only a question has one
  return String(interaction.question);
}

suite('the types of the protocol', () => {
  test('the type of an event gives its data, and one of a later version is passed through', () => {
    const time = '2026-01-31T12:00:00Z';
    assert.equal(told({ type: 'turn_started', number: 2, time }), 'started');
    assert.equal(told({ type: 'text_delta', time, data: { call: 1, attempt: 1, epoch: 1, from: 0, text: 'Hel' } }), 'Hel');
    assert.equal(told(JSON.parse(`{"type":"never_heard_of","number":3,"time":"${time}"}`) as wire.Event), 'never_heard_of');
  });

  test('the kind of an interaction gives what is asked', () => {
    const question: wire.Interaction = { id: 'i', kind: 'question', run: 'r', asked: '2026-01-31T12:00:00Z', question: { text: 'Which?' } };
    assert.equal(asked(question), 'Which?');
    const listed: wire.SessionInteraction = { ...question, session: 's' };
    assert.equal(asked(listed), 'Which?');
  });

  test('an answer has what belongs to its decision and nothing else', () => {
    const answers: wire.Answer[] = [
      { decision: 'allow' },
      { decision: 'allow', arguments: { name: 'Atlas' }, by: undefined },
      { decision: 'allow_session', by: 'ann' },
      { decision: 'deny', reason: 'not today' },
      { decision: 'answered', answers: ['blue'] },
      // @ts-expect-error a refusal has no output
      { decision: 'deny', output: 'x' },
      // @ts-expect-error an answer to a question has answers
      { decision: 'answered' },
      // @ts-expect-error nobody answers so
      { decision: 'cancelled' },
    ];
    assert.equal(answers.length, 8);
  });

  test('content and imported conversations are written as literals', () => {
    const content = [
      { type: 'text' as const, text: 'Look at this.' },
      { type: 'document' as const, name: 'notes.md', source: { type: 'text' as const, mediaType: 'text/plain' as const, data: 'The release before.' } },
      { type: 'image' as const, name: 'screen.png', source: { type: 'attachment' as const, id: 'att_1' } },
    ];
    const submission: wire.Methods['turn/submit']['params'] = { session: 's', content, options: undefined };
    const history: wire.HistoryImport[] = [
      { type: 'user', text: 'Check Atlas.' },
      { type: 'tool_call', callId: 'c', name: 'app__lookup', arguments: { name: 'Atlas' } },
      { type: 'tool_result', callId: 'c', output: '' },
      // @ts-expect-error a result has an output
      { type: 'tool_result', callId: 'c' },
      // @ts-expect-error an address is no source
      { type: 'document', name: 'a.pdf', source: { type: 'url', url: 'https://example.com' } },
    ];
    assert.equal(submission.content?.length, 3);
    assert.equal(history.length, 5);
  });

  test('values of a later version are taken where they may come, and only there', () => {
    const code: wire.Code = 'never_heard_of';
    // @ts-expect-error the states of a session are fixed
    const activity: wire.Activity = 'resting';
    assert.notEqual(code, activity);
  });

  test('the requests and the notifications of each side are those of the schema', () => {
    const schema = JSON.parse(readFileSync(path.resolve(import.meta.dirname, '../../../../spec/rpc.json'), 'utf8')) as {
      readonly protocolVersion: number;
      readonly bounds: readonly { readonly name: string; readonly value: number }[];
      readonly methods: readonly { readonly name: string; readonly caller: string; readonly notification?: boolean }[];
    };
    same<wire.Methods['run/result'], { params: wire.RunID; result: wire.Result }>(true);
    same<wire.Callbacks['tool/run'], { params: wire.ToolCall; result: wire.ToolOutput }>(true);
    same<keyof wire.Notifications, 'rpc/cancel' | 'rpc/part'>(true);
    same<keyof wire.CallbackNotifications, 'callback/cancel' | 'rpc/part'>(true);
    assert.deepEqual(
      schema.methods.filter((method) => method.notification === true).map((method) => `${method.caller} ${method.name}`),
      ['client rpc/cancel', 'runtime callback/cancel', 'both rpc/part'],
    );
    assert.equal(protocolVersion, schema.protocolVersion);
    assert.deepEqual({ ...bounds }, Object.fromEntries(schema.bounds.map(({ name, value }) => [name, value])));
  });
});
