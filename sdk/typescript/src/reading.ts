import { InvalidRequestError, isError } from './generated/errors.js';
import { kindOf, messageOf } from './text.js';

/**
 * Reads what is the program's own, whose getters and proxies may throw. What they throw becomes an error with a code.
 *
 * @throws InvalidRequestError that names what could not be read; an OpenWorkerError as it is.
 */
export function reading<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw isError(cause) ? cause : new InvalidRequestError(`${what} cannot be read: ${messageOf(cause)}`, {}, { cause });
  }
}

/** An object's own fields, each read once. */
export function fieldsOf(what: string, value: object): Record<string, unknown> {
  const names = reading(what, () => Object.keys(value));
  return Object.fromEntries(names.map((name) => [name, reading(`${name} of ${what}`, () => (value as Record<string, unknown>)[name])]));
}

/** The items of a list, each read once; undefined for what is none. */
export function itemsOf(what: string, value: unknown): readonly unknown[] | undefined {
  return reading(what, () => (Array.isArray(value) ? Array.from(value as readonly unknown[]) : undefined));
}

/** instanceof, for what the program gave: it may be a proxy that lets nobody look. */
export function instanceOf<T>(what: string, value: unknown, type: abstract new (...args: never) => T): value is T {
  return reading(what, () => value instanceof type);
}

/** What a call was given as an object with fields, of any class. */
export function objectOf(call: string, value: unknown, wanted: string): object {
  if (typeof value !== 'object' || value === null) {
    throw new InvalidRequestError(`${call} was given ${kindOf(value)}; give ${wanted}`);
  }
  return value;
}
