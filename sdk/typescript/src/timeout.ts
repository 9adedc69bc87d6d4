import { InvalidRequestError } from './generated/errors.js';

/** A year, which is the most that the runtime takes for the time of a tool, a guardrail or a hook. */
const maxTimeoutMs = 365 * 24 * 3_600_000;

/** Checks how long something may take, in milliseconds. @throws InvalidRequestError with what to do. */
export function checkTimeout(what: string, timeoutMs: number | undefined, least: 0 | 1): void {
  if (timeoutMs !== undefined && (timeoutMs < least || timeoutMs > maxTimeoutMs)) {
    const from = least === 0 ? 'from 0, which is the default,' : 'above 0';
    throw new InvalidRequestError(`timeoutMs of ${what} is ${timeoutMs}; give milliseconds ${from} up to ${maxTimeoutMs}, a year, or leave it out`);
  }
}
