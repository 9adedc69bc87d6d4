// A connection to a runtime on which a test sees what is asked, by either side, and may step in between.
import { Harness } from '@openworkerai/harness-sdk';

import type { Callbacks, Methods } from '../../src/generated/protocol.js';
import type { Connection, Handler, RequestOptions } from '../../src/rpc/connection.js';
import { startRuntime } from '../../src/rpc/process.js';
import { setupOf } from '../../src/setup.js';
import { optionsAt, type Place } from './world.js';

/** Is called with what was asked when it is on its way. */
type Watch = (method: keyof Methods | keyof Callbacks, params: unknown) => void;

/** Opens a harness as {@link openAt} does, over a connection that tells what is asked. */
export async function openTapped(place: Place, watch: Watch): Promise<Harness> {
  const { runtime, ...setup } = setupOf(optionsAt(place));
  return Harness.over(new Tapped(await startRuntime(runtime), watch), setup);
}

class Tapped implements Connection {
  readonly #connection: Connection;
  readonly #watch: Watch;

  constructor(connection: Connection, watch: Watch) {
    this.#connection = connection;
    this.#watch = watch;
  }

  request<M extends keyof Methods>(method: M, params: Methods[M]['params'], options?: RequestOptions): Promise<Methods[M]['result']> {
    const answered = this.#connection.request(method, params, options);
    this.#watch(method, params);
    return answered;
  }

  handle<C extends keyof Callbacks>(method: C, handler: Handler<C>): void {
    this.#connection.handle(method, (params, signal) => {
      this.#watch(method, params);
      return handler(params, signal);
    });
  }

  get closed(): Promise<Error | undefined> {
    return this.#connection.closed;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}
