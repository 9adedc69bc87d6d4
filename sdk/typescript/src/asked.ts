import { errorOf, isError, type OpenWorkerError } from './generated/errors.js';
import { isOf, kindOf } from './text.js';

/** That an application's code gave nothing of use, in words of ours. */
export class Unusable extends Error {}

/**
 * Asks an application's code. What it throws may quote the text that it was shown, and an error is stored: so the runtime is told
 * its class alone, if that is none of the application's own, and this process has the rest, as the cause of a warning. What is of no
 * use is warned of too: where nobody is told, as by a check of actions, its author would look for it in vain.
 */
export async function asked<R>(
  what: string,
  Failure: new (message: string) => OpenWorkerError,
  signal: AbortSignal,
  ask: () => Promise<R>,
  failures: Failures = new Failures(),
): Promise<R> {
  try {
    const answer = await ask();
    failures.over(what);
    return answer;
  } catch (thrown) {
    const unusable = isOf(thrown, Unusable);
    const told = unusable ? thrown.message : `it threw ${classOf(thrown)}`;
    if (!signal.aborted) {
      failures.warn(what, told, unusable ? undefined : { thrown });
    }
    throw new Failure(told);
  }
}

/** Warns of a failure once, however often the same is asked again, until it is over. */
export class Failures {
  readonly #told = new Map<string, string>();

  warn(what: string, told: string, cause?: { readonly thrown: unknown }): void {
    if (this.#told.get(what) === told) {
      return;
    }
    this.#told.set(what, told);
    if (cause === undefined) {
      warn(`${what} failed: ${told}`);
    } else {
      emit(new Error(`${what} failed: ${told}; process.on('warning') has it as the cause of this warning`, { cause: cause.thrown }));
    }
  }

  over(what: string): void {
    this.#told.delete(what);
  }
}

/** Tells this process, and nobody else, what is wrong with its own code. */
export function warn(message: string): void {
  emit(new Error(message));
}

function emit(warning: Error): void {
  process.emitWarning(Object.assign(warning, { name: 'OpenWorkerWarning' }));
}

const builtIn: ReadonlyMap<unknown, string> = new Map(
  [Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError, AggregateError, DOMException].map((type) => [type.prototype, type.name]),
);

/** The class of what was thrown, if it is the language's or the SDK's, or its kind: nothing that the application has named. */
function classOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) {
    return kindOf(thrown);
  }
  try {
    const name = isError(thrown) ? errorOf(thrown.code, '').name : builtIn.get(Object.getPrototypeOf(thrown));
    if (name !== undefined) {
      return `a value of class ${name}`;
    }
    return thrown instanceof Error ? "an error of the application's own" : 'an object';
  } catch {
    return 'an object'; // that cannot be asked
  }
}
