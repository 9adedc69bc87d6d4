import { statSync } from 'node:fs';
import { resolve } from 'node:path';

import { warn } from './asked.js';
import { InvalidRequestError } from './generated/errors.js';
import type * as wire from './generated/protocol.js';
import type { CheckAction } from './guards.js';
import { pathTo } from './json.js';
import { cleaned, type Fields, signalOf } from './options.js';
import { fieldsOf, reading } from './reading.js';
import type { RuntimeOptions } from './rpc/process.js';
import { isRecord, kindOf } from './text.js';

/** Gives a provider's secret; undefined or '' if there is none. It is asked before each model call. */
export type CredentialCallback = (provider: string, context: { readonly signal: AbortSignal }) => string | undefined | Promise<string | undefined>;

/**
 * Where secrets for providers come from (RE5): secrets by provider, in memory; the runtime's environment, for example
 * OPENAI_API_KEY; a file of mode 0600 with a JSON object of secrets by provider; or a function. An object whose only key is `file`
 * names one.
 */
export type Credentials = Readonly<Record<string, string>> | 'environment' | { readonly file: string } | CredentialCallback;

/** How a harness is opened. Only stateDir is needed. */
export interface HarnessOptions {
  /**
   * The directory that holds everything that lasts; it is made if it is not there. Several processes of one machine may share it. No
   * session's workspace may overlap it (SE5).
   */
  readonly stateDir: string;
  /** Default: memory, without any: then turns wait with credentials_missing until {@link Harness.setCredential}. */
  readonly credentials?: Credentials | undefined;
  /** Speakers to models beside those that the runtime is configured with, or instead of one of the same name. */
  readonly providers?: readonly wire.Provider[] | undefined;
  /** The runtime's program. Default: OPENWORKER_RUNTIME, then the package for this platform. */
  readonly runtimePath?: string | undefined;
  /** Holds the sessions' private workspaces. Default: a directory of its own in the user's cache directory. */
  readonly scratchDir?: string | undefined;
  /** The application's own hard check of each tool call (AP2). It belongs into every process of a store. */
  readonly checkAction?: CheckAction | undefined;
  /** Variables for the runtime, beside those of this process; undefined takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Where the runtime's log goes. Default: only the end of it is kept, for the message of RuntimeExitedError. */
  readonly stderr?: 'inherit' | ((text: string) => void) | undefined;
  /** Ends the opening, with the runtime that was started for it. */
  readonly signal?: AbortSignal | undefined;
}

const providerFields: Fields = {
  name: 'string',
  protocol: ['openai-chat', 'openai-responses', 'anthropic', 'google'],
  baseURL: 'string',
  headers: 'texts',
  keyOptional: 'boolean',
};

const fields: Fields = {
  stateDir: 'string',
  credentials: 'any',
  providers: 'list',
  runtimePath: 'string',
  scratchDir: 'string',
  checkAction: 'any',
  env: 'any',
  stderr: 'any',
};

/** Options of a harness, checked and sorted. */
export interface Setup {
  readonly runtime: RuntimeOptions;
  readonly initialize: Pick<wire.Initialize, 'credentials' | 'providers' | 'actionCheck' | 'scratchDir'>;
  readonly credentials: CredentialCallback | undefined;
  readonly checkAction: CheckAction | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Checks options. @throws InvalidRequestError with what to do. */
export function setupOf(options: unknown): Setup {
  if (!isRecord(options)) {
    throw new InvalidRequestError(`Harness.open was given ${kindOf(options)}; give an object with a stateDir, for example { stateDir: './state' }`);
  }
  const { signal, ...rest } = fieldsOf('Harness.open', options);
  const given = cleaned('Harness.open', rest, fields) as unknown as Partial<HarnessOptions>;
  const { stateDir, credentials, providers, runtimePath, scratchDir, checkAction, env, stderr } = given;
  if (stateDir === undefined || stateDir === '') {
    throw new InvalidRequestError("Harness.open needs a stateDir, for example { stateDir: './state' }");
  }
  for (const [name, path] of Object.entries({ stateDir, runtimePath, scratchDir })) {
    if (path?.includes('\0') === true) {
      throw new InvalidRequestError(`${name} of Harness.open has a NUL, which no path has`);
    }
  }
  if (checkAction !== undefined && typeof checkAction !== 'function') {
    throw new InvalidRequestError(`checkAction of Harness.open is ${kindOf(checkAction)}; give a function`);
  }
  if (stderr !== undefined && stderr !== 'inherit' && typeof stderr !== 'function') {
    throw new InvalidRequestError(`stderr of Harness.open is ${kindOf(stderr)}; give "inherit" or a function`);
  }
  const source = credentials === undefined ? undefined : credentialsOf(credentials);
  return {
    runtime: { stateDir: resolve(stateDir), runtimePath, env: env === undefined ? undefined : variablesOf(env), stderr },
    initialize: {
      ...(source === undefined ? {} : { credentials: source }),
      ...(providers === undefined ? {} : { providers: providers.map(providerOf) }),
      ...(checkAction === undefined ? {} : { actionCheck: true }),
      ...(scratchDir === undefined ? {} : { scratchDir: resolve(scratchDir) }),
    },
    credentials: typeof credentials === 'function' ? credentials : undefined,
    checkAction,
    signal: signalOf('Harness.open', signal),
  };
}

/** A provider, checked: a key that is misspelt would be a server without one. */
function providerOf(given: unknown, i: number): wire.Provider {
  const what = `providers[${i}] of Harness.open`;
  if (!isRecord(given)) {
    throw new InvalidRequestError(`${what} is ${kindOf(given)}; give { name, protocol, baseURL }`);
  }
  const provider = cleaned(what, given, providerFields);
  const missing = ['name', 'protocol', 'baseURL'].find((name) => provider[name] === undefined);
  if (missing !== undefined) {
    throw new InvalidRequestError(`${what} has no ${missing}; give { name, protocol, baseURL }`);
  }
  if (!/^https?:\/\/[^/]/i.test(String(provider['baseURL']))) {
    throw new InvalidRequestError(`baseURL of ${what} is no http or https address; give one as in "https://api.openai.com/v1"`);
  }
  return provider as unknown as wire.Provider;
}

/** Variables for a process: what none can have is refused before one is started. */
function variablesOf(env: unknown): Record<string, string | undefined> {
  if (!isRecord(env)) {
    throw new InvalidRequestError(`env of Harness.open is ${kindOf(env)}; give an object of variables`);
  }
  const variables = fieldsOf('env of Harness.open', env);
  for (const [name, value] of Object.entries(variables)) {
    if (name === '' || /[=\0]/.test(name)) {
      throw new InvalidRequestError(`env of Harness.open has a variable ${JSON.stringify(name)}; a name has no = and no NUL, and is not empty`);
    }
    if (value !== undefined && (typeof value !== 'string' || value.includes('\0'))) {
      throw new InvalidRequestError(`${name} of env of Harness.open is ${typeof value === 'string' ? 'a text with a NUL' : kindOf(value)}; give a string, or undefined to take it away`);
    }
  }
  return variables as Record<string, string | undefined>;
}

function credentialsOf(credentials: Credentials): wire.Credentials {
  if (credentials === 'environment') {
    return { source: 'environment' };
  }
  if (typeof credentials === 'function') {
    return { source: 'callback' };
  }
  const given: unknown = isRecord(credentials) ? fieldsOf('credentials of Harness.open', credentials) : credentials;
  if (!isRecord(given)) {
    // A secret must not stand in a message: what it is is said by its kind alone.
    throw new InvalidRequestError(
      `credentials of Harness.open are ${kindOf(given)} that is none; give secrets by provider, "environment", { file } or a function`,
    );
  }
  for (const [name, secret] of Object.entries(given)) {
    if (secret === undefined || secret === '') {
      const what = secret === '' ? 'an empty text' : 'undefined';
      throw new InvalidRequestError(`${pathTo('credentials', name)} of Harness.open is ${what}; is the environment variable set? Leave it out where there is none`);
    }
    if (typeof secret !== 'string') {
      throw new InvalidRequestError(`${pathTo('credentials', name)} of Harness.open is ${kindOf(secret)}; give a string`);
    }
  }
  const secrets = { ...given } as Record<string, string>;
  const { file } = secrets;
  return file !== undefined && Object.keys(secrets).length === 1 ? { source: 'file', file: resolve(file) } : { source: 'memory', secrets };
}

/** Looks at a file of secrets: one that others may read is refused, and one that is not there may come yet. */
export function lookAt(file: string): void {
  const found = reading(`the file of credentials of Harness.open`, () => statSync(file, { throwIfNoEntry: false }));
  if (found === undefined) {
    warn(`there is no file ${file}, which credentials of Harness.open name; turns that need a secret wait until it is there`);
  } else if (!found.isFile()) {
    throw new InvalidRequestError(`credentials of Harness.open name ${file}, which is no regular file`);
  } else if (process.platform !== 'win32' && (found.mode & 0o077) !== 0) {
    const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
    throw new InvalidRequestError(`credentials of Harness.open name ${file}, which has mode ${mode}, so others may read it; set it to 0600`);
  }
}
