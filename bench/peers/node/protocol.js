// How a system under measurement speaks with the benchmark's driver: bench/protocol says what the lines are.
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

/** Options that the driver starts a system with. */
export function options() {
  const text = { type: "string", default: "" };
  return parseArgs({ options: { url: text, state: text, mode: text, database: text } }).values;
}

/**
 * Answers commands until the input ends. A peer has newSession() and long(), which give a function that takes one
 * turn, and close().
 */
export async function serve(peer) {
  const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\n");
  say({ ready: true });
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      say(await command(peer, line));
    } catch (error) {
      console.error(error);
      say({ error: String(error) });
      process.exit(1);
    }
  }
  await peer.close();
  process.exit(0);
}

async function command(peer, line) {
  const [name, ...numbers] = line.split(" ");
  if (name === "load") return load(peer, ...numbers.map(Number));
  if (name === "turns") return long(peer, Number(numbers[0]));
  throw new Error(`unknown command ${line}`);
}

/** The making of a session counts into the time of its first turn. */
async function load(peer, sessions, seconds, turns) {
  const times = [];
  const start = performance.now();
  const work = async () => {
    let turn;
    for (let n = 0; performance.now() - start < seconds * 1000; n++) {
      const begun = performance.now();
      if (n % turns === 0) turn = await peer.newSession();
      await turn();
      times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: sessions }, work));
  return answer(times, start);
}

async function long(peer, turns) {
  const times = [];
  const start = performance.now();
  const turn = await peer.long();
  for (let n = 0; n < turns; n++) {
    const begun = performance.now();
    await turn();
    times.push(performance.now() - begun);
  }
  return answer(times, start);
}

function answer(times, start) {
  const seconds = (performance.now() - start) / 1000;
  if (times.length === 0) throw new Error("no turn came to an end");
  times.sort((a, b) => a - b);
  return { turns: times.length, seconds, p50: times[times.length >> 1], p99: times[Math.floor((times.length * 99) / 100)] };
}
