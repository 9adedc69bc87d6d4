import { type Attachment, isAttachment, maxMessageFileBytes } from './attachment.js';
import { AttachmentTooLargeError, InvalidRequestError } from './generated/errors.js';
import type * as wire from './generated/protocol.js';
import { cleaned, type Fields } from './options.js';
import { instanceOf, itemsOf, reading } from './reading.js';
import { isRecord, kindOf } from './text.js';

/** A part of a message: an {@link Attachment}, or a block written out (AT1). */
export type ContentPart = Attachment | wire.ContentBlock;

/** What follows a text in the short form: one file or block, or several in their order. */
export type Files = ContentPart | readonly ContentPart[];

/**
 * A message (AT1): a text of 1 to 256,000 bytes of UTF-8, or an object with 1 to 32 blocks in their order. The text blocks
 * have at most 32,000 bytes together, and the files 16 MiB.
 */
export type Input = string | { readonly content: readonly ContentPart[] };

/** A text alone has at most 256,000 bytes. */
const maxTextBytes = 256_000;
/** A message of at most 32 blocks. */
const maxBlocks = 32;
const maxBlockTextBytes = 32_000;

const blockFields: Fields = {
  type: 'string',
  text: 'string',
  name: 'string',
  source: { type: 'string', mediaType: 'string', data: 'string', id: 'string', size: 'integer', sha256: 'string' },
};

/** A message taken apart: a text alone, or parts. */
export interface Message {
  readonly text: string;
  readonly parts: readonly ContentPart[];
}

/**
 * Sorts what run, send, runWith and runStreamed were called with: (input, options), (text, files) or (text, files, options).
 *
 * @throws InvalidRequestError for anything else.
 */
export function messageFrom(call: string, input: unknown, second: unknown, third: unknown): { message: Message; options: unknown } {
  if (typeof input !== 'string') {
    const content = contentOf(call, input);
    if (isFiles(second)) {
      throw new InvalidRequestError(`${call} was given content and files beside it; put the files into the content, where they belong`);
    }
    return { message: { text: '', parts: partsOf(content) }, options: only(call, second, third) };
  }
  if (!isFiles(second)) {
    return { message: { text: boundedText(call, input), parts: [] }, options: only(call, second, third) };
  }
  const files = partsOf(itemsOf(`the files of ${call}`, second) ?? [second]);
  if (files.length === 0 || input === '') {
    boundedText(call, input);
    return { message: { text: input, parts: files }, options: third };
  }
  return { message: { text: '', parts: bounded([{ type: 'text', text: input }, ...files]) }, options: third };
}

/** The options, where the second place may hold them as well as the third. */
function only(call: string, second: unknown, third: unknown): unknown {
  if (second !== undefined && third !== undefined) {
    throw new InvalidRequestError(
      `${call} was given ${kindOf(second)} for files; give an Attachment, a block, or a list of them, and the options behind it`,
    );
  }
  return second === undefined ? third : second;
}

function contentOf(call: string, input: unknown): readonly unknown[] {
  if (!isRecord(input) || !reading(`the message of ${call}`, () => 'content' in input)) {
    throw new InvalidRequestError(`the message of ${call} is ${kindOf(input)}; give a text, or { content: [ … ] }`);
  }
  const { content: given } = cleaned(`the message of ${call}`, input, { content: 'any' });
  const content = itemsOf(`content of the message of ${call}`, given);
  if (content === undefined) {
    throw new InvalidRequestError(`content of the message of ${call} is ${kindOf(given)}; give a list of blocks and attachments`);
  }
  if (content.length === 0) {
    throw new InvalidRequestError(`the content has 0 blocks; a message has 1 to ${maxBlocks}, its texts among them`, { rule: 'blocks' });
  }
  return content;
}

/** Whether it stands where files do: a list, an attachment, or what has a type as blocks have. */
function isFiles(value: unknown): boolean {
  return typeof value === 'object' && value !== null && reading('what follows the text', () => Array.isArray(value) || isAttachment(value) || 'type' in value);
}

function partsOf(content: readonly unknown[]): readonly ContentPart[] {
  return bounded(
    content.map((part, i) => {
      const what = `block ${i + 1} of the message`;
      if (reading(what, () => isAttachment(part))) {
        return part as Attachment;
      }
      if (instanceOf(what, part, Uint8Array) || instanceOf(what, part, ArrayBuffer)) {
        throw new InvalidRequestError(`${what} is bytes; give Attachment.fromBytes({ name, data })`);
      }
      if (!isRecord(part)) {
        const hint = typeof part === 'string' ? ': a text is { type: "text", text }, and a path belongs to Attachment.fromFile' : '';
        throw new InvalidRequestError(`${what} is ${kindOf(part)}; give an Attachment or a block${hint}`);
      }
      const block = cleaned(what, part, blockFields);
      if (block['type'] === 'text' && typeof block['text'] !== 'string') {
        throw new InvalidRequestError(`text of ${what} is ${kindOf(block['text'])}; give a string`);
      }
      return block as unknown as wire.ContentBlock;
    }),
  );
}

/** Refuses what is wrong with the whole before anything is uploaded. All else is found by the runtime. */
function bounded(parts: readonly ContentPart[]): readonly ContentPart[] {
  if (parts.length > maxBlocks) {
    throw new InvalidRequestError(`the content has ${parts.length} blocks; a message has 1 to ${maxBlocks}, its texts among them`, {
      rule: 'blocks',
      value: String(parts.length),
      limit: String(maxBlocks),
    });
  }
  const files = sum(parts, (part) => (isAttachment(part) ? part.size : bytesIn(part)));
  if (files > maxMessageFileBytes) {
    throw new AttachmentTooLargeError(
      `the files have ${files} bytes together; those of a message have at most ${maxMessageFileBytes}. Send some in a message before`,
      { rule: 'message_files_bytes', value: String(files), limit: String(maxMessageFileBytes) },
    );
  }
  const texts = sum(parts, (part) => (!isAttachment(part) && part.type === 'text' ? Buffer.byteLength(part.text) : 0));
  if (texts > maxBlockTextBytes) {
    throw new InvalidRequestError(
      `the text blocks have ${texts} bytes together; a message with content has at most ${maxBlockTextBytes}. Send a longer text as a text file`,
      { rule: 'text_blocks_bytes', value: String(texts), limit: String(maxBlockTextBytes) },
    );
  }
  return parts;
}

/** The bytes of a file that is written out in its block. */
function bytesIn(part: wire.ContentBlock): number {
  const source: { readonly type?: string; readonly data?: string | undefined } | undefined = part.type === 'text' ? undefined : part.source;
  const data = source?.data ?? '';
  return source?.type === 'base64' ? Math.floor((data.length / 4) * 3) - (/=*$/.exec(data.slice(-2))?.[0].length ?? 0) : Buffer.byteLength(data);
}

function boundedText(call: string, text: string): string {
  const bytes = Buffer.byteLength(text);
  if (bytes > maxTextBytes) {
    throw new InvalidRequestError(`the text of ${call} has ${bytes} bytes; one has at most ${maxTextBytes}. Send a longer one as a text file`, {
      rule: 'text_bytes',
      value: String(bytes),
      limit: String(maxTextBytes),
    });
  }
  return text;
}

function sum(parts: readonly ContentPart[], size: (part: ContentPart) => number): number {
  return parts.reduce((total, part) => total + size(part), 0);
}
