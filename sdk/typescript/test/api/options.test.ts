import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { given, optionsOf } from '../../src/options.js';
import { nearest, suggestion } from '../../src/suggestion.js';
import { failure, FakeConnection, newSession, open } from './fake.js';

suite('options', () => {
  const refused: [what: string, options: unknown, message: RegExp][] = [
    ['a name that is misspelt', { instructionAdendum: 'x' }, /does not know "instructionAdendum"; did you mean "instructionAddendum"\?/],
    ['a name in another case', { submissionID: 'x' }, /did you mean "submissionId"\?/],
    ['a name that is like none', { colour: 'red' }, /does not know "colour"; it has submissionId, idempotencyKey/],
    ['a name that every object inherits', { toString: 'x' }, /does not know "toString"/],
    ['a limit that is misspelt', { limits: { maxModelCall: 3 } }, /limits of session\.send does not know "maxModelCall"; did you mean "maxModelCalls"\?/],
    ['a limit that is a text', { limits: { maxModelCalls: '3' } }, /maxModelCalls of limits of session\.send is a string; give a whole number/],
    ['a limit that is no number', { limits: { maxModelCalls: Number.NaN } }, /give a whole number/],
    ['null, which would read as clearing', { instructionAddendum: null }, /instructionAddendum of session\.send is null; give a string, or leave it out/],
    ['a word that is none', { whenBusy: 'wait' }, /whenBusy of session\.send is "wait"; give one of "reject", "queue", "interrupt"$/],
    ['a word that is misspelt', { whenBusy: 'queued' }, /whenBusy of session\.send is "queued"; did you mean "queue"\?$/],
    ['what is no word', { whenBusy: 1 }, /whenBusy of session\.send is a number; give one of "reject", "queue", "interrupt"$/],
    ['a signal that is misspelt', { sginal: undefined }, /did you mean "signal"\?$/],
    ['a handler', { onApproval: () => undefined }, /does not know "onApproval"; use runWith: /],
    ['what another library calls otherwise', { systemPrompt: 'x' }, /did you mean "instructionAddendum"\?$/],
    ['a list for an object', { model: [] }, /model of session\.send is a list; give an object/],
    ['guardrails that are no names', { guardrails: ['a', 1] }, /guardrails\[1\] of session\.send is a number; give a string/],
    ['guardrails that are no list', { guardrails: 'a' }, /guardrails of session\.send is a string; give a list of strings/],
    ['a text', 'fast', /the options of session\.send are a string; give an object, or leave them out/],
    ['null', null, /the options of session\.send are null/],
    ['what is no signal', { signal: {} }, /signal of session\.send is an object; give the signal of an AbortController/],
  ];
  for (const [what, options, message] of refused) {
    test(`refuse ${what}`, async () => {
      const connection = new FakeConnection();
      const session = await newSession(connection);
      const error = await failure(session.send('hi', options as never));
      assert.equal(error.name, 'InvalidRequestError');
      assert.match(error.message, message);
      assert.deepEqual(connection.of('turn/submit'), [], 'something was sent');
    });
  }

  test('leave out what is undefined, keep what is empty, and take the signal apart', () => {
    const { signal } = new AbortController();
    const taken = given('f', { submissionId: undefined, instructionAddendum: '', compaction: { additionalInstructions: '' }, signal }, optionsOf.turn);
    assert.deepEqual(taken, { options: { instructionAddendum: '', compaction: { additionalInstructions: '' } }, signal });
  });

  test('take a Date and a text for a time, and send it as one of UTC', () => {
    const times = [new Date(0), '1970-01-01T01:00:00+01:00'].map((before) => given('f', { before }, optionsOf.sessions).options);
    assert.deepEqual(times, [{ before: '1970-01-01T00:00:00.000Z' }, { before: '1970-01-01T00:00:00.000Z' }]);
  });

  test('refuse a time that is none', () => {
    assert.throws(() => given('f', { before: 'yesterday' }, optionsOf.sessions), /before of f is a string; give a Date/);
    assert.throws(() => given('f', { before: new Date(Number.NaN) }, optionsOf.sessions), /give a Date/);
  });

  test('name what takes no options but a signal', () => {
    assert.equal(suggestion('limit', ['signal']), '; it takes signal alone');
    assert.equal(suggestion('sginal', ['signal']), '; did you mean "signal"?');
  });

  const meant: [said: string, known: readonly string[], meant: string | undefined][] = [
    ['stateDirectory', ['credentials', 'stateDir'], 'stateDir'],
    ['StateDir', ['credentials', 'stateDir'], 'stateDir'],
    ['state_dir', ['credentials', 'stateDir'], 'stateDir'],
    ['model', ['name', 'defaultModel'], 'defaultModel'],
    ['model', ['provider', 'name'], 'name'],
    ['instructions', ['submissionId', 'instructionAddendum', 'guardrails'], undefined],
    ['timeout', ['name', 'timeoutMs'], 'timeoutMs'],
    ['parameters', ['name', 'inputSchema'], 'inputSchema'],
    ['mail__send', ['mail.read', 'mail.send'], 'mail.send'],
    ['ask', ['always', 'only', 'auto', 'never'], undefined],
    ['memory', ['name', 'effect'], undefined],
    ['constructor', ['name'], undefined],
  ];
  for (const [said, known, want] of meant) {
    test(`that have "${said}" for one of ${known.join(', ')} ${want === undefined ? 'mean nobody knows what' : `mean "${want}"`}`, () => {
      assert.equal(nearest(said, known), want);
    });
  }

  test('of runWith are its handlers too, so that a misspelt handler is told which one it is', async () => {
    const connection = new FakeConnection();
    const session = await newSession(connection);
    for (const [given_, message] of [
      [{ onApprove: () => undefined }, /session\.runWith does not know "onApprove"; did you mean "onApproval"\?$/],
      [{ onQuestions: () => undefined }, /did you mean "onQuestion"\?$/],
      [{ colour: 1 }, /it has onApproval, onQuestion, onUnknownOutcome, onEvent, submissionId, .*signal$/],
    ] as const) {
      const error = await failure(session.runWith('hi', given_ as never));
      assert.equal(error.code, 'invalid_request');
      assert.match(error.message, message);
    }
    assert.deepEqual(connection.of('turn/submit'), [], 'something was sent');
  });

  test('of an agent that the runtime does not offer are not named to who asks for another', async () => {
    const harness = await open(new FakeConnection());
    const of = (definition: object) => failure(harness.createAgent({ name: 'a', ...definition } as never).ready());
    const { message } = await of({ description: 'x' });
    assert.match(message, /createAgent does not know "description"; it has name, instructions, tools, approvals, /);
    assert.doesNotMatch(message, /memory|planning|scheduling|delegation|team|workspaceTools|sandbox|limits/);
    assert.match((await of({ model: 'x' })).message, /did you mean "defaultModel"\?$/);
    assert.match((await of({ systemPrompt: 'x' })).message, /did you mean "instructions"\?$/);
    assert.match((await of({ defaultModel: 'gpt' })).message, /defaultModel of createAgent is a string; give an object with provider, name$/);
  });

  test('of a tool that are an agent\'s are told where they belong', async () => {
    const harness = await open(new FakeConnection());
    const tool = { name: 'mail.send', inputSchema: { type: 'object' }, execute: () => 'sent' };
    assert.throws(() => harness.registerTool({ ...tool, needsApproval: true } as never), /does not know "needsApproval"; approvals are the agent's/);
    assert.throws(() => harness.registerTool({ ...tool, effect: 'readonly' } as never), /effect of tool "mail\.send" is "readonly"; did you mean "readOnly"\?$/);
    harness.registerTool(tool);
    const { message } = await failure(harness.createAgent({ name: 'a', tools: ['mail__send'] } as never).ready());
    assert.match(message, /has the tool "mail__send", which is not registered; did you mean "mail\.send"\?$/);
  });
});

suite('an option that the runtime does not have', () => {
  test('of a turn is refused before anything is sent', async () => {
    const connection = new FakeConnection();
    const session = await newSession(connection);
    const error = await failure(session.send('hi', { whenBusy: 'queue' }));
    assert.deepEqual([error.name, error.details], ['UnsupportedOptionError', { option: 'turn.whenBusy' }]);
    assert.match(error.message, /version 9\.9\.9/);
    assert.deepEqual(connection.of('turn/submit'), []);
  });

  test('of a session is refused before anything is sent', async () => {
    const connection = new FakeConnection();
    const harness = await open(connection);
    const agent = harness.createAgent({ name: 'a', defaultModel: { provider: 'Scripted', name: 'demo' } });
    const error = await failure(agent.newSession({ owner: 'ann' }));
    assert.deepEqual([error.name, error.details], ['UnsupportedOptionError', { option: 'session.owner' }]);
    assert.deepEqual(connection.of('session/create'), []);
  });

  for (const [definition, option] of [
    [{ approvals: { mode: 'never' } }, 'agent.approvals.never'],
    [{ builtinTools: { readHistory: true } }, 'agent.builtinTools.readHistory'],
    [{ memory: {} }, 'agent.memory'],
  ] as const) {
    test(`of an agent (${option}) is refused before anything is sent`, async () => {
      const connection = new FakeConnection();
      const harness = await open(connection);
      const agent = harness.createAgent({ name: 'a', defaultModel: { provider: 'Scripted', name: 'demo' }, ...definition });
      const error = await failure(agent.ready());
      assert.deepEqual([error.name, error.details], ['UnsupportedOptionError', { option }]);
      assert.deepEqual(connection.of('agent/register'), []);
    });
  }

  test('under its other name is the same option', async () => {
    const connection = new FakeConnection();
    const session = await newSession(connection);
    await session.send('hi', { idempotencyKey: 'k' });
    assert.deepEqual(connection.of('turn/submit'), [{ session: 's1', text: 'hi', options: { idempotencyKey: 'k' } }]);
  });
});
