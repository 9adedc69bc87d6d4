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
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') {
    return typeof (value as { then?: unknown }).then === 'function' ? 'a promise, await it first' : 'an object';
  }
  return value === undefined ? 'undefined' : `a ${typeof value}`;
}
