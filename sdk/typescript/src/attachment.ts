import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

import { AttachmentTooLargeError, CancelledError, InvalidRequestError } from './generated/errors.js';
import { given, optionsOf } from './options.js';
import { instanceOf, objectOf, reading } from './reading.js';
import { kindOf, messageOf } from './text.js';

/** A file has at most 8 MiB (AT3). */
export const maxFileBytes = 8 << 20;
/** The files of a message have at most 16 MiB together (AT3). */
export const maxMessageFileBytes = 16 << 20;
/** A name has at most 255 bytes. */
const maxNameBytes = 255;

/** What {@link Attachment.fromBytes} takes. */
export interface AttachmentBytes {
  /** What the file is called: a label of 1 to 255 bytes without control characters. */
  readonly name: string;
  /**
   * What it is said to be, for example by a browser. One that it is not is refused when it is sent. Absent: the runtime
   * finds out by the bytes, and of texts which kind by the name.
   */
  readonly mediaType?: string | undefined;
  /** The bytes, 1 to 8,388,608 of them. They are copied. */
  readonly data: Uint8Array | ArrayBuffer;
}

/** Marks attachments, whichever copy of the package made them. */
const mark = Symbol.for('@openworkerai/harness-sdk/attachment');

/**
 * A file to send: a PNG, JPEG, GIF or WebP that does not move, a PDF, or text in UTF-8 (AT2). It may be sent any number of
 * times, to any sessions. What it is, is checked by the runtime when it is sent: unsupported_media. A file is what a model
 * sees and nothing else: it is in no workspace, and grants nothing (AT6).
 *
 * Make one with {@link Attachment.fromFile} or {@link Attachment.fromBytes}.
 */
export class Attachment {
  readonly [mark] = true;
  /** What the file is called: a label. */
  readonly name: string;
  /** What it is said to be; undefined says nothing. */
  readonly mediaType: string | undefined;
  readonly #data: Uint8Array;

  private constructor(name: string, mediaType: string | undefined, data: Uint8Array) {
    this.name = name;
    this.mediaType = mediaType;
    this.#data = data;
  }

  /** Its bytes, which must not be changed. */
  get data(): Uint8Array {
    return this.#data;
  }

  /** How many bytes it has. */
  get size(): number {
    return this.#data.byteLength;
  }

  /**
   * Reads a file of this machine, which is called by its base name.
   *
   * @param path a path, or a file: URL
   * @throws InvalidRequestError for one that cannot be read, is no regular file or is empty; AttachmentTooLargeError over
   *   8 MiB; CancelledError when the signal ends. Of the first three the details have the file.
   */
  static async fromFile(path: string | URL, options?: { signal?: AbortSignal | undefined }): Promise<Attachment> {
    const { signal } = given('Attachment.fromFile', options, optionsOf.wait);
    const file = pathOf(path);
    const name = basename(file);
    const data = await readBounded(file, name, signal);
    return new Attachment(checkedName(name), undefined, checkedSize(name, data));
  }

  /**
   * Makes one of bytes that are at hand, for example those that a browser sent to your server.
   *
   * @throws InvalidRequestError for a name that is none, or no bytes; AttachmentTooLargeError over 8 MiB.
   */
  static fromBytes(file: AttachmentBytes): Attachment {
    const call = 'Attachment.fromBytes';
    const from = objectOf(call, file, '{ name, mediaType, data }') as { readonly [field in keyof AttachmentBytes]: unknown };
    const { mediaType, data } = reading(call, () => ({ mediaType: from.mediaType, data: from.data }));
    const name = checkedName(reading(call, () => from.name));
    if (mediaType !== undefined && typeof mediaType !== 'string') {
      throw new InvalidRequestError(`the mediaType of "${name}" is ${kindOf(mediaType)}; give a string, or leave it out`, { file: name });
    }
    const bytes = reading(`the data of "${name}"`, () => new Uint8Array(bytesOf(name, data))); // a copy, where a Buffer's slice would be none
    return new Attachment(name, mediaType, checkedSize(name, bytes));
  }
}

/** Whether a value is an attachment, of whichever copy of the package. */
export function isAttachment(value: unknown): value is Attachment {
  return typeof value === 'object' && value !== null && reading('a value', () => mark in value);
}

function pathOf(path: unknown): string {
  if (instanceOf('the path of a file', path, URL)) {
    if (path.protocol !== 'file:') {
      throw new InvalidRequestError(`${path.protocol}// is no file of this machine; fetch it, and give its bytes to Attachment.fromBytes`);
    }
    return reading(`the path ${path.href}`, () => fileURLToPath(path));
  }
  if (typeof path !== 'string' || path === '') {
    throw new InvalidRequestError(`the path of a file is ${path === '' ? 'empty' : kindOf(path)}; give a path or a file: URL`);
  }
  return path;
}

async function readBounded(path: string, name: string, signal: AbortSignal | undefined): Promise<Uint8Array> {
  stopIfAborted(signal, name);
  try {
    // Opening what waits for somebody to write, as a named pipe does, must not wait.
    await using handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stat = await handle.stat();
    if (!stat.isFile()) {
      throw new InvalidRequestError('it is not a regular file');
    }
    if (stat.size > maxFileBytes) {
      throw tooLarge(name, stat.size);
    }
    const data = new Uint8Array(stat.size);
    let filled = 0;
    while (filled < data.length) {
      const { bytesRead } = await handle.read(data, filled, data.length - filled);
      stopIfAborted(signal, name);
      if (bytesRead === 0) {
        break; // it became shorter meanwhile
      }
      filled += bytesRead;
    }
    return data.subarray(0, filled);
  } catch (cause) {
    if (cause instanceof AttachmentTooLargeError || cause instanceof CancelledError) {
      throw cause;
    }
    throw new InvalidRequestError(`the file "${path}" cannot be read: ${messageOf(cause)}`, { file: name });
  }
}

function stopIfAborted(signal: AbortSignal | undefined, name: string): void {
  if (signal?.aborted === true) {
    throw new CancelledError(`the signal ended while the file "${name}" was read`, {}, { cause: signal.reason });
  }
}

function bytesOf(name: string, data: unknown): Uint8Array {
  if (data instanceof Uint8Array) {
    return data;
  }
  if (data instanceof ArrayBuffer) {
    return new Uint8Array(data);
  }
  const instead =
    typeof data === 'string'
      ? 'a string; give Buffer.from(text)'
      : data instanceof Blob
        ? 'a Blob; give await blob.arrayBuffer()'
        : `${kindOf(data)}; give a Uint8Array, a Buffer or an ArrayBuffer`;
  throw new InvalidRequestError(`the data of "${name}" is ${instead}`, { file: name });
}

function checkedName(name: unknown): string {
  if (typeof name !== 'string' || name === '') {
    throw new InvalidRequestError(`a file's name is ${name === '' ? 'empty' : kindOf(name)}; give a label as in "report.pdf"`);
  }
  const bytes = Buffer.byteLength(name);
  if (bytes > maxNameBytes) {
    throw new InvalidRequestError(`a file's name has ${bytes} bytes; one has at most ${maxNameBytes}: give it another, it is only a label`);
  }
  if (/\p{Cc}|\p{Cs}/u.test(name)) {
    throw new InvalidRequestError(`the file's name ${JSON.stringify(name)} has a control character, or half a character; give it another, it is only a label`);
  }
  return name;
}

function checkedSize(name: string, data: Uint8Array): Uint8Array {
  if (data.byteLength === 0) {
    throw new InvalidRequestError(`the file "${name}" is empty; leave it out`, { file: name, rule: 'empty', value: '0' });
  }
  if (data.byteLength > maxFileBytes) {
    throw tooLarge(name, data.byteLength);
  }
  return data;
}

function tooLarge(name: string, size: number): AttachmentTooLargeError {
  return new AttachmentTooLargeError(`the file "${name}" has ${size} bytes; one has at most ${maxFileBytes}`, {
    file: name,
    rule: 'file_bytes',
    value: String(size),
    limit: String(maxFileBytes),
  });
}
