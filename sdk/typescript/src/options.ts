import { InvalidHistoryError, InvalidRequestError } from './generated/errors.js';
import { jsonOf, maxSize, pathTo } from './json.js';
import { fieldsOf, itemsOf, reading } from './reading.js';
import { nearest, suggestion } from './suggestion.js';
import { isRecord, kindOf } from './text.js';

/** What may be given to end the waiting for a call. */
export interface CallOptions {
  /** Ends the waiting with {@link CancelledError}. What was accepted goes on (RU6). */
  signal?: AbortSignal | undefined;
}

/** What a field holds: a kind of value, one of several words, or fields of its own. */
type Kind =
  | ('string' | 'boolean' | 'integer' | 'strings' | 'texts' | 'time')
  | ('json' | 'list' | 'history' | 'arguments')
  | ('any' | readonly string[] | Fields);

/** The fields that an object may have. What a runtime has beyond them is not known to this version of the SDK. */
export interface Fields {
  readonly [name: string]: Kind;
}

const model: Fields = { provider: 'string', name: 'string' };
const compaction: Fields = { additionalInstructions: 'string' };
const limits: Fields = { maxModelCalls: 'integer', maxOutputTokens: 'integer', maxOutputTokensPerCall: 'integer', summaryTokens: 'integer' };
const page: Fields = { owner: 'string', cursor: 'string', limit: 'integer' };

/** The options of each call, by what they are called in messages. */
export const optionsOf = {
  agent: {
    name: 'string',
    instructions: 'string',
    tools: 'strings',
    approvals: { mode: ['always', 'only', 'auto', 'never'], tools: 'strings', reviewerModel: model },
    defaultModel: model,
    limits,
    builtinTools: { askUser: 'boolean', readHistory: 'boolean' },
    unknownOutcome: ['ask', 'tell_model'],
    autoSkipQuestions: 'boolean',
    autoApproverContext: 'string',
    compaction,
    guardrails: 'strings',
    hooks: 'strings',
    memory: 'json',
    planning: 'json',
    scheduling: 'json',
    delegation: 'json',
    team: 'json',
    workspaceTools: 'json',
    sandbox: 'json',
  },
  session: {
    workspace: 'string',
    scratch: 'boolean',
    model,
    autoApproverContext: 'string',
    compaction,
    autoSkipQuestions: 'boolean',
    initialHistory: 'history',
    metadata: 'texts',
    owner: 'string',
    idempotencyKey: 'string',
  },
  turn: {
    submissionId: 'string',
    idempotencyKey: 'string',
    instructionAddendum: 'string',
    model,
    limits,
    whenBusy: ['reject', 'queue', 'interrupt'],
    autoApproverContext: 'string',
    compaction,
    guardrails: 'strings',
  },
  page: { cursor: 'string', limit: 'integer' },
  agents: page,
  sessions: { ...page, agent: 'string', activity: ['idle', 'running', 'waiting', 'recovering'], before: 'time' },
  interactions: page,
  usage: { owner: 'string', since: 'time' },
  events: { after: 'integer' },
  delete: { idleBefore: 'time' },
  revoke: { by: 'string' },
  wait: {},
} satisfies Record<string, Fields>;

/** Options as they are sent, and the signal that came with them. */
export interface Given<T> {
  readonly options: T;
  readonly signal: AbortSignal | undefined;
}

/**
 * Checks options and takes them apart. Fields that are undefined are left out, as if they were not there; null is refused,
 * since it would read as if it cleared something. Times become texts.
 *
 * @throws InvalidRequestError with what to do.
 */
export function given<T>(call: string, value: unknown, fields: Fields): Given<T> {
  if (value === undefined) {
    return { options: {} as T, signal: undefined };
  }
  if (!isRecord(value)) {
    throw new InvalidRequestError(`the options of ${call} are ${kindOf(value)}; give an object, or leave them out`);
  }
  const { signal, ...rest } = ownFields(call, value, { ...fields, signal: 'any' });
  return { options: cleaned(call, rest, fields, [...Object.keys(fields), 'signal']) as T, signal: signalOf(call, signal) };
}

/** A signal that was given, checked. */
export function signalOf(call: string, signal: unknown): AbortSignal | undefined {
  if (signal !== undefined && !reading(`signal of ${call}`, () => signal instanceof AbortSignal)) {
    throw new InvalidRequestError(`signal of ${call} is ${kindOf(signal)}; give the signal of an AbortController`);
  }
  return signal as AbortSignal | undefined;
}

/** An object with the fields that are set, each of its kind. Of a name that is none it is told what may have been meant: one of `names`. */
export function cleaned(call: string, value: object, fields: Fields, names: readonly string[] = Object.keys(fields)): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  const own = ownFields(call, value, fields);
  refuseUnknown(call, Object.keys(own), fields, names);
  for (const [name, field] of Object.entries(own)) {
    if (field !== undefined || fields[name] === 'arguments') { // which are never taken for absent: the model's own would run
      out[name] = checked(name, call, field, fields[name] as Kind);
    }
  }
  return out;
}

/** Refuses fields that are none of a call's. */
export function refuseUnknown(call: string, told: readonly string[], fields: Fields, names: readonly string[]): void {
  const unknown = told.find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) {
    throw new InvalidRequestError(`${call} does not know "${unknown}"${suggestion(unknown, names)}`, { option: unknown });
  }
}

/** An object's own fields. What stands behind it under a known name would be lost in silence. */
function ownFields(call: string, value: object, fields: Fields): Record<string, unknown> {
  const own = fieldsOf(call, value);
  const inherited = Object.keys(fields).find((name) => !Object.hasOwn(own, name) && !(name in Object.prototype) && reading(call, () => name in value));
  if (inherited !== undefined) {
    throw new InvalidRequestError(`${inherited} of ${call} is not the object's own, but its class's or prototype's; give a plain object that has it`);
  }
  return own;
}

/** The known fields of an object of a class, whose others are its own affair; all fields of any other. */
export function plain(call: string, value: object, fields: Fields): object {
  const prototype = reading<unknown>(call, () => Object.getPrototypeOf(value));
  if (prototype === Object.prototype || prototype === null) {
    return value;
  }
  return Object.fromEntries(Object.keys(fields).map((name) => [name, reading(`${name} of ${call}`, () => (value as Record<string, unknown>)[name])]));
}

function checked(name: string, call: string, value: unknown, kind: Kind): unknown {
  const what = `${name} of ${call}`;
  const wrong = (wanted: string): never => {
    throw new InvalidRequestError(`${what} is ${kindOf(value)}; give ${wanted}${value === null ? ', or leave it out' : ''}`);
  };
  const place = { of: call, refuse: (message: string, options: ErrorOptions) => new InvalidRequestError(message, {}, options) };
  if (typeof kind === 'object') {
    if (isWords(kind)) {
      return wordOf(what, value, kind);
    }
    return isRecord(value) ? cleaned(what, value, kind) : wrong(`an object with ${Object.keys(kind).join(', ')}`);
  }
  switch (kind) {
    case 'string':
      return typeof value === 'string' ? bounded(what, value) : wrong('a string');
    case 'boolean':
      return typeof value === 'boolean' ? value : wrong('a boolean');
    case 'integer':
      return Number.isSafeInteger(value) ? value : wrong('a whole number');
    case 'strings': {
      const strings = itemsOf(what, value) ?? wrong('a list of strings');
      onlyStrings(call, strings.map((item, i) => [`${name}[${i}]`, item]));
      return jsonOf(name, strings, place);
    }
    case 'texts': {
      const texts = Object.entries(isRecord(value) ? fieldsOf(what, value) : wrong('an object whose values are strings'));
      onlyStrings(call, texts.filter(([, text]) => text !== undefined).map(([field, text]) => [pathTo(name, field), text]));
      return jsonOf(name, value, place);
    }
    case 'time':
      return reading(what, () => timeOf(value)) ?? wrong('a Date, or a time as in "2026-11-30T12:00:00Z"');
    case 'json':
      return value === null ? wrong('a value') : jsonOf(name, value, place);
    case 'list':
      return itemsOf(what, value)?.map((item, i) => jsonOf(`${name}[${i}]`, item, place)) ?? wrong('a list');
    case 'history':
      return itemsOf(what, value)?.map((item, i) => jsonOf(`${name}[${i}]`, item, { of: call, refuse: (message, options) => noHistory(i, message, options) })) ?? wrong('a list');
    case 'arguments': {
      if (value === undefined) {
        return wrong('the arguments to run with, or leave the field out to run with those of the call');
      }
      const copy = isRecord(value) ? jsonOf(name, value, { ...place, exact: true }) : undefined;
      return isRecord(copy) ? copy : wrong('an object with the arguments');
    }
    case 'any':
      return value;
  }
}

/** One of some words. @throws InvalidRequestError that says the one that was probably meant, or all of them. */
export function wordOf(what: string, value: unknown, words: readonly string[]): string {
  if (typeof value !== 'string') {
    throw new InvalidRequestError(`${what} is ${kindOf(value)}; give ${oneOf(words)}${value === null ? ', or leave it out' : ''}`);
  }
  if (!words.includes(value)) {
    const meant = nearest(value, words);
    throw new InvalidRequestError(`${what} is ${JSON.stringify(value.slice(0, 64))}; ${meant === undefined ? `give ${oneOf(words)}` : `did you mean "${meant}"?`}`);
  }
  return value;
}

function oneOf(words: readonly string[]): string {
  return `one of ${words.map((word) => `"${word}"`).join(', ')}`;
}

function onlyStrings(call: string, fields: readonly (readonly [path: string, value: unknown])[]): void {
  const [path, other] = fields.find(([, value]) => typeof value !== 'string') ?? [];
  if (path !== undefined) {
    throw new InvalidRequestError(`${path} of ${call} is ${kindOf(other)}; give a string`);
  }
}

/** The runtime tells all that is wrong with an item by this code, and of what JSON can say it finds it itself. */
function noHistory(item: number, message: string, options: ErrorOptions): InvalidHistoryError {
  return new InvalidHistoryError(message, { item: String(item), rule: 'json' }, options);
}

function bounded(what: string, text: string): string {
  if (text.length > maxSize) {
    throw new InvalidRequestError(`${what} has ${text.length} characters; nothing that is sent has more than ${maxSize}`, {
      rule: 'length',
      value: String(text.length),
      limit: String(maxSize),
    });
  }
  return text;
}

function isWords(kind: Fields | readonly string[]): kind is readonly string[] {
  return Array.isArray(kind);
}

function timeOf(value: unknown): string | undefined {
  const date = value instanceof Date ? value : typeof value === 'string' ? new Date(value) : undefined;
  return date === undefined || Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
