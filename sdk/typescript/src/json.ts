import type { OpenWorkerError } from './generated/errors.js';
import { isRecord, kindOf, messageOf } from './text.js';

/** Levels of lists and objects. What a place takes is the runtime's to say, and less. */
const maxDepth = 128;

/** What one value may have: characters of texts and names, and some for each value. */
export const maxSize = 16 << 20;
const valueSize = 8;

/** How a place reads what it is given. */
export interface JsonPlace {
  /** Where the value stands, for messages: "session.resolve". */
  readonly of: string;
  /**
   * Whether nothing at all may be left out: fields that are undefined, have symbols for names or are not enumerable are refused
   * then, and so are those that a list has beside its items.
   */
  readonly exact?: boolean;
  /** Makes the place's error. */
  refuse(message: string, options: ErrorOptions): OpenWorkerError;
}

/**
 * A copy of a value as JSON says it. What JSON.stringify would drop or empty in silence is refused, by its path: NaN, functions, a
 * Map, an instance of a class without toJSON, a promise that was not awaited, and undefined in a list. A field that is undefined is
 * as good as absent.
 */
export function jsonOf(name: string, value: unknown, place: JsonPlace): unknown {
  return new Walk(place).copy(name, value);
}

class Walk {
  readonly #place: JsonPlace;
  readonly #around = new Set<object>(); // what holds the value that is looked at
  #size = 0;

  constructor(place: JsonPlace) {
    this.#place = place;
  }

  copy(path: string, value: unknown): unknown {
    this.#spend(path, valueSize);
    if (typeof value === 'string') {
      this.#spend(path, value.length);
      return value;
    }
    if (typeof value === 'number') {
      return Number.isFinite(value) ? value + 0 : this.#wrong(path, `is ${value}, which JSON cannot say; give a finite number`); // -0 is 0 in JSON
    }
    if (typeof value === 'object') {
      return value === null ? null : this.#composite(path, value);
    }
    return typeof value === 'boolean' ? value : this.#wrong(path, `is ${kindOf(value)}, which JSON cannot say; give a value of JSON, or leave it out`);
  }

  #composite(path: string, value: object): unknown {
    if (this.#around.has(value)) {
      return this.#wrong(path, 'holds itself; give it without the cycle');
    }
    if (this.#around.size === maxDepth) {
      return this.#wrong(path, `is deeper than ${maxDepth} levels of lists and objects`);
    }
    this.#around.add(value);
    const toJSON = this.#read(`${path}.toJSON`, () => (value as { toJSON?: unknown }).toJSON);
    const copy = typeof toJSON === 'function' ? this.#told(path, value, toJSON as () => unknown) : this.#parts(path, value);
    this.#around.delete(value);
    return copy;
  }

  /** What a value says of itself. */
  #told(path: string, value: object, toJSON: () => unknown): unknown {
    if (value instanceof Date && Number.isNaN(value.getTime())) {
      return this.#wrong(path, 'is a Date that is no time');
    }
    const told: unknown = this.#read(`toJSON of ${path}`, () => toJSON.call(value));
    if (told === value) {
      return this.#parts(path, value);
    }
    if (told === undefined) {
      return this.#wrong(path, 'has a toJSON that gives undefined');
    }
    return typeof told === 'object' && told !== null ? this.#parts(path, told) : this.copy(path, told);
  }

  #parts(path: string, value: object): unknown {
    if (this.#read(path, () => Array.isArray(value))) {
      const list = value as readonly unknown[];
      const length = this.#read(path, () => list.length);
      this.#spend(path, length * valueSize);
      this.#complete(path, value, (name) => name === 'length' || (/^(0|[1-9]\d*)$/.test(name) && Number(name) < length), 'that is none of its items');
      return Array.from({ length }, (_, i) => this.copy(`${path}[${i}]`, this.#read(`${path}[${i}]`, () => list[i])));
    }
    if (!isRecord(value)) {
      return this.#wrong(path, `is ${kindOf(value)}; give a value of JSON`);
    }
    if (!this.#read(path, () => isPlain(value))) {
      return this.#wrong(path, 'is an instance of a class, of which JSON would say the fields alone; give a plain object, for example { ...value }');
    }
    this.#complete(path, value, (name) => Object.prototype.propertyIsEnumerable.call(value, name), 'that is not enumerable');
    const fields: [string, unknown][] = [];
    for (const name of this.#read(path, () => Object.keys(value))) {
      const at = pathTo(path, name);
      this.#spend(at, name.length);
      const field = this.#read(at, () => value[name]);
      if (field !== undefined || this.#place.exact === true) {
        fields.push([name, this.copy(at, field)]);
      }
    }
    return Object.fromEntries(fields); // also of a field "__proto__", which an assignment would lose
  }

  /** Refuses fields that JSON would leave out, where nothing may be. */
  #complete(path: string, value: object, said: (name: string) => boolean, what: string): void {
    if (this.#place.exact !== true) {
      return;
    }
    const left = this.#read(path, () => Reflect.ownKeys(value).find((name) => typeof name === 'symbol' || !said(name)));
    if (left !== undefined) {
      this.#wrong(path, typeof left === 'symbol' ? 'has a field whose name is a symbol, which JSON cannot say' : `has a field ${JSON.stringify(left.slice(0, 64))} ${what}, which JSON leaves out`);
    }
  }

  /** Reads what is the program's own: getters and proxies may throw. */
  #read<T>(path: string, read: () => T): T {
    try {
      return read();
    } catch (cause) {
      return this.#wrong(path, `cannot be read: ${messageOf(cause)}`, cause);
    }
  }

  /** Also bounds what lists say of their length, and a value that stands in many places. */
  #spend(path: string, size: number): void {
    this.#size += size;
    if (this.#size > maxSize) {
      this.#wrong(path, `makes it longer than ${maxSize} characters, ${valueSize} for each value among them`);
    }
  }

  #wrong(path: string, what: string, cause?: unknown): never {
    throw this.#place.refuse(`${path} of ${this.#place.of} ${what}`, { cause });
  }
}

/** Whether it is an object of no class, of this or another realm: one that has nothing, or what all objects have, from elsewhere. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === null || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf'));
}

/** The path of a field, for messages. */
export function pathTo(path: string, name: string): string {
  return /^[A-Za-z_$][\w$]{0,63}$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name.length > 64 ? `${name.slice(0, 63)}…` : name)}]`;
}
