// A connection to a runtime on which a test sees what is asked, and may step in between.
import { Harness } from '@openworkerai/harness-sdk';

import type { Methods } from '../../src/generated/protocol.js';
import type { Connection, RequestOptions } from '../../src/rpc/connection.js';
import { startRuntime } from '../../src/rpc/process.js';
import { setupOf } from '../../src/setup.js';
import { optionsAt, type Place } from './world.js';

/** Is called with what was asked when it is on its way. */
type Watch = (method: keyof Methods, params: unknown) => void;

/** Opens a harness as {@link openAt} does, over a connection that tells what is asked. */
export async function openTapped(place: Place, watch: Watch): Promise<Harness> {
  const { runtime, ...setup } = setupOf(optionsAt(place));
  return Harness.over(new Tapped(await startRuntime(runtime), watch), setup);
}

class Tapped implements Connection {
  readonly #connection: Connection;
  readonly #watch: Watch;
  readonly handle: Connection['handle'];

  constructor(connection: Connection, watch: Watch) {
    this.#connection = connection;
    this.#watch = watch;
    this.handle = connection.handle.bind(connection);
  }

  request<M extends keyof Methods>(method: M, params: Methods[M]['params'], options?: RequestOptions): Promise<Methods[M]['result']> {
    const answered = this.#connection.request(method, params, options);
    this.#watch(method, params);
    return answered;
  }

  get closed(): Promise<Error | undefined> {
    return this.#connection.closed;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}
