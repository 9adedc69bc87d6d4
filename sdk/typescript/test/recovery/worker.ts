// A process that is killed: it sends a message, and its tool's body never ends.
import { actor, type Role } from './actor.js';
import { openAt, type Place } from './world.js';

const { place, role, text } = JSON.parse(process.argv[2] ?? '') as { place: Place; role: Role; text: string };

/** What it says, a line each. */
export type Said = { readonly session: string; readonly run: string } | { readonly began: string };

const say = (value: object): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

const harness = await openAt(place);
const agent = actor(harness, role, {
  execute: (_input, { callId }) => {
    say({ began: callId });
    return new Promise(() => undefined);
  },
});
const session = await agent.newSession();
const run = await session.send(text);
say({ session: session.id, run: run.id });
const result = await run.result();
say({ status: result.status });
