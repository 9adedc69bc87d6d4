/** What was thrown, as a text, whatever it was: errors are made by people too, and reading what they made may throw. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) {
      const said: readonly unknown[] = [thrown.message, thrown.name]; // may have been set to anything
      return said.find((text) => typeof text === 'string' && text !== '') as string | undefined ?? 'an error without a message';
    }
    return typeof thrown === 'string' ? thrown : (JSON.stringify(thrown) ?? String(thrown));
  } catch {
    return 'it threw a value that cannot be shown';
  }
}

/** instanceof, for what was thrown: of some values not even that can be asked. */
export function isOf<T>(thrown: unknown, type: abstract new (...args: never) => T): thrown is T {
  try {
    return thrown instanceof type;
  } catch {
    return false;
  }
}

/** The beginning of a text, of at most so many bytes of UTF-8, cut between characters. */
export function beginning(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}

/** The types that a message names. Any other's name is the program's own, and may hold what it was shown. */
const known = new Set(
  ('Map Set WeakMap WeakSet Date RegExp Error URL URLSearchParams Blob File FormData Headers Request Response ReadableStream Function Generator ' +
    'AsyncGenerator String Number Boolean BigInt Symbol ArrayBuffer SharedArrayBuffer DataView Int8Array Uint8Array Uint8ClampedArray Int16Array ' +
    'Uint16Array Int32Array Uint32Array Float32Array Float64Array BigInt64Array BigUint64Array AbortSignal AbortController Module').split(' '),
);

/** What kind of value it is, for messages. */
export function kindOf(value: unknown): string {
  if (value === null) {
    return 'null';
  }
  if (typeof value !== 'object') {
    return value === undefined ? 'undefined' : `a ${typeof value}`;
  }
  try {
    if (Array.isArray(value)) {
      return 'a list';
    }
    if (value instanceof Promise) {
      return 'a promise, which is to be awaited first';
    }
    const tag = tagOf(value);
    return tag === 'Object' ? 'an object' : known.has(tag) ? `a value of ${tag}` : 'a value of a class';
  } catch {
    return 'a value that cannot be read';
  }
}

/** Whether it is an object with fields: no list, and none of the types that have their content elsewhere, as a Promise or a Map. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  try {
    return typeof value === 'object' && value !== null && tagOf(value) === 'Object';
  } catch {
    return false; // a proxy that lets nobody look
  }
}

function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}
