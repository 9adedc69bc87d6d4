/** What an error says, whatever was thrown. Reading it may throw too: then there is nothing to say. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) {
      return thrown.message === '' ? thrown.name : thrown.message;
    }
    return typeof thrown === 'string' ? thrown : (JSON.stringify(thrown) ?? String(thrown));
  } catch {
    return 'an error that cannot be read';
  }
}

/** The beginning of a text, of at most so many bytes of UTF-8, cut between characters. */
export function beginning(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}

/** What kind of value it is, for messages. */
export function kindOf(value: unknown): string {
  if (value === null) {
    return 'null';
  }
  if (Array.isArray(value)) {
    return 'a list';
  }
  if (value instanceof Promise) {
    return 'a promise, which is to be awaited first';
  }
  if (typeof value === 'object') {
    return isRecord(value) ? 'an object' : `a value of ${tagOf(value)}`;
  }
  return value === undefined ? 'undefined' : `a ${typeof value}`;
}

/** Whether it is an object with fields: no list, and none of the types that have their content elsewhere, as a Promise or a Map. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && tagOf(value) === 'Object';
}

function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1);
}
