/**
 * The lines of the protocol: JSON values over byte streams, each a line of at most {@link maxFrameBytes}, or, where it does
 * not fit, several lines of the method `rpc/part` (FA2).
 */
import { isUtf8 } from 'node:buffer';
import type { Writable } from 'node:stream';

import { FrameTooLargeError, RuntimeExitedError } from '../generated/errors.js';

/** Bytes of a line, without its newline, each way. */
export const maxFrameBytes = 1 << 20;
/** Bytes of a message of several lines, and of all that are under way together. */
export const maxMessageBytes = 128 << 20;
/** What may wait for a runtime that does not read, in UTF-16 units: beyond it the connection is given up. */
const maxUnsent = 2 * maxMessageBytes;
/** Messages of several lines that may have begun and not ended. */
const maxOpen = 64;
/** How much of a message goes into one line, in UTF-16 units: as a string in JSON each becomes six bytes at worst. */
const partUnits = Math.floor((maxFrameBytes - 512) / 6);
/** How much goes into one write where lines have come together, in UTF-16 units. */
const writeUnits = 64 << 10;

const newline = 0x0a;

/** A JSON object of the peer's. */
export interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Why a connection cannot go on, though the runtime lives: what it sends is not the protocol. */
export function protocolFault(what: string): RuntimeExitedError {
  return new RuntimeExitedError(`the runtime broke the protocol, so the connection was closed: ${what}`);
}

/** Cuts what a stream delivers into messages. It is fed chunk by chunk; what is no message is thrown as a protocol fault. */
export class LineReader {
  readonly #take: (message: Message) => void;
  #rest: Buffer[] = []; // of a line whose end has not come
  #restBytes = 0;
  readonly #open = new Map<string, { pieces: string[]; bytes: number }>(); // messages under way
  #openBytes = 0;

  /** `take` gets each message, in order, before {@link push} returns. */
  constructor(take: (message: Message) => void) {
    this.#take = take;
  }

  /** Takes the next bytes, which it keeps: they may end anywhere, within a character too. */
  push(chunk: Buffer): void {
    let from = 0;
    for (let to = chunk.indexOf(newline); to >= 0; to = chunk.indexOf(newline, from)) {
      this.#bound(to - from);
      if (this.#restBytes === 0) {
        this.#line(chunk, from, to);
      } else {
        this.#rest.push(chunk.subarray(from, to));
        const line = Buffer.concat(this.#rest);
        this.#rest = [];
        this.#restBytes = 0;
        this.#line(line, 0, line.length);
      }
      from = to + 1;
    }
    if (from < chunk.length) {
      this.#bound(chunk.length - from);
      this.#rest.push(from === 0 ? chunk : chunk.subarray(from));
      this.#restBytes += chunk.length - from;
    }
  }

  #bound(more: number): void {
    if (this.#restBytes + more > maxFrameBytes) {
      throw protocolFault(`a line is longer than ${maxFrameBytes} bytes`);
    }
  }

  #line(bytes: Buffer, from: number, to: number): void {
    const text = bytes.toString('utf8', from, to);
    // Bytes that are no UTF-8 became U+FFFD. Who sends that character itself is looked at twice.
    if (text.includes('\uFFFD') && !isUtf8(bytes.subarray(from, to))) {
      throw protocolFault('a line is not UTF-8');
    }
    const message = parse(text);
    if (message === undefined) {
      return;
    }
    if (message.method === 'rpc/part') {
      this.#join(message.params);
    } else {
      this.#take(message);
    }
  }

  #join(part: unknown): void {
    if (!isPart(part)) {
      throw protocolFault('a line of rpc/part needs a message, a name of 1 to 64 bytes, and data, a string');
    }
    let open = this.#open.get(part.message);
    if (open === undefined) {
      if (this.#open.size === maxOpen) {
        throw protocolFault(`more than ${maxOpen} messages of several lines are under way`);
      }
      open = { pieces: [], bytes: 0 };
      this.#open.set(part.message, open);
    }
    const bytes = Buffer.byteLength(part.data);
    open.pieces.push(part.data);
    open.bytes += bytes;
    this.#openBytes += bytes;
    if (this.#openBytes > maxMessageBytes) {
      throw protocolFault(`messages of several lines have more than ${maxMessageBytes} bytes together`);
    }
    if (part.last !== true) {
      return;
    }
    this.#open.delete(part.message);
    this.#openBytes -= open.bytes;
    const message = parse(open.pieces.join(''));
    if (message === undefined || message.method === 'rpc/part') {
      throw protocolFault('a message of several lines is empty, or is itself a line of rpc/part');
    }
    this.#take(message);
  }
}

/** The message that a text is, undefined for blanks. */
function parse(text: string): Message | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    if (text.trim() === '') {
      return undefined;
    }
    throw protocolFault(`it sent what is no JSON: ${excerpt(text)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw protocolFault(`it sent JSON that is no object: ${excerpt(text)}`);
  }
  return value;
}

/** Enough of a line to know whose it is; a program that is no runtime says its own things on its output. */
function excerpt(text: string): string {
  return JSON.stringify(text.length <= 80 ? text : `${text.slice(0, 80)}…`);
}

interface Part {
  readonly message: string;
  readonly data: string;
  readonly last?: unknown;
}

function isPart(value: unknown): value is Part {
  if (typeof value !== 'object' || value === null || !('message' in value) || !('data' in value)) {
    return false;
  }
  const { message, data } = value;
  return typeof message === 'string' && message !== '' && Buffer.byteLength(message) <= 64 && typeof data === 'string';
}

/**
 * Writes messages to a stream, in the order in which they are sent. They are queued, and what has come together by the end of
 * the current tick goes out in one write; a stream that is full is waited for.
 */
export class LineWriter {
  readonly #output: Writable;
  readonly #fault: (error: RuntimeExitedError) => void;
  #queue: string[] = [];
  #writing: string[] = []; // what was queued when the last of it was taken, from #at on
  #at = 0;
  #unsent = 0;
  #parted = 0; // messages of several lines
  #scheduled = false;
  #full = false;
  #ending = false;

  /** `fault` is told when the peer does not read for so long that too much waits for it. */
  constructor(output: Writable, fault: (error: RuntimeExitedError) => void) {
    this.#output = output;
    this.#fault = fault;
    output.on('drain', () => {
      this.#full = false;
      this.#flush();
    });
  }

  /**
   * Queues a message, which is JSON without a newline. One of more than {@link maxMessageBytes} is refused: the error
   * frame_too_large is thrown. After {@link end} nothing is queued.
   */
  send(message: string): void {
    if (this.#ending) {
      return;
    }
    // Most messages are so short that their bytes need not be counted.
    if (message.length * 3 <= maxFrameBytes || Buffer.byteLength(message) <= maxFrameBytes) {
      this.#put(message);
      return;
    }
    const bytes = Buffer.byteLength(message);
    if (bytes > maxMessageBytes) {
      throw new FrameTooLargeError(`a message has ${bytes} bytes, and may have ${maxMessageBytes}; send less at a time`);
    }
    this.#parted++;
    const name = `m${this.#parted}`;
    for (let from = 0, to = 0; from < message.length; from = to) {
      to = Math.min(from + partUnits, message.length);
      if (to < message.length && isHighSurrogate(message.charCodeAt(to - 1))) {
        to--;
      }
      const last = to === message.length ? ',"last":true' : '';
      this.#put(`{"jsonrpc":"2.0","method":"rpc/part","params":{"message":"${name}","data":${JSON.stringify(message.slice(from, to))}${last}}}`);
    }
  }

  /** Ends the stream behind what is queued. */
  end(): void {
    this.#ending = true;
    this.#flush();
  }

  #put(line: string): void {
    if (this.#unsent + line.length > maxUnsent) {
      this.#fault(new RuntimeExitedError(`the runtime does not read: ${this.#unsent} characters wait for it, so the connection was closed`));
      return;
    }
    this.#queue.push(line);
    this.#unsent += line.length;
    if (!this.#scheduled && !this.#full) {
      this.#scheduled = true;
      process.nextTick(() => {
        this.#scheduled = false;
        this.#flush();
      });
    }
  }

  #flush(): void {
    while (!this.#full && this.#output.writable && this.#waits()) {
      this.#full = !this.#output.write(this.#batch());
    }
    if (this.#ending && !this.#waits()) {
      this.#output.end();
    }
  }

  #waits(): boolean {
    return this.#at < this.#writing.length || this.#queue.length > 0;
  }

  /** The next lines, as one text. */
  #batch(): string {
    if (this.#at === this.#writing.length) {
      this.#writing = this.#queue;
      this.#queue = [];
      this.#at = 0;
    }
    const lines = this.#writing;
    const from = this.#at;
    let units = 0;
    let to = from;
    do {
      units += lines[to]?.length ?? 0;
      to++;
    } while (to < lines.length && units + (lines[to]?.length ?? 0) <= writeUnits);
    this.#unsent -= units;
    this.#at = to;
    const text = from === 0 && to === lines.length ? lines.join('\n') : lines.slice(from, to).join('\n');
    lines.fill('', from, to); // the rest may wait for long
    return `${text}\n`;
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
