import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, afterEach, before, suite, test } from 'node:test';
import { Attachment, DefinitionConflictError, Harness, type Session, SubmissionConflictError } from '@openworkerai/harness-sdk';
import * as code from './code.js';
import { FakeProvider, type Part, type Seen } from './provider.js';

const conformance = path.resolve(import.meta.dirname, '../../../../spec/conformance/files');
const screen = path.join(conformance, 'photo.png');
const report = path.join(conformance, 'plain.pdf');
const model = { provider: 'OpenAI', name: 'fake-model' };

const sha256 = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex');

/** The parts of the newest message of the user. */
function partsOf(seen: Seen | undefined): readonly Part[] {
  const content = seen?.messages.findLast(({ role }) => role === 'user')?.content;
  assert.ok(Array.isArray(content), `the message has no parts: ${JSON.stringify(content)}`);
  return content as readonly Part[];
}

/** What a part is: its text, or the hash of its bytes. */
function told(part: Part | undefined): string {
  const data = part?.image_url?.url ?? part?.file?.file_data;
  return data === undefined ? (part?.text ?? '') : sha256(Buffer.from(data.slice(data.indexOf(',') + 1), 'base64'));
}

const textOf = (seen: Seen | undefined): string => JSON.stringify(seen?.messages);

suite('the code of the first texts', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'openworker-seeds-'));
  const provider = new FakeProvider();
  let harness: Harness;
  let base = '';

  const open = (): Promise<Harness> =>
    Harness.open({ stateDir: path.join(dir, 'state'), scratchDir: path.join(dir, 'scratch'), env: { OPENAI_BASE_URL: base }, credentials: { OpenAI: 'a key' } });
  const plain = (name: string): ReturnType<Harness['createAgent']> => harness.createAgent({ name, instructions: 'Help.', defaultModel: model });
  const newSession = (name: string): Promise<Session> => plain(name).newSession();

  before(async () => {
    base = await provider.listen();
    code.files.screen = screen;
    code.files.report = report;
    harness = await open();
  });
  afterEach(() => {
    provider.answer = () => ({ text: 'ok' });
    provider.take();
  });
  after(async () => {
    await harness.close();
    await provider.close();
    rmSync(dir, { recursive: true });
  });

  test('a session is found again by its reference behind a restart', async () => {
    const kept = JSON.stringify(await code.beforeARestart(plain('support')));
    await harness.close();
    harness = await open();
    const result = await code.afterIt(plain('support'), JSON.parse(kept) as Parameters<typeof code.afterIt>[1]);
    assert.equal(result.status, 'completed');
    assert.deepEqual(
      provider.seen.at(-1)?.messages.filter(({ role }) => role === 'user').map(({ content }) => content),
      ['Investigate this support request.', 'What should we do next?'],
    );
  });

  test('a turn has limits and an addendum of its own, and its ID makes it repeatable', async () => {
    const session = await newSession('limits');
    provider.answer = (request) => (request.messages.at(-1)?.role === 'tool' ? { text: 'done' } : { text: 'a name' });
    const run = await code.limitsOfATurn(session);
    assert.equal((await run.result()).text, 'a name');
    const again = await code.limitsOfATurn(session);
    assert.equal(again.id, run.id);
    assert.equal(again.repeated, true);
    const [first, ...more] = provider.take();
    assert.deepEqual(more, []);
    assert.match(textOf(first), /Prefer \.ai domains\. The application budget is \$40\./);
    assert.equal(first?.max_completion_tokens ?? first?.max_tokens, 24_000);
    await assert.rejects(session.send('Suggest names for my app.', { submissionId: 'naming-turn-42', instructionAddendum: 'Another.' }), SubmissionConflictError);
    await session.run('And now?');
    const [next] = provider.take();
    assert.doesNotMatch(textOf(next), /Prefer \.ai domains/);
    assert.equal(next?.max_completion_tokens ?? next?.max_tokens, 8_192);
  });

  test('guidance is given to a session and to a turn, and an empty text clears it', async () => {
    const session = await code.guidance(plain('guidance'));
    const cleared = await session.run('Continue.', { submissionId: 'cleared', autoApproverContext: '', compaction: { additionalInstructions: '' } });
    assert.equal(cleared.status, 'completed');
    // That it was sent as empty, and not left out, is what the same ID without it shows.
    await assert.rejects(session.run('Continue.', { submissionId: 'cleared' }), SubmissionConflictError);
    assert.doesNotMatch(provider.seen.map(textOf).join('\n'), /Staging workspace|migration checklist/);
  });

  test('a conversation is imported, and nothing of it is executed', async () => {
    let looked = 0;
    harness.registerTool({
      name: 'app.lookup',
      description: 'Looks up whether a name is free.',
      inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      effect: 'readOnly',
      execute: () => {
        looked++;
        return { available: true };
      },
    });
    const agent = code.namingAgent(harness);
    const session = await code.imported(agent);
    assert.equal((await session.run('And Borealis?')).text, 'ok');
    const [request] = provider.take();
    assert.equal(looked, 0);
    assert.deepEqual(request?.tools?.map((tool) => tool.function.name), ['app__lookup']);
    assert.deepEqual(
      request?.messages.slice(1).map(({ role, content, tool_calls: calls }) => [role, calls?.[0]?.function.name ?? content]),
      [
        ['user', 'Check Atlas.'],
        ['assistant', 'app__lookup'],
        ['tool', '{"available":false}'],
        ['assistant', 'Atlas is taken.'],
        ['user', 'And Borealis?'],
      ],
    );
    const changed = harness.createAgent({ name: 'naming', instructions: 'Another.', tools: ['app.lookup'], defaultModel: model });
    await assert.rejects(changed.ready(), DefinitionConflictError);
    // Registered once more as it is, it is the same agent.
    assert.deepEqual(await code.namingAgent(harness).ready(), await agent.ready());
  });

  test('files come behind the text, one or several, with their bytes as they are', async () => {
    const results = await code.filesBehindAMessage(await newSession('files'));
    assert.deepEqual(results.map(({ status }) => status), ['completed', 'completed']);
    const [both, one] = provider.take();
    assert.deepEqual(partsOf(both).map(told), ['Compare this screen with the report.', sha256(readFileSync(screen)), sha256(readFileSync(report))]);
    assert.deepEqual(partsOf(one).map(told), ['Explain this.', sha256(readFileSync(report))]);
  });

  test('text and files in one message keep their order', async () => {
    const session = await newSession('interleaved');
    const image = await Attachment.fromFile(screen);
    const document = code.bytesOfAnUpload(new Uint8Array(readFileSync(report)));
    const { run, result } = await code.interleaved(session, image, document);
    assert.equal(result.status, 'completed');
    assert.equal((await run.events().next()).done, true); // the loop had read them all
    const parts = partsOf(provider.take().at(-1)).map(told);
    assert.deepEqual(parts.slice(0, 4), ['Look at this screen.', sha256(readFileSync(screen)), 'Compare it with this report.', sha256(readFileSync(report))]);
    assert.match(parts[4] ?? '', /notes\.md[^]*The report covers the previous release\./);
    const again = await code.interleaved(session, image, document);
    assert.equal(again.run.id, run.id);
    assert.deepEqual(provider.take(), []);
  });

  test('an image may be base64, or a file of the session by its ID', async () => {
    const session = await newSession('base64');
    const data = readFileSync(screen);
    await code.imageWithBase64(session, data.toString('base64'));
    assert.deepEqual(partsOf(provider.take().at(-1)).map(told), [sha256(data)]);
    const { id } = await session.upload(await Attachment.fromFile(report));
    await session.run({ content: [{ type: 'text', text: 'Read it.' }, { type: 'document', name: 'report.pdf', source: { type: 'attachment', id } }] });
    assert.deepEqual(partsOf(provider.take().at(-1)).map(told), ['Read it.', sha256(readFileSync(report))]);
  });

  test('run, send, runWith and runStreamed take options alone, and files with options behind them', async () => {
    const session = await newSession('forms');
    const image = await Attachment.fromFile(screen);
    const document = await Attachment.fromFile(report);
    const options = { instructionAddendum: 'Be brief.' };
    await session.run('Explain this.', options);
    await session.run('Explain this.', [image, document], options);
    await (await session.send('Explain this.', image, options)).result();
    const seen: string[] = [];
    await session.runWith('Explain this.', [image], { ...options, onEvent: (event) => void seen.push(event.type) });
    await session.runWith({ content: [{ type: 'text', text: 'Explain this.' }, image] }, options);
    const streamed: string[] = [];
    const stream = await session.runStreamed('Explain this.', [image, document], options);
    for await (const event of stream) {
      streamed.push(event.type);
    }
    assert.equal((await stream.finish()).text, 'ok');
    for await (const event of session.runStreamed({ content: [image] }, options)) {
      streamed.push(event.type);
    }
    assert.equal(seen.at(-1), 'turn_ended');
    assert.equal(streamed.filter((type) => type === 'turn_ended').length, 2);
    const requests = provider.take();
    assert.equal(requests.length, 7);
    assert.ok(requests.every((request) => textOf(request).includes('Be brief.')));
    assert.deepEqual(
      requests.map((request) => {
        const content = request.messages.findLast(({ role }) => role === 'user')?.content;
        return typeof content === 'string' ? 0 : content?.length;
      }),
      [0, 3, 2, 2, 2, 3, 1],
    );
  });

  test('an approval that waits is in the state, and its answer lets the same run go on', async () => {
    let published = 0;
    harness.registerTool({ name: 'site.publish', description: 'Publishes the site.', inputSchema: { type: 'object' }, effect: 'sideEffect', execute: () => `published ${++published}` });
    provider.answer = (request) => (request.messages.at(-1)?.role === 'tool' ? { text: 'It is out.' } : { calls: [{ name: 'site__publish', arguments: {} }] });
    const agent = harness.createAgent({ name: 'publisher', tools: ['site.publish'], approvals: { mode: 'only', tools: ['site.publish'] }, defaultModel: model });
    const session = await agent.newSession();
    const interrupted = await session.run('Publish.');
    assert.equal(interrupted.status, 'interrupted');
    const [interaction] = (await session.state()).interactions ?? [];
    assert.equal(interaction?.kind, 'approval');
    const id = interaction?.id ?? '';
    await session.resolve(id, { decision: 'allow' });
    await session.resolve(id, { decision: 'allow' }); // the same answer again
    const run = await session.openRun(interrupted.run);
    assert.equal((await run.result()).text, 'It is out.');
    assert.equal(published, 1);
    const result = await session.runWith('Publish.', { onApproval: () => ({ decision: 'deny', reason: 'Not today.' }) });
    assert.equal(result.status, 'completed');
    assert.equal(published, 1);
  });
});
