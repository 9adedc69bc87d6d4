import type * as wire from './generated/protocol.js';
import type { Connection } from './rpc/connection.js';
import type { Signals } from './rpc/signals.js';

/** What handles stand on: a connection to a runtime, and what that runtime can do. */
export interface Host {
  readonly connection: Connection;
  /** What the runtime said last: it knows more guardrails and hooks once they are registered. */
  capabilities: wire.Capabilities;
  /** Ends with the connection; its reason is the error of every call from then on. */
  readonly ended: AbortSignal;
  /** What hears of that, and of callers' signals. */
  readonly signals: Signals;
}
