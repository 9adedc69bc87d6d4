// What stands around a harness whose processes are killed: a state directory, a model, and the runtimes that were started.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';

import { Harness, type HarnessOptions } from '@openworkerai/harness-sdk';

import { compile, Model, type Rule } from './model.js';

export const model = { provider: 'OpenAI', name: 'm' };

/** How a harness of a world is opened. Another process gets it as JSON. */
export type Place = Pick<HarnessOptions, 'stateDir' | 'scratchDir' | 'runtimePath'> & { readonly base: string };

/** The options of a harness there. Keys and settings of whoever runs the tests are not looked at. */
export function optionsAt({ base, ...place }: Place): HarnessOptions {
  return { ...place, credentials: { OpenAI: 'key' }, env: { OPENAI_BASE_URL: base, XDG_CONFIG_HOME: place.scratchDir } };
}

export function openAt(place: Place): Promise<Harness> {
  return Harness.open(optionsAt(place));
}

export class World {
  readonly directory: string;
  readonly model: Model;
  readonly place: Place;
  readonly #t: TestContext;

  private constructor(t: TestContext, directory: string, scripted: Model, place: Place) {
    this.#t = t;
    this.directory = directory;
    this.model = scripted;
    this.place = place;
  }

  static async make(t: TestContext, rules: readonly Rule[]): Promise<World> {
    const scripted = await Model.start(rules);
    t.after(() => scripted.end());
    const directory = mkdtempSync(path.join(tmpdir(), 'openworker-recovery-'));
    t.after(() => rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
    // It notes its process and becomes the runtime, so that a test can kill the runtime and nothing else.
    const runtimePath = path.join(directory, 'runtime');
    const program = process.env['OPENWORKER_RUNTIME'] ?? compile('./cmd/openworker');
    writeFileSync(runtimePath, `#!/bin/sh\necho $$ >>"$0.pids"\nexec '${program}' "$@"\n`, { mode: 0o755 });
    const place = { stateDir: path.join(directory, 'state'), scratchDir: path.join(directory, 'scratch'), runtimePath, base: scripted.url };
    return new World(t, directory, scripted, place);
  }

  /** Opens a harness that the end of the test closes. */
  async open(): Promise<Harness> {
    const harness = await openAt(this.place);
    this.#t.after(() => harness.close());
    return harness;
  }

  /** The process of the runtime that was started last. */
  get runtime(): number {
    const pids = readFileSync(`${this.place.runtimePath}.pids`, 'utf8').trim().split('\n');
    return Number(pids.at(-1));
  }

  /** Waits until that process is gone. It may be nobody's child by then, so that nobody is told. */
  async runtimeEnds(): Promise<void> {
    const stat = `/proc/${this.runtime}/stat`;
    while (!/\) [ZX] /.test(readIfThere(stat))) {
      await setTimeout(5);
    }
  }

  killRuntime(): void {
    process.kill(this.runtime, 'SIGKILL');
  }

  /** Starts a program, whose path is from here, in a process of its own. */
  start(program: string, given: object): Child {
    const child = new Child(program, { place: this.place, ...given });
    this.#t.after(() => child.kill());
    return child;
  }
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ') X ';
  }
}

/** A process of ours that says JSON, a line at a time. */
export class Child {
  readonly process: ChildProcess;
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly #said: unknown[] = [];
  #wake: () => void = () => undefined;
  #over = false;
  #errors = '';

  constructor(program: string, given: object) {
    const child = spawn(process.execPath, ['--expose-gc', '--import', 'tsx', path.resolve(import.meta.dirname, program), JSON.stringify(given)], { stdio: 'pipe' });
    this.process = child;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.#said.push(JSON.parse(line));
      this.#wake();
    });
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        this.#over = true;
        this.#wake();
        resolve(code ?? signal ?? -1);
      });
    });
  }

  /** The next that it says. */
  async says<T>(): Promise<T> {
    while (this.#said.length === 0) {
      if (this.#over) {
        throw new Error(`it ended (${String(await this.ended)}) and said no more: ${this.#errors}`);
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#said.shift() as T;
  }

  tell(value: unknown): void {
    this.process.stdin?.write(`${JSON.stringify(value)}\n`);
  }

  /** Kills it, and waits until it is gone. */
  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.ended;
  }
}

/** A promise that is settled from outside. */
export class Later<T = void> {
  resolve: (value: T) => void = () => undefined;
  reject: (error: Error) => void = () => undefined;
  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}
