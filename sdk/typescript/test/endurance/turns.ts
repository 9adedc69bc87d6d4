// An application that takes many turns, and says what it and its runtime hold before and after.
import { readdirSync, readFileSync } from 'node:fs';

import type { Agent } from '@openworkerai/harness-sdk';

import { model, openAt, type Place } from '../recovery/world.js';

/** What the two processes hold. */
export interface Held {
  /** Bytes of live objects of this process. */
  readonly heap: number;
  /** What keeps this process's event loop alive, by kind. */
  readonly resources: Record<string, number>;
  /** Open files of this process, and of the runtime. */
  readonly files: number;
  readonly runtimeFiles: number;
  /** Bytes of memory that the runtime has. */
  readonly runtimeMemory: number;
}

const { place, turns } = JSON.parse(process.argv[2] ?? '') as { place: Place; turns: number };

/** Turns of one session: few, so that what grows is not the conversations. */
const turnsOfSession = 10;

const harness = await openAt(place);
harness.registerTool({ name: 'app.look', inputSchema: { type: 'object' }, effect: 'readOnly', execute: () => 'it is there' });
const agent = harness.createAgent({ name: 'looker', tools: ['app.look'], approvals: { mode: 'never' }, defaultModel: model });

// A body that has ended is remembered for a while: first that memory is filled, so that it cannot pass for a leak, nor hide one.
await take(agent, 'look often', 70);
await take(agent, 'look', turns / 5);
const before = held();
await take(agent, 'look', turns);
process.stdout.write(`${JSON.stringify({ before, after: held() })}\n`);
await harness.close();

/** Takes turns, the events of each second one read. */
async function take(on: Agent, text: string, count: number): Promise<void> {
  let session = await on.newSession();
  for (let turn = 1; turn <= count; turn++) {
    const run = await session.send(text);
    if (turn % 2 === 0) {
      let ended = 0;
      for await (const event of run.events()) {
        ended += event.type === 'turn_ended' ? 1 : 0;
      }
      if (ended !== 1) {
        throw new Error(`the turn ended ${ended} times`);
      }
    }
    const { status } = await run.result();
    if (status !== 'completed') {
      throw new Error(`the turn is ${status}`);
    }
    if (turn % turnsOfSession === 0) {
      await session.close();
      session = await on.newSession();
    }
  }
}

function held(): Held {
  const { gc } = globalThis;
  if (gc === undefined) {
    throw new Error('start it with --expose-gc');
  }
  for (let i = 0; i < 4; i++) {
    gc();
  }
  const resources: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) {
    resources[kind] = (resources[kind] ?? 0) + 1;
  }
  const runtime = readFileSync(`${place.runtimePath}.pids`, 'utf8').trim();
  return {
    heap: process.memoryUsage().heapUsed,
    resources,
    files: readdirSync('/proc/self/fd').length,
    runtimeFiles: readdirSync(`/proc/${runtime}/fd`).length,
    runtimeMemory: Number(/^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${runtime}/status`, 'utf8'))?.[1]) * 1024,
  };
}
