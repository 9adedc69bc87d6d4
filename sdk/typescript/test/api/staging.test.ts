import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { suite, test } from 'node:test';

import { Attachment } from '../../src/attachment.js';
import { AttachmentNotFoundError } from '../../src/generated/errors.js';
import { type Answers, failure, FakeConnection, newSession, untilAborted } from './fake.js';

const chunk = 256 << 10;
const bytes = Buffer.from(Array.from({ length: 2 * chunk + 1 }, (_, i) => 97 + (i % 23)));
const large = Attachment.fromBytes({ name: 'large.txt', data: bytes });
const sum = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex');

const stored = { id: 'a1', name: 'first.txt', mediaType: 'text/plain', size: bytes.length, sha256: sum(bytes), state: 'committed' };

/** A session without the file. */
const empty: Answers = { 'upload/begin': () => ({ ...stored, mediaType: undefined, state: 'open', missing: [0, 1, 2] }), 'upload/commit': () => stored };

const submitted = { session: 's1', content: [{ type: 'text', text: 'hi' }, { type: 'document', name: 'large.txt', source: { type: 'attachment', id: 'a1' } }], options: {} };

function methods(connection: FakeConnection): string[] {
  return connection.sent.map((sent) => sent.method).filter((method) => /^upload|^turn/.test(method));
}

suite('a large file', () => {
  test('is announced, sent in chunks with their sums, sealed, and then submitted by its ID', async () => {
    const connection = new FakeConnection(empty);
    const session = await newSession(connection);
    await session.send('hi', large);
    assert.deepEqual(methods(connection), ['upload/begin', 'upload/chunk', 'upload/chunk', 'upload/chunk', 'upload/commit', 'turn/submit']);
    assert.deepEqual(connection.of('upload/begin'), [{ session: 's1', file: { name: 'large.txt', size: bytes.length, sha256: sum(bytes) } }]);
    const parts = [bytes.subarray(0, chunk), bytes.subarray(chunk, 2 * chunk), bytes.subarray(2 * chunk)];
    assert.deepEqual(
      connection.of('upload/chunk'),
      parts.map((data, index) => ({ session: 's1', upload: 'a1', chunk: { index, sha256: sum(data), data: data.toString('base64') } })),
    );
    assert.deepEqual(connection.of('turn/submit'), [submitted]);
  });

  test('goes on where its upload was cut off', async () => {
    const connection = new FakeConnection({ ...empty, 'upload/begin': () => ({ ...stored, state: 'open', missing: [1] }) });
    const session = await newSession(connection);
    await session.upload(large);
    assert.deepEqual(methods(connection), ['upload/begin', 'upload/chunk', 'upload/commit']);
    assert.deepEqual((connection.of('upload/chunk')[0] as { chunk: { index: number } }).chunk.index, 1);
  });

  test('that the session has is not sent again', async () => {
    const connection = new FakeConnection({ 'upload/begin': () => ({ ...stored, state: 'accepted' }) });
    const session = await newSession(connection);
    const upload = await session.upload(large);
    assert.deepEqual([methods(connection), upload.id], [['upload/begin'], 'a1']);
  });

  test('of 256 KiB goes within its message, and one byte more is uploaded', async () => {
    const connection = new FakeConnection(empty);
    const session = await newSession(connection);
    await session.send('hi', Attachment.fromBytes({ name: 'l', data: bytes.subarray(0, chunk) }));
    assert.deepEqual(methods(connection), ['turn/submit']);
    await session.send('hi', Attachment.fromBytes({ name: 'l', data: bytes.subarray(0, chunk + 1) }));
    assert.equal(methods(connection)[1], 'upload/begin');
  });

  test('that expired between its upload and its message is uploaded once more, and not twice', async () => {
    let missing = 1;
    const connection = new FakeConnection({
      ...empty,
      'turn/submit': () => {
        if (missing-- > 0) {
          throw new AttachmentNotFoundError('gone');
        }
        return { session: 's1', run: 'r1', accepted: 2 };
      },
    });
    const session = await newSession(connection);
    assert.equal((await session.send('hi', large)).id, 'r1');
    assert.equal(connection.of('upload/begin').length, 2);
    missing = 5;
    assert.equal((await failure(session.send('hi', large))).code, 'attachment_not_found');
    assert.equal(missing, 3);
  });

  test('that is named by its ID and not there is not asked for again', async () => {
    const connection = new FakeConnection({
      'turn/submit': () => {
        throw new AttachmentNotFoundError('gone');
      },
    });
    const session = await newSession(connection);
    const block = { type: 'document', name: 'l', source: { type: 'attachment', id: 'a1' } } as const;
    assert.equal((await failure(session.send({ content: [block] }))).code, 'attachment_not_found');
    assert.equal(connection.of('turn/submit').length, 1);
  });

  test('whose staging is given up submits nothing', async () => {
    const abort = new AbortController();
    const reason = new Error('enough');
    const connection = new FakeConnection({
      ...empty,
      'upload/chunk': ({ chunk: { index } }, { signal }) => {
        if (index === 1) {
          abort.abort(reason);
          return untilAborted(signal);
        }
        return {};
      },
    });
    const session = await newSession(connection);
    const error = await failure(session.send('hi', large, { signal: abort.signal }));
    assert.deepEqual([error.code, error.cause], ['cancelled', reason]);
    assert.deepEqual(methods(connection), ['upload/begin', 'upload/chunk', 'upload/chunk']);
  });

  test('is given to upload as an Attachment and nothing else', async () => {
    const session = await newSession(new FakeConnection());
    const error = await failure(session.upload(Promise.resolve(large) as never));
    assert.match(error.message, /session\.upload was given a promise, which is to be awaited first; give an Attachment/);
  });
});

suite('the block of a file follows its bytes, whatever it is called:', () => {
  const files: [what: string, data: string, type: 'image' | 'document'][] = [
    ['PNG', '\x89PNG\r\n\x1a\n\0', 'image'],
    ['JPEG', '\xff\xd8\xff\xe0', 'image'],
    ['GIF', 'GIF89a\x01\0\x01\0', 'image'],
    ['an old GIF', 'GIF87a\x01\0\x01\0', 'image'],
    ['WebP', 'RIFF\x10\0\0\0WEBPVP8 ', 'image'],
    ['PDF', '%PDF-1.7\n', 'document'],
    ['a text about GIF', 'GIF89a is a format', 'document'],
    ['a text that begins as WebP does', 'RIFF and WEBP', 'document'],
    ['another RIFF', 'RIFF\x10\0\0\0WAVEfmt ', 'document'],
    ['less than any format has', 'x', 'document'],
  ];
  for (const [what, data, type] of files) {
    test(`${what} is ${type === 'image' ? 'an image' : 'a document'}`, async () => {
      const connection = new FakeConnection();
      const session = await newSession(connection);
      await session.send('', Attachment.fromBytes({ name: 'file.png', data: Buffer.from(data, 'latin1') }));
      const [sent] = connection.of('turn/submit') as { content: { type: string }[] }[];
      assert.equal(sent?.content[0]?.type, type);
    });
  }

  test('of an upload the runtime says what it is', async () => {
    const connection = new FakeConnection({ 'upload/begin': () => ({ ...stored, mediaType: 'image/png' }) });
    const session = await newSession(connection);
    await session.send('', large);
    const [sent] = connection.of('turn/submit') as { content: { type: string }[] }[];
    assert.equal(sent?.content[0]?.type, 'image');
  });
});
