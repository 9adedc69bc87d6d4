import { createHash } from 'node:crypto';

import { type Attachment, isAttachment } from './attachment.js';
import type { ContentPart } from './content.js';
import type * as wire from './generated/protocol.js';
import type { Connection } from './rpc/connection.js';

/** A chunk of an upload: 256 KiB, the last one the rest (AT5). A file that is no larger goes within its message. */
export const chunkBytes = 256 << 10;

/**
 * The blocks of a message. A small file goes within it, which stores it with itself: what a guardrail takes out of it is never
 * stored then. A larger one is uploaded first, as far as the session has not got it.
 */
export async function blocksOf(
  connection: Connection,
  session: string,
  parts: readonly ContentPart[],
  signal: AbortSignal | undefined,
): Promise<wire.ContentBlock[]> {
  const blocks: wire.ContentBlock[] = [];
  for (const part of parts) {
    blocks.push(isAttachment(part) ? await blockOf(connection, session, part, signal) : part);
  }
  return blocks;
}

async function blockOf(connection: Connection, session: string, file: Attachment, signal: AbortSignal | undefined): Promise<wire.ContentBlock> {
  if (file.size <= chunkBytes) {
    const source: wire.Source = { type: 'base64', data: Buffer.from(file.data).toString('base64') };
    if (file.mediaType !== undefined) {
      source.mediaType = file.mediaType;
    }
    return { type: isImage(file.data) ? 'image' : 'document', name: file.name, source };
  }
  const stored = await upload(connection, session, file, signal);
  const type = stored.mediaType?.startsWith('image/') === true ? 'image' : 'document';
  return { type, name: file.name, source: { type: 'attachment', id: stored.id } };
}

/** Stores a file: what the session has of it is not sent again. */
export async function upload(connection: Connection, session: string, file: Attachment, signal: AbortSignal | undefined): Promise<wire.Upload> {
  const options = signal === undefined ? {} : { signal };
  const announced: wire.UploadRequest = { name: file.name, size: file.size, sha256: sha256(file.data) };
  if (file.mediaType !== undefined) {
    announced.mediaType = file.mediaType;
  }
  const begun = await connection.request('upload/begin', { session, file: announced }, options);
  for (const index of begun.missing ?? []) {
    const data = file.data.subarray(index * chunkBytes, (index + 1) * chunkBytes);
    const chunk = { index, sha256: sha256(data), data: Buffer.from(data).toString('base64') };
    await connection.request('upload/chunk', { session, upload: begun.id, chunk }, options);
  }
  return begun.state === 'open' ? connection.request('upload/commit', { session, upload: begun.id }, options) : begun;
}

function sha256(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/**
 * Whether a file's block is one of images, which is how its bytes begin. GIF and WebP begin with letters, as a text about them
 * may: but each of their files has a NUL, and no text has.
 */
function isImage(data: Uint8Array): boolean {
  const head = Buffer.from(data.subarray(0, 12)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n') || head.startsWith('\xff\xd8\xff')) {
    return true;
  }
  const named = head.startsWith('GIF87a') || head.startsWith('GIF89a') || (head.startsWith('RIFF') && head.slice(8) === 'WEBP');
  return named && data.includes(0);
}
