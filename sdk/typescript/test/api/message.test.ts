import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { Attachment } from '../../src/attachment.js';
import type { Files, Input } from '../../src/content.js';
import type { TurnOptions } from '../../src/session.js';
import { failure, FakeConnection, newSession } from './fake.js';

const one = Attachment.fromBytes({ name: 'one.txt', mediaType: 'text/plain', data: Buffer.from('1') });
const png = Attachment.fromBytes({ name: 'two', data: Buffer.from('\x89PNG\r\n\x1a\n…', 'latin1') });
const oneBlock = { type: 'document', name: 'one.txt', source: { type: 'base64', data: 'MQ==', mediaType: 'text/plain' } };
const pngBlock = { type: 'image', name: 'two', source: { type: 'base64', data: Buffer.from(png.data).toString('base64') } };
const text = (said: string): { type: 'text'; text: string } => ({ type: 'text', text: said });
const options = { submissionId: 'x' };

type Form = [input: Input, second?: Files | TurnOptions | undefined, third?: TurnOptions];

/** Any of the calls that take a message, as a caller without types may call it. */
type Send = (...form: unknown[]) => Promise<unknown>;

/** A file written out in its block. */
function file(type: 'text' | 'base64', data: string): object {
  return { type: 'document', name: 'n', source: { type, data } };
}

suite('a message', () => {
  const forms: [what: string, form: Form, sent: object][] = [
    ['a text', ['hi'], { text: 'hi', options: {} }],
    ['a text with options', ['hi', options], { text: 'hi', options }],
    ['a text, no files and options', ['hi', undefined, options], { text: 'hi', options }],
    ['a text and an empty list of files', ['hi', [], options], { text: 'hi', options }],
    ['a text and an attachment', ['hi', one], { content: [text('hi'), oneBlock], options: {} }],
    ['a text, several attachments and options', ['hi', [one, png], options], { content: [text('hi'), oneBlock, pngBlock], options }],
    ['an attachment behind an empty text', ['', one], { content: [oneBlock], options: {} }],
    ['a block behind a text', ['hi', { type: 'document', name: 'n', source: { type: 'text', data: 'd' } }], { content: [text('hi'), { type: 'document', name: 'n', source: { type: 'text', data: 'd' } }], options: {} }],
    ['content in its order', [{ content: [text('a'), png, text('b'), one] }, options], { content: [text('a'), pngBlock, text('b'), oneBlock], options }],
    ['content with a file of the session', [{ content: [{ type: 'image', name: 'i', source: { type: 'attachment', id: 'a1' } }] }], { content: [{ type: 'image', name: 'i', source: { type: 'attachment', id: 'a1' } }], options: {} }],
  ];
  for (const [what, form, sent] of forms) {
    for (const [call, method] of [['send', 'turn/submit'], ['run', 'turn/run'], ['runStreamed', 'turn/submit'], ['runWith', 'turn/submit']] as const) {
      test(`of ${what} is sent by ${call}`, async () => {
        const connection = new FakeConnection({ 'event/subscribe': () => ({ subscription: 'e1' }), 'event/next': () => ({ events: [], end: true }) });
        const session = await newSession(connection);
        const handlers = call === 'runWith' && !form.includes(options) ? [{}] : []; // which runWith needs, as its options
        await (session[call].bind(session) as Send)(...form, ...handlers);
        assert.deepEqual(connection.of(method), [{ session: 's1', ...sent }]);
      });
    }
  }

  const many = Array.from({ length: 33 }, () => one);
  const large = Attachment.fromBytes({ name: 'l', data: new Uint8Array(8 << 20).fill(65) });
  const refused: [what: string, form: unknown[], message: RegExp][] = [
    ['undefined', [], /the message of session\.send is undefined; give a text, or \{ content/],
    ['null', [null], /the message of session\.send is null/],
    ['a list', [[one]], /the message of session\.send is a list/],
    ['a text in an object', [{ text: 'hi' }], /is an object; give a text, or \{ content/],
    ['content with something beside it', [{ content: [one], files: [] }], /does not know "files"/],
    ['content that is a text', [{ content: 'hi' }], /content of the message of session\.send is a string/],
    ['content without blocks', [{ content: [] }], /the content has 0 blocks/],
    ['content and files', [{ content: [text('a')] }, [one]], /put the files into the content/],
    ['a file that was not awaited', ['hi', Promise.resolve(one)], /a promise, which is to be awaited first/],
    ['a list with a file that was not awaited', ['hi', [Promise.resolve(one)]], /block 1 of the message is a promise, which is to be awaited first/],
    ['bytes for a file', ['hi', [Buffer.from('x')]], /block 1 of the message is bytes; give Attachment\.fromBytes/],
    ['a path for a file', ['hi', ['./a.png']], /block 1 of the message is a string; .*a path belongs to Attachment\.fromFile/],
    ['a Map for options', ['hi', new Map()], /the options of session\.send are a value of Map/],
    ['options in two places', ['hi', {}, options], /was given an object for files/],
    ['an address', [{ content: [{ type: 'image', name: 'i', url: 'https://x' }] }], /block 1 of the message does not know "url"; it has type, text, name, source/],
    ['a source of bytes', [{ content: [{ type: 'image', name: 'i', source: { type: 'base64', data: Buffer.from('x') } }] }], /data of source of block 1 of the message is .*; give a string/],
    ['33 blocks', [{ content: many }], /the content has 33 blocks; a message has 1 to 32/],
    ['32 files behind a text', ['hi', many.slice(1)], /the content has 33 blocks/],
    ['a text of more than 256,000 bytes', ['ü'.repeat(128_001)], /the text of session\.send has 256002 bytes; one has at most 256000\. Send a longer one as a text file/],
    ['a text that JSON could not even write', ['\x01'.repeat(200_000_000)], /the text of session\.send has 200000000 bytes/],
    ['a text that JSON could not even write, with a list of no files', ['\x01'.repeat(200_000_000), []], /the text of session\.send has 200000000 bytes/],
    ['a file written out that JSON could not even write', [{ content: [{ type: 'document', name: 'd', source: { type: 'text', data: '\x01'.repeat(200_000_000) } }] }], /data of source of block 1 of the message has 200000000 characters/],
    ['a name that JSON could not even write', [{ content: [{ type: 'document', name: '\x01'.repeat(200_000_000), source: { type: 'text', data: '1' } }] }], /name of block 1 of the message has 200000000 characters/],
    ['an addendum that JSON could not even write', ['hi', { instructionAddendum: '\x01'.repeat(200_000_000) }], /instructionAddendum of session\.send has 200000000 characters/],
    ['a text block without its text', [{ content: [{ type: 'text' }] }], /text of block 1 of the message is undefined; give a string/],
    ['texts of more than 32,000 bytes', ['ü'.repeat(16_001), one], /the text blocks have 32002 bytes together/],
  ];
  for (const [what, form, message] of refused) {
    test(`is refused where it is ${what}`, async () => {
      const connection = new FakeConnection();
      const session = await newSession(connection);
      const error = await failure((session.send.bind(session) as Send)(...form));
      assert.equal(error.name, 'InvalidRequestError');
      assert.match(error.message, message);
      assert.deepEqual(connection.sent.filter((sent) => sent.method !== 'initialize' && !/register|create/.test(sent.method)), []);
    });
  }

  test('with more than 16 MiB of files is refused before any of them is uploaded', async () => {
    const connection = new FakeConnection();
    const session = await newSession(connection);
    const error = await failure(session.send('hi', [large, large, one]));
    assert.deepEqual([error.name, error.details], ['AttachmentTooLargeError', { rule: 'message_files_bytes', value: '16777217', limit: '16777216' }]);
    assert.deepEqual(connection.of('upload/begin'), []);
  });

  test('with more than 16 MiB of files written out is refused by what they have, whatever they are written in', async () => {
    const session = await newSession(new FakeConnection());
    const most = file('base64', Buffer.alloc(8 << 20).toString('base64'));
    for (const last of [file('text', 'é'), file('base64', 'MTI='), Attachment.fromBytes({ name: 'n', data: Buffer.from('12') })]) {
      const error = await failure((session.send.bind(session) as Send)({ content: [most, most, last] }));
      assert.deepEqual([error.name, error.details], ['AttachmentTooLargeError', { rule: 'message_files_bytes', value: '16777218', limit: '16777216' }]);
    }
    await (session.send.bind(session) as Send)({ content: [most, most, { type: 'document', name: 'n', source: { type: 'attachment', id: 'a1' } }] });
  });

  test('with files is not sent to a runtime that would drop them', async () => {
    const connection = new FakeConnection({ initialize: () => ({ runtime: { name: 'old', version: '1' }, capabilities: { version: '1', store: 'st', options: [], providers: [] } }) });
    const session = await newSession(connection);
    const error = await failure(session.send('hi', one));
    assert.deepEqual([error.name, error.details], ['UnsupportedOptionError', { option: 'submission.content' }]);
  });
});
