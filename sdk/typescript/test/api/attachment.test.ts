import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { Attachment } from '../../src/attachment.js';
import { failure } from './fake.js';

const dir = mkdtempSync(path.join(tmpdir(), 'openworker-attachment-'));
after(() => rmSync(dir, { recursive: true }));

function file(name: string, content: string): string {
  const at = path.join(dir, name);
  writeFileSync(at, content);
  return at;
}

suite('a file of this machine', () => {
  test('is called by its base name, has its bytes, and says nothing of what it is', async () => {
    const { name, mediaType, data, size } = await Attachment.fromFile(file('notes.md', '# Ünï'));
    assert.deepEqual([name, mediaType, Buffer.from(data).toString(), size], ['notes.md', undefined, '# Ünï', 7]);
  });

  test('may be named by a file: URL, with what such an address escapes', async () => {
    const { name, size } = await Attachment.fromFile(pathToFileURL(file('a b%.txt', 'x')));
    assert.deepEqual([name, size], ['a b%.txt', 1]);
  });

  test('may have 8 MiB, and not one byte more', async () => {
    const at = file('large.txt', 'x');
    truncateSync(at, 8 << 20);
    assert.equal((await Attachment.fromFile(at)).size, 8 << 20);
    truncateSync(at, (8 << 20) + 1);
    const error = await failure(Attachment.fromFile(at));
    assert.deepEqual([error.name, error.details], ['AttachmentTooLargeError', { file: 'large.txt', rule: 'file_bytes', value: '8388609', limit: '8388608' }]);
  });

  const refused: [what: string, at: () => string | URL, message: RegExp][] = [
    ['is empty', () => file('none.txt', ''), /the file "none\.txt" is empty; leave it out/],
    ['is not there', () => path.join(dir, 'absent'), /absent" cannot be read: ENOENT/],
    [
      'is a directory',
      () => {
        mkdirSync(path.join(dir, 'folder'), { recursive: true });
        return path.join(dir, 'folder');
      },
      /folder" cannot be read/,
    ],
    ['has a path that is empty', () => '', /the path of a file is empty/],
    ['has a path that is none', () => 7 as never, /the path of a file is a number; give a path or a file: URL/],
    ['is on the web', () => new URL('https://example.com/a.png'), /https:.* is no file of this machine; fetch it/],
  ];
  for (const [what, at, message] of refused) {
    test(`is refused where it ${what}`, async () => {
      const error = await failure(Attachment.fromFile(at()));
      assert.equal(error.name, 'InvalidRequestError');
      assert.match(error.message, message);
    });
  }

  test('is refused at once where it is a pipe that nobody writes to', { skip: process.platform === 'win32' && 'there are none in directories' }, async () => {
    const pipe = path.join(dir, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const error = await failure(Attachment.fromFile(pipe));
    assert.match(error.message, /cannot be read: it is not a regular file/);
  });

  test('is not read for a signal that has ended', async () => {
    const reason = new Error('enough');
    const error = await failure(Attachment.fromFile(file('b.txt', 'x'), { signal: AbortSignal.abort(reason) }));
    assert.deepEqual([error.name, error.cause], ['CancelledError', reason]);
  });
});

suite('bytes that are at hand', () => {
  test('are copied: what becomes of them later is not sent', () => {
    const bytes = Buffer.from('before');
    const attachment = Attachment.fromBytes({ name: 'a.txt', data: bytes });
    bytes.write('after.');
    assert.equal(Buffer.from(attachment.data).toString(), 'before');
  });

  test('are those of a view alone, and not of what it looks into', () => {
    const whole = new TextEncoder().encode('abcdef');
    assert.equal(Attachment.fromBytes({ name: 'a.txt', data: whole.subarray(1, 3) }).size, 2);
    assert.equal(Attachment.fromBytes({ name: 'a.txt', data: whole.buffer }).size, 6);
  });

  const data = Buffer.from('x');
  const refused: [what: string, file: unknown, message: RegExp][] = [
    ['undefined', undefined, /Attachment\.fromBytes was given undefined; give \{ name, mediaType, data \}/],
    ['no name', { data }, /a file's name is undefined/],
    ['an empty name', { name: '', data }, /a file's name is empty/],
    ['a name of 256 bytes', { name: 'ü'.repeat(128), data }, /has 256 bytes; one has at most 255/],
    ['a name with a line break', { name: 'a\nb', data }, /"a\\nb" has a control character/],
    ['a media type that is no text', { name: 'a', mediaType: 1, data }, /the mediaType of "a" is a number/],
    ['a text for bytes', { name: 'a', data: 'x' }, /the data of "a" is a string; give Buffer\.from\(text\)/],
    ['a Blob for bytes', { name: 'a', data: new Blob(['x']) }, /is a Blob; give await blob\.arrayBuffer\(\)/],
    ['a list for bytes', { name: 'a', data: [1] }, /is a list; give a Uint8Array/],
    ['no bytes', { name: 'a', data: new Uint8Array() }, /the file "a" is empty/],
  ];
  for (const [what, given, message] of refused) {
    test(`are refused with ${what}`, async () => {
      const error = await failure(() => Attachment.fromBytes(given as never));
      assert.equal(error.name, 'InvalidRequestError');
      assert.match(error.message, message);
    });
  }
});
