/** Where the runtime's program is. */
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';

import { RuntimeNotFoundError } from '../generated/errors.js';

/** Where to look. */
export interface Location {
  /** The program, where the application says it. A relative path is one from the current directory. */
  readonly runtimePath?: string | undefined;
  /** `OPENWORKER_RUNTIME` names the program where the application does not. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `linux`, `x64`: this machine's if absent. */
  readonly platform?: string | undefined;
  readonly arch?: string | undefined;
}

const require = createRequire(import.meta.url);

/**
 * The path of the runtime's program: the one that was given, else `OPENWORKER_RUNTIME`, else that of the package for this
 * platform, which npm installs with this one. Throws runtime_not_found, with what to do, if there is none.
 */
export function locateRuntime(location: Location): string {
  const said = location.runtimePath ?? location.env['OPENWORKER_RUNTIME'];
  if (said !== undefined && said !== '') {
    return resolve(said);
  }
  const platform = location.platform ?? process.platform;
  const name = `@openworkerai/harness-runtime-${platform}-${location.arch ?? process.arch}`;
  try {
    const manifest = require.resolve(`${name}/package.json`);
    return join(dirname(manifest), 'bin', platform === 'win32' ? 'openworker.exe' : 'openworker');
  } catch (error) {
    throw new RuntimeNotFoundError(
      `the package ${name} with the runtime is not installed: install @openworkerai/harness-sdk on the machine that it runs on, with its optional dependencies; ` +
        'or name a program with runtimePath or OPENWORKER_RUNTIME',
      {},
      { cause: error },
    );
  }
}
