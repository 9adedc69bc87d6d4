// The scripted model of test/modelserver, a process of its own.
import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';

/** The root of the repository. */
const repository = path.resolve(import.meta.dirname, '../../../..');

/** What is said to what; the first rule that holds replies. */
export interface Rule {
  readonly user?: string;
  readonly model?: string;
  /** How many answers there were since the newest text of the user. */
  readonly round?: number;
  /** Given to each request, or one after the other. */
  readonly reply?: Reply;
  readonly replies?: readonly Reply[];
}

/** An answer of the model. */
export interface Reply {
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments?: object }[];
  /** Holds the end of the answer back until the gate of that name is opened. */
  readonly wait?: string;
  /** Makes it an error. */
  readonly status?: number;
}

/** A request as the model got it. */
export interface Seen {
  readonly model: string;
  readonly tools?: readonly string[];
  readonly messages: readonly {
    readonly role: string;
    readonly content?: string;
    readonly parts?: readonly { readonly mediaType: string; readonly name?: string; readonly size: number }[];
    readonly failed?: boolean;
  }[];
}

const compiled = new Map<string, string>();

/** Compiles a program of the repository, once a process. */
export function compile(source: string): string {
  let program = compiled.get(source);
  if (program === undefined) {
    const directory = mkdtempSync(path.join(tmpdir(), 'openworker-program-'));
    process.once('exit', () => rmSync(directory, { recursive: true }));
    program = path.join(directory, path.basename(source));
    execFileSync('go', ['build', '-o', program, source], { cwd: repository, stdio: ['ignore', 'inherit', 'inherit'] });
    compiled.set(source, program);
  }
  return program;
}

export class Model {
  /** For OPENAI_BASE_URL. */
  readonly url: string;
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #waiting: Map<string, (value: unknown) => void>;

  private constructor(url: string, process: ChildProcessWithoutNullStreams, waiting: Map<string, (value: unknown) => void>) {
    this.url = url;
    this.#process = process;
    this.#waiting = waiting;
  }

  /** Starts it with rules, or with a whole script. */
  static async start(script: readonly Rule[] | { readonly rules: readonly object[] }): Promise<Model> {
    const child = spawn(compile('./test/modelserver'), { stdio: 'pipe' });
    child.stderr.pipe(process.stderr);
    const waiting = new Map<string, (value: unknown) => void>();
    const listening = new Promise<unknown>((resolve) => waiting.set('openai', resolve));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said = JSON.parse(line) as Record<string, unknown>;
      for (const [key, value] of Object.entries(said)) {
        const question = key === 'arrived' || key === 'opened' ? `${key} ${String(value)}` : key;
        waiting.get(question)?.(value);
        waiting.delete(question);
      }
    });
    child.stdin.write(`${JSON.stringify('rules' in script ? script : { rules: script })}\n`);
    return new Model((await listening) as string, child, waiting);
  }

  /** Lets the answers end that wait for a gate. */
  async open(gate: string): Promise<void> {
    await this.#ask({ open: gate }, `opened ${gate}`);
  }

  /** Waits until so many requests have come. */
  async arrived(requests: number): Promise<void> {
    await this.#ask({ arrived: requests }, `arrived ${requests}`);
  }

  async requests(): Promise<readonly Seen[]> {
    return (await this.#ask({ requests: true }, 'requests')) as readonly Seen[];
  }

  /** Ends it. It fails if a request broke the protocol or met no rule. */
  async end(): Promise<void> {
    const reported = new Promise<unknown>((resolve) => this.#waiting.set('report', resolve));
    const ended = once(this.#process, 'exit');
    this.#process.stdin.end();
    const { requests: _, ...faults } = (await reported) as { requests: number };
    assert.deepEqual(faults, {});
    assert.deepEqual(await ended, [0, null]);
  }

  #ask(command: object, answer: string): Promise<unknown> {
    return new Promise((resolve) => {
      this.#waiting.set(answer, resolve);
      this.#process.stdin.write(`${JSON.stringify(command)}\n`);
    });
  }
}
