// What the first texts say about options beside their code, against a model that is strict about what it is sent.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { type AgentDefinition, Attachment, type Harness, type Input, SubmissionConflictError, type TurnOptions } from '@openworkerai/harness-sdk';

import type { Seen } from '../recovery/model.js';
import { model, World } from '../recovery/world.js';
import * as code from './code.js';

const calls = { calls: [{ name: 'app__act' }] };

/** An agent whose tool counts how often it ran. */
function acting(harness: Harness, definition: Partial<AgentDefinition> = {}): { agent: ReturnType<Harness['createAgent']>; ran: () => number } {
  let ran = 0;
  harness.registerTool({ name: 'app.act', inputSchema: { type: 'object' }, effect: 'sideEffect', execute: () => `${++ran}` });
  return { agent: harness.createAgent({ name: 'actor', tools: ['app.act'], approvals: { mode: 'never' }, defaultModel: model, ...definition }), ran: () => ran };
}

const file = (name: string, text: string): Attachment => Attachment.fromBytes({ name, data: Buffer.from(text) });

/** Which of the words are in a request. */
const wordsIn = (request: Seen | undefined, words: readonly string[]): string[] => words.filter((word) => JSON.stringify(request?.messages).includes(word));

/** Guidance of three scopes, and the one that is in force for the turn, and for the next one. */
const scopes: readonly { title: string; session?: string; turn?: string; first: string[]; next: string[] }[] = [
  { title: 'the agent where nothing narrower is said', first: ['ofAgent'], next: ['ofAgent'] },
  { title: 'the session instead of the agent', session: 'ofSession', first: ['ofSession'], next: ['ofSession'] },
  { title: 'the turn, and of the session in the next one', session: 'ofSession', turn: 'ofTurn', first: ['ofTurn'], next: ['ofSession'] },
  { title: 'nobody where the session clears it', session: '', first: [], next: [] },
  { title: 'nobody where the turn clears it, and of the agent in the next one', turn: '', first: [], next: ['ofAgent'] },
];
const guidance = ['ofAgent', 'ofSession', 'ofTurn'];

suite('options', { concurrency: true }, () => {
  test('an addendum goes with each call and each try of its turn, and with none of the next', async (t) => {
    const world = await World.make(t, [
      { user: 'act', round: 0, replies: [{ status: 500 }, calls] },
      { user: 'act', round: 1, reply: { text: 'acted' } },
      { user: 'and now', reply: { text: 'nothing' } },
    ]);
    const session = await acting(await world.open()).agent.newSession();
    assert.equal((await session.run('act', { instructionAddendum: 'theAddendum' })).text, 'acted');
    await session.run('and now');
    const requests = await world.model.requests();
    assert.deepEqual(requests.map((request) => wordsIn(request, ['theAddendum']).length), [1, 1, 1, 0]);
  });

  for (const { title, session: ofSession, turn: ofTurn, ...want } of scopes) {
    test(`the reviewer gets the guidance of ${title}`, async (t) => {
      const world = await World.make(t, [
        { model: 'reviewer', reply: { text: '{"verdict":"allow","reason":"fine"}' } },
        { round: 0, reply: calls },
        { round: 1, reply: { text: 'acted' } },
      ]);
      const { agent } = acting(await world.open(), {
        approvals: { mode: 'auto', reviewerModel: { provider: 'OpenAI', name: 'reviewer' } },
        autoApproverContext: 'ofAgent',
      });
      const session = await agent.newSession({ autoApproverContext: ofSession });
      await session.run('act', { autoApproverContext: ofTurn });
      await session.run('act again');
      const [first, next] = (await world.model.requests()).filter((request) => request.model === 'reviewer');
      assert.deepEqual([wordsIn(first, guidance), wordsIn(next, guidance)], [want.first, want.next]);
    });

    test(`a compaction gets the guidance of ${title}`, async (t) => {
      const world = await World.make(t, [{ reply: { text: 'as it is' } }]);
      const harness = await world.open();
      const agent = harness.createAgent({ name: 'talker', defaultModel: model, compaction: { additionalInstructions: 'ofAgent' } });
      const session = await agent.newSession(ofSession === undefined ? {} : { compaction: { additionalInstructions: ofSession } });
      const compacted = async (options?: TurnOptions): Promise<Seen | undefined> => {
        for (let i = 0; i < 4; i++) { // the newest are not summarised
          await session.run('Say something.');
        }
        assert.equal((await session.compact(options)).status, 'completed');
        return (await world.model.requests()).at(-1);
      };
      const first = await compacted(ofTurn === undefined ? {} : { compaction: { additionalInstructions: ofTurn } });
      const next = await compacted();
      assert.deepEqual([wordsIn(first, guidance), wordsIn(next, guidance)], [want.first, want.next]);
    });
  }

  const builtins: readonly { title: string; definition: Pick<AgentDefinition, 'builtinTools'>; withTool: string[]; without: string[] }[] = [
    { title: 'not spoken of', definition: {}, withTool: ['app__act', 'ask_user', 'read_history'], without: [] },
    { title: 'false', definition: { builtinTools: { askUser: false, readHistory: false } }, withTool: ['app__act'], without: [] },
    { title: 'true', definition: { builtinTools: { askUser: true, readHistory: true } }, withTool: ['app__act', 'ask_user', 'read_history'], without: ['ask_user', 'read_history'] },
    { title: 'false in part', definition: { builtinTools: { readHistory: false } }, withTool: ['app__act', 'ask_user'], without: [] },
  ];
  for (const { title, definition, withTool, without } of builtins) {
    test(`built-in tools are there or not: ${title}`, async (t) => {
      const world = await World.make(t, [{ reply: { text: 'ok' } }]);
      const harness = await world.open();
      await (await acting(harness, definition).agent.newSession()).run('hello');
      await (await harness.createAgent({ name: 'talker', defaultModel: model, ...definition }).newSession()).run('hello');
      assert.deepEqual((await world.model.requests()).map(({ tools = [] }) => tools.toSorted()), [withTool, without]);
    });
  }

  const modes: readonly { approvals: AgentDefinition['approvals']; status: string }[] = [
    { approvals: undefined, status: 'interrupted' },
    { approvals: { mode: 'always' }, status: 'interrupted' },
    { approvals: { mode: 'only', tools: ['app.act'] }, status: 'interrupted' },
    { approvals: { mode: 'only', tools: ['app.other'] }, status: 'completed' },
    { approvals: { mode: 'never' }, status: 'completed' },
  ];
  for (const { approvals, status } of modes) {
    test(`approvals of ${JSON.stringify(approvals ?? 'the default')} leave a call ${status}`, async (t) => {
      const world = await World.make(t, [
        { round: 0, reply: calls },
        { round: 1, reply: { text: 'acted' } },
      ]);
      const harness = await world.open();
      harness.registerTool({ name: 'app.other', inputSchema: { type: 'object' }, execute: () => '' });
      const { agent, ran } = acting(harness, { approvals, tools: ['app.act', 'app.other'] });
      const session = await agent.newSession();
      assert.equal((await session.run('act')).status, status);
      assert.equal(ran(), status === 'completed' ? 1 : 0);
    });
  }

  test('a submission ID is one turn with one message, and refuses anything else', async (t) => {
    const world = await World.make(t, [{ reply: { text: 'read' } }]);
    const session = await (await world.open()).createAgent({ name: 'reader', defaultModel: model }).newSession();
    const [one, two] = [file('one.txt', 'first'), file('two.txt', 'second')];
    const text = { type: 'text' as const, text: 'Read them.' };
    const options = { submissionId: 'one', instructionAddendum: 'Be brief.', limits: { maxModelCalls: 3 }, autoApproverContext: 'a', compaction: { additionalInstructions: 'b' } };
    const run = await session.send({ content: [text, one, two] }, options);
    assert.equal(run.repeated, false);
    assert.equal((await run.result()).status, 'completed');
    const changed: readonly [what: string, input: Input, options: TurnOptions][] = [
      ['the text', { content: [{ ...text, text: 'Read.' }, one, two] }, options],
      ['the order', { content: [text, two, one] }, options],
      ['a label', { content: [text, file('eins.txt', 'first'), two] }, options],
      ['the bytes', { content: [text, file('one.txt', 'First'), two] }, options],
      ['one file less', { content: [text, one] }, options],
      ['the addendum', { content: [text, one, two] }, { ...options, instructionAddendum: 'Be long.' }],
      ['no addendum', { content: [text, one, two] }, { ...options, instructionAddendum: undefined }],
      ['a limit', { content: [text, one, two] }, { ...options, limits: { maxModelCalls: 4 } }],
      ['the reviewer’s context', { content: [text, one, two] }, { ...options, autoApproverContext: '' }],
      ['the guidance for compactions', { content: [text, one, two] }, { ...options, compaction: { additionalInstructions: '' } }],
    ];
    for (const [what, input, given] of changed) {
      await assert.rejects(session.send(input, given), SubmissionConflictError, what);
    }
    const again = await session.send('Read them.', [one, two], options);
    assert.deepEqual([again.id, again.repeated], [run.id, true]);
    const byKey = await code.sentByKey(session, { content: [text, one] });
    const once = await session.send({ content: [text, one] }, { submissionId: 'review-42' });
    assert.deepEqual([once.id, once.repeated], [byKey.id, true]);
    await byKey.result();
    assert.equal((await world.model.requests()).length, 2);
  });
});
