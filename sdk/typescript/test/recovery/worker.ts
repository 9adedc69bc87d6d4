// A process that does not close its harness: it sends a message, and its tool's body does not end.
import { actor, type Role } from './actor.js';
import { openAt, type Place } from './world.js';

const { place, role, text, end, polls } = JSON.parse(process.argv[2] ?? '') as { place: Place; role: Role; text: string; end?: End; polls?: boolean };

/** How it ends by itself when the body has begun. */
export type End = 'exit' | 'throw';

/** What it says, a line each. */
export type Said = { readonly session: string; readonly run: string } | { readonly began: string };

const say = (value: object): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

const harness = await openAt(place);
const agent = actor(harness, role, {
  execute: (_input, { callId }) => {
    say({ began: callId });
    if (end === 'exit') {
      process.exit(3);
    } else if (end === 'throw') {
      setImmediate(() => {
        throw new Error('nobody catches this');
      });
    }
    return new Promise(() => undefined);
  },
});
const session = await agent.newSession();
const run = await session.send(text);
say({ session: session.id, run: run.id });
if (polls === true) {
  setInterval(() => void session.state().catch(() => undefined), 20); // so that it has something to send whenever it goes on
}
const result = await run.result();
say({ status: result.status });
