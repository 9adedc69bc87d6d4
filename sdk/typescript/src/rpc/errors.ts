/** Errors as they go over the wire, and back. */
import { CancelledError, codeOf, errorOf, InvalidRequestError, isError, numberOf, type OpenWorkerError } from '../generated/errors.js';
import { messageOf } from '../text.js';

/** What {@link TooLateError} bears, of whichever copy of the package: the copies of a program share their bodies. */
const late = Symbol.for('@openworkerai/harness-sdk/too-late');

/** Thrown by a tool's handler that got to its body when the time to begin it had passed: nothing was done. */
export class TooLateError extends Error {
  override readonly name = 'TooLateError';
  readonly [late] = true;
}

function isTooLate(thrown: unknown): boolean {
  try {
    return typeof thrown === 'object' && thrown !== null && late in thrown;
  } catch {
    return false; // a proxy that lets nobody look
  }
}

/** The number of {@link TooLateError}, which has no code of ours. */
const tooLate = -32083;
/** JSON-RPC's number of a method that is not there. */
const methodNotFound = -32601;

/** An error as the client sends it. */
interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: { readonly code: string; readonly details?: Readonly<Record<string, string>>; readonly retryable?: boolean };
}

/** The error of a request for what this client does not do. */
export function unknownMethod(method: string): WireError {
  return { code: methodNotFound, message: `this client has no method ${JSON.stringify(method.slice(0, 80))}` };
}

/** What a handler threw, whatever that is. An error with a code keeps it; any other is told by its message alone. */
export function toWire(thrown: unknown): WireError {
  const message = messageOf(thrown);
  if (isTooLate(thrown)) {
    return { code: tooLate, message };
  }
  try {
    if (isError(thrown)) {
      const { code, details, retryable } = thrown;
      return { code: numberOf(code), message, data: { code, details, retryable } };
    }
  } catch {
    // Its fields cannot be read: it is told as any other.
  }
  return { code: numberOf('tool_failed'), message };
}

/** The error of an answer. One without our data is told by its number, as the library below the runtime makes it. */
export function fromWire(error: unknown): OpenWorkerError {
  const { code: number, message: said, data } = fields(error);
  const message = typeof said === 'string' ? said : 'the runtime answered with an error without a message';
  const { code, details, retryable } = fields(data);
  if (typeof code === 'string' && code !== '') {
    return errorOf(code, message, isDetails(details) ? details : {}, undefined, retryable === true);
  }
  switch (number) {
    case -32700: // what was sent is no JSON
    case -32600: // or no request
    case methodNotFound:
      return new InvalidRequestError(message);
    case -32097: // cancelled
    case -32096: // its time was over
      return new CancelledError(message);
    default:
      return errorOf(typeof number === 'number' ? codeOf(number) : 'internal', message);
  }
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function isDetails(value: unknown): value is Record<string, string> {
  return typeof value === 'object' && value !== null && Object.values(value).every((v) => typeof v === 'string');
}
