import assert from 'node:assert/strict';
import { PassThrough, Writable } from 'node:stream';
import { suite, test } from 'node:test';

import { FrameTooLargeError, RuntimeExitedError } from '../../src/generated/errors.js';
import type { Message } from '../../src/rpc/lines.js';
import { LineReader, LineWriter, maxFrameBytes, maxMessageBytes } from '../../src/rpc/lines.js';
import { randomOf } from './fake-runtime.js';

/** What a writer writes for these messages. */
async function written(...messages: string[]): Promise<Buffer> {
  const output = new PassThrough();
  const chunks: Buffer[] = [];
  output.on('data', (chunk: Buffer) => chunks.push(chunk));
  const writer = new LineWriter(output, assert.fail);
  for (const message of messages) {
    writer.send(message);
  }
  writer.end();
  await new Promise((resolve) => output.once('end', resolve));
  return Buffer.concat(chunks);
}

/** What a reader finds in these chunks. */
function read(...chunks: (Buffer | string)[]): Message[] {
  const found: Message[] = [];
  const reader = new LineReader((message) => found.push(message));
  for (const chunk of chunks) {
    reader.push(Buffer.from(chunk));
  }
  return found;
}

function part(message: string, data: string, last = false): string {
  return `${JSON.stringify({ jsonrpc: '2.0', method: 'rpc/part', params: { message, data, ...(last ? { last } : {}) } })}\n`;
}

/** A message of exactly so many bytes. */
function messageOf(bytes: number): string {
  const empty = JSON.stringify({ params: '' });
  return JSON.stringify({ params: 'x'.repeat(bytes - empty.length) });
}

suite('reading lines', () => {
  const lines = '{"id":1,"params":"a"}\n\n  \r\n{"id":2,"params":"é ß 漢字 😀 \uFFFD"}\n{"id":3}\n';

  test('finds the same messages wherever the bytes are cut in two', () => {
    const bytes = Buffer.from(lines);
    const want = read(bytes);
    assert.deepEqual(want, [{ id: 1, params: 'a' }, { id: 2, params: 'é ß 漢字 😀 \uFFFD' }, { id: 3 }]);
    for (let cut = 0; cut <= bytes.length; cut++) {
      assert.deepEqual(read(bytes.subarray(0, cut), bytes.subarray(cut)), want, `cut at ${cut}`);
    }
  });

  test('finds the same messages byte by byte', () => {
    const bytes = Buffer.from(lines);
    assert.deepEqual(read(...[...bytes].map((byte) => Buffer.of(byte))), read(bytes));
  });

  test('says nothing of a line that has not ended', () => {
    assert.deepEqual(read('{"id":1}\n{"id":2}'), [{ id: 1 }]);
  });

  test('takes a line of exactly the bound', () => {
    assert.equal(read(`${messageOf(maxFrameBytes)}\n`).length, 1);
  });

  test('joins messages whose parts are interleaved, with others between them', () => {
    assert.deepEqual(
      read(part('a', '{"id":"a",'), part('b', '{"id":'), '{"id":"alone"}\n', part('a', '"params":"1"}', true), part('b', '"b"}', true), part('a', '{"id":"again"}', true)),
      [{ id: 'alone' }, { id: 'a', params: '1' }, { id: 'b' }, { id: 'again' }],
    );
  });

  const faults: readonly [name: string, chunks: (Buffer | string)[], message: RegExp][] = [
    ['a line over the bound', [`${messageOf(maxFrameBytes + 1)}\n`], /longer than 1048576 bytes/],
    ['a line over the bound that does not end', [Buffer.alloc(maxFrameBytes / 2, ' '), Buffer.alloc(maxFrameBytes / 2 + 1, ' ')], /longer than 1048576 bytes/],
    ['what is no JSON', ['listening on port 80\n'], /no JSON: "listening on port 80"/],
    ['half a message', ['{"id":1\n'], /no JSON/],
    ['a batch', ['[{"id":1}]\n'], /no object: "\[\{/],
    ['a number', ['12\n'], /no object/],
    ['null', ['null\n'], /no object/],
    ['bytes that are no UTF-8', [Buffer.from([0x22, 0xc3, 0x28, 0x22, 0x0a])], /not UTF-8/],
    ['a part without a name', [part('', 'x')], /rpc\/part needs a message/],
    ['a part with a name of 65 bytes', [part('é'.repeat(32) + 'x', 'x')], /rpc\/part needs a message/],
    ['a part without data', ['{"method":"rpc/part","params":{"message":"m"}}\n'], /rpc\/part needs a message/],
    ['parts that are no message together', [part('m', '{"id":'), part('m', '}', true)], /no JSON/],
    ['parts that are blank together', [part('m', ' ', true)], /is empty/],
    ['parts that are a part together', [part('m', part('n', '{}', true), true)], /itself a line of rpc\/part/],
    ['too many messages under way', Array.from({ length: 65 }, (_, i) => part(`m${i}`, 'x')), /more than 64 messages/],
  ];
  for (const [name, chunks, message] of faults) {
    test(`refuses ${name}`, () => {
      assert.throws(() => read(...chunks), (error) => error instanceof RuntimeExitedError && /broke the protocol/.test(error.message) && message.test(error.message));
    });
  }

  test('refuses messages of several lines over their bound together', () => {
    const found: Message[] = [];
    const reader = new LineReader((message) => found.push(message));
    const piece = Buffer.from(part('m', 'é'.repeat(500_000)));
    const whole = Math.floor(maxMessageBytes / 1_000_000);
    for (let i = 0; i < whole; i++) {
      reader.push(piece);
    }
    assert.throws(() => reader.push(piece), /more than 134217728 bytes together/);
    assert.deepEqual(found, []);
  });
});

suite('writing lines', () => {
  test('writes what has come together in one go', async () => {
    const writes: string[] = [];
    const output = new Writable({
      decodeStrings: false,
      write(chunk: string, _encoding, callback) {
        writes.push(chunk);
        callback();
      },
    });
    const writer = new LineWriter(output, assert.fail);
    writer.send('{"id":1}');
    void Promise.resolve().then(() => writer.send('{"id":2}'));
    await new Promise(setImmediate);
    writer.send('{"id":3}');
    await new Promise(setImmediate);
    assert.deepEqual(writes, ['{"id":1}\n{"id":2}\n', '{"id":3}\n']);
  });

  test('keeps a message of the bound in a line, and one that is longer in several that are not', async () => {
    const at = await written(messageOf(maxFrameBytes));
    assert.equal(at.length, maxFrameBytes + 1);
    assert.equal(at.indexOf('rpc/part'), -1);

    const over = await written(messageOf(maxFrameBytes + 1));
    assert.ok(over.toString().split('\n').every((line) => Buffer.byteLength(line) <= maxFrameBytes));
    assert.deepEqual(read(over), [JSON.parse(messageOf(maxFrameBytes + 1))]);
  });

  test('counts bytes, not characters', async () => {
    const message = JSON.stringify({ params: '漢'.repeat(400_000) });
    const bytes = await written(message);
    assert.ok(bytes.indexOf('rpc/part') > 0);
    assert.deepEqual(read(bytes), [JSON.parse(message)]);
  });

  test('cuts at no character, wherever that is, and escapes nothing beyond its line', async () => {
    for (const shift of ['', 'x']) {
      const message = JSON.stringify({ params: `${shift}${'😀"\u0001\\'.repeat(200_000)}` });
      const bytes = await written(message);
      assert.ok(bytes.toString().split('\n').every((line) => Buffer.byteLength(line) <= maxFrameBytes));
      assert.doesNotMatch(bytes.toString(), /\\ud8/i);
      assert.deepEqual(read(bytes), [JSON.parse(message)]);
    }
  });

  test('refuses a message over all bounds, and goes on', async () => {
    const output = new PassThrough();
    const writer = new LineWriter(output, assert.fail);
    assert.throws(() => writer.send(messageOf(maxMessageBytes + 1)), (error) => error instanceof FrameTooLargeError && /134217729 bytes/.test(error.message));
    writer.send('{"id":1}');
    writer.end();
    assert.equal((await output.toArray()).join(''), '{"id":1}\n');
  });

  test('waits for a stream that is full, and holds no more than it may', async () => {
    let free: (() => void) | undefined;
    let writes = 0;
    const output = new Writable({
      highWaterMark: 1,
      write(_chunk, _encoding, callback) {
        writes++;
        free = callback;
      },
    });
    const faults: string[] = [];
    const writer = new LineWriter(output, (error) => faults.push(error.message));
    const mebibyte = messageOf(maxFrameBytes);
    for (let i = 0; i < 3; i++) {
      writer.send(mebibyte);
      await new Promise(setImmediate);
    }
    assert.equal(writes, 1);
    free?.();
    await new Promise(setImmediate);
    assert.equal(writes, 2);
    for (let i = 0; i < 256; i++) {
      writer.send(mebibyte);
    }
    assert.match(faults[0] ?? '', /does not read: 268435456 characters wait/);
  });
});

test('random messages, cut into random chunks, arrive as they were sent', async () => {
  const random = randomOf(20);
  const letters = ['a', '"', '\\', '\n', '\u0000', 'é', '漢', '😀', '\u2028', '\ud800', ' '];
  const text = (length: number): string => Array.from({ length }, () => letters[random(letters.length)] ?? '').join('');
  for (let round = 0; round < 20; round++) {
    const sent = Array.from({ length: 1 + random(5) }, (_, i) => JSON.stringify({ id: i, params: text([3, 200, 5_000, 400_000][random(4)] ?? 0) }));
    const bytes = await written(...sent);
    const found: Message[] = [];
    const reader = new LineReader((message) => found.push(message));
    for (let from = 0; from < bytes.length;) {
      const to = Math.min(bytes.length, from + 1 + random(bytes.length < 20_000 ? 7 : 70_000));
      reader.push(bytes.subarray(from, to));
      from = to;
    }
    assert.deepEqual(found, sent.map((message): unknown => JSON.parse(message)), `round ${round}`);
  }
});
