/** The runtime as a process of ours. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';

import type { OpenWorkerError } from '../generated/errors.js';
import { InvalidRequestError, RuntimeExitedError, RuntimeNotFoundError } from '../generated/errors.js';
import { messageOf } from '../text.js';
import type { Connection } from './connection.js';
import { Peer } from './connection.js';
import { locateRuntime } from './locate.js';

/** How a runtime is started. */
export interface RuntimeOptions {
  /** The directory that holds everything that lasts. */
  readonly stateDir: string;
  /** The program. Absent: `OPENWORKER_RUNTIME`, then the package for this platform. */
  readonly runtimePath?: string | undefined;
  /** Variables for the runtime, beside those of this process; undefined takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /**
   * Where the runtime's log goes: this process's standard error, or a function, whose own errors are nobody's and are passed over.
   * Absent: only the end of it is kept, for errors.
   */
  readonly stderr?: 'inherit' | ((text: string) => void) | undefined;
  /** How long the runtime may take to end, in milliseconds, before it is killed. Absent: 10,000. */
  readonly graceMs?: number | undefined;
}

/** A connection to a runtime of our own. */
export interface RuntimeConnection extends Connection {
  readonly pid: number;
  /** Ends the runtime at once, whatever it is doing; {@link close} then waits for it. */
  kill(): void;
}

/** How much of what the runtime logs is kept, in bytes. */
const tailBytes = 8 << 10;
/** How long to read on after the runtime's end, in milliseconds: a process that it left may hold its output open. */
const drainMs = 500;

/**
 * Starts a runtime. It has a process group of its own, so that Ctrl-C in a terminal is the application's to handle, and ends
 * with its standard input: when this process ends, however it does, so does the runtime.
 *
 * Rejects with runtime_not_found if the program is not there, may not be run, or is not for this machine.
 */
export async function startRuntime(options: RuntimeOptions): Promise<RuntimeConnection> {
  const { stateDir } = options;
  if (stateDir === '' || stateDir.includes('\0')) {
    throw new InvalidRequestError('stateDir is empty or has a NUL; name the directory that holds everything that lasts');
  }
  const env = { ...process.env, ...options.env };
  const program = locateRuntime({ runtimePath: options.runtimePath, env });
  let child: ChildProcessWithoutNullStreams;
  try {
    child = spawn(program, ['stdio', '--state-dir', stateDir], { env, stdio: 'pipe', detached: process.platform !== 'win32', windowsHide: true });
    await once(child, 'spawn');
  } catch (error) {
    throw notStarted(program, error);
  }
  return new Runtime(child, new Ending(program, child, options));
}

class Runtime extends Peer implements RuntimeConnection {
  readonly pid: number;
  readonly #child: ChildProcessWithoutNullStreams;

  constructor(child: ChildProcessWithoutNullStreams, ending: Ending) {
    super({ input: child.stdout, output: child.stdin, gone: () => ending.wait() });
    this.pid = child.pid ?? 0; // there is one, once it has started
    this.#child = child;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/** Looks after how a runtime ends. */
class Ending {
  readonly #program: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #graceMs: number;
  readonly #exited: Promise<unknown>;
  readonly #closed: Promise<unknown>; // it has ended, and what it wrote is read
  #tail = Buffer.alloc(0); // of its log
  #spoke = false;
  #killed = false;

  constructor(program: string, child: ChildProcessWithoutNullStreams, options: RuntimeOptions) {
    this.#program = program;
    this.#child = child;
    this.#graceMs = Math.min(options.graceMs ?? 10_000, 2 ** 31 - 1); // Node's bound for a timer
    this.#exited = new Promise((resolve) => child.once('exit', resolve));
    this.#closed = new Promise((resolve) => child.once('close', resolve));
    void this.#exited.then(() => this.#drain());
    child.on('error', () => undefined); // of a signal that could not be sent: it has ended
    child.stdout.once('data', () => {
      this.#spoke = true;
    });
    this.#keepLog(options.stderr);
  }

  #keepLog(to: RuntimeOptions['stderr']): void {
    const { stderr } = this.#child;
    const decoder = new StringDecoder('utf8');
    stderr.on('error', () => undefined);
    stderr.on('data', (chunk: Buffer) => {
      this.#tail = Buffer.from(Buffer.concat([this.#tail, chunk]).subarray(-tailBytes));
      if (to === 'inherit') {
        process.stderr.write(chunk);
      } else if (to !== undefined) {
        handOver(to, decoder.write(chunk));
      }
    });
  }

  /** A process that the runtime left may hold its streams open, and ours with them. */
  async #drain(): Promise<void> {
    if (!(await within(this.#closed, drainMs))) {
      this.#child.stdout.destroy();
      this.#child.stderr.destroy();
    }
  }

  /** Waits until the runtime has ended, and kills it when its time is over. */
  async wait(): Promise<OpenWorkerError> {
    if (!(await within(this.#exited, this.#graceMs))) {
      this.#killed = true;
      this.#child.kill('SIGKILL');
    }
    await this.#closed;
    return this.#why();
  }

  #why(): OpenWorkerError {
    if (!this.#spoke && isForeign(this.#program)) {
      return new RuntimeNotFoundError(`${this.#program} is no program for ${process.platform}-${process.arch}; ${nameAnother}`);
    }
    const { exitCode, signalCode } = this.#child;
    const log = this.#log();
    if (!this.#spoke && !this.#killed && exitCode === 0) { // a runtime ends by itself with an error alone
      const logged = log === '' ? '' : `. The end of what it said:\n${log}`;
      return new RuntimeNotFoundError(`${this.#program} ended at once with status ${exitCode}: it is not an OpenWorker runtime; ${nameAnother}${logged}`);
    }
    const how = this.#killed ? `did not end within ${this.#graceMs} ms and was killed` : signalCode === null ? `ended with status ${exitCode}` : `was ended by ${signalCode}`;
    const next = this.#spoke || exitCode === null ? 'open the same state directory again, and what was under way goes on.' : `is ${this.#program} an OpenWorker runtime?`;
    return new RuntimeExitedError(
      `the runtime ${how}; ${next} ${log === '' ? 'It had logged nothing' : `The end of its log:\n${log}`}`,
      signalCode === null ? { status: String(exitCode) } : { signal: signalCode },
    );
  }

  /** The last whole lines of the log. */
  #log(): string {
    const cut = this.#tail.length === tailBytes ? this.#tail.indexOf(0x0a) + 1 : 0;
    return this.#tail.toString('utf8', cut).trimEnd();
  }
}

/** Calls a function of the application's from an event, where what it throws would end the program. */
function handOver(to: (text: string) => unknown, text: string): void {
  try {
    Promise.resolve(to(text)).catch(() => undefined);
  } catch {
    // Where a log is lost there is nowhere to tell of it; its end is kept for the runtime's own error.
  }
}

async function within(done: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([done.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

const nameAnother = 'name another with runtimePath or OPENWORKER_RUNTIME';

function notStarted(program: string, error: unknown): RuntimeNotFoundError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const what =
    code === 'ENOENT' ? `there is no program at ${program}`
    : code === 'EACCES' || code === 'EPERM' ? `${program} may not be run: it is no file, or is not marked as a program`
    : `${program} does not start: ${messageOf(error)}`;
  return new RuntimeNotFoundError(`${what}; ${nameAnother}`, {}, { cause: error });
}

/** Linux has the shell run what is no program, for example one for another machine: it ends at once, and says nothing of use. */
function isForeign(program: string): boolean {
  if (process.platform !== 'linux') {
    return false;
  }
  const head = Buffer.alloc(20);
  try {
    const file = openSync(program, 'r');
    try {
      readSync(file, head, 0, head.length, 0);
    } finally {
      closeSync(file);
    }
  } catch {
    return false;
  }
  if (head.toString('latin1', 0, 2) === '#!') {
    return false;
  }
  const machines: Readonly<Record<string, number>> = { x64: 0x3e, arm64: 0xb7 };
  const own = machines[process.arch];
  return head.toString('latin1', 0, 4) !== '\x7fELF' || (own !== undefined && head.readUInt16LE(18) !== own);
}
