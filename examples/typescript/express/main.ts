// A server that keeps the references of its users' sessions in a database. See README.md.
import { mkdir } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { Harness } from '@openworkerai/harness-sdk';
import { registerAgent } from './agent.js';
import { Store } from './database.js';
import { serverOf } from './server.js';

const { values } = parseArgs({
  options: {
    dir: { type: 'string', default: './state' },
    port: { type: 'string', default: '8080' },
    user: { type: 'string', multiple: true, default: [] }, // NAME:TOKEN
  },
});
const directory = path.resolve(values.dir);
await mkdir(directory, { recursive: true });
const store = new Store(path.join(directory, 'application.db'));
for (const user of values.user) {
  const [name, token] = user.split(':');
  if (!name || !token) throw new Error(`--user ${user}: give NAME:TOKEN`);
  store.addUser(name, token);
}

const harness = await Harness.open({
  stateDir: path.join(directory, 'openworker'),
  scratchDir: path.join(directory, 'workspaces'), // else in the user's cache directory, which a service may not have
  credentials: 'environment',
});
const agent = await registerAgent(harness, store);
const server = serverOf(agent, store).listen(Number(values.port), '127.0.0.1');
server.on('listening', () => console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}`));
server.on('error', (error) => void end(error));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end());

// Without its runtime this process can do nothing. Whatever has started it starts it again, and all goes on.
void harness.closed.then(end);

let ending = false;

/** Ends in order: the harness first, which ends the event streams that the server would wait for. */
async function stop(): Promise<void> {
  await harness.close();
  await new Promise((resolve) => {
    server.close(resolve);
  });
  store.close();
}

async function end(error?: Error): Promise<void> {
  if (ending) return;
  ending = true;
  if (error !== undefined) console.error(error);
  try {
    await stop();
    process.exit(error === undefined ? 0 : 1);
  } catch (failure) {
    console.error(failure);
    process.exit(1);
  }
}
