import type * as wire from './generated/protocol.js';
import type { Connection } from './rpc/connection.js';

/** What handles stand on: a connection to a runtime, and what that runtime can do. */
export interface Host {
  readonly connection: Connection;
  /** What the runtime said last: it knows more guardrails and hooks once they are registered. */
  capabilities: wire.Capabilities;
}
