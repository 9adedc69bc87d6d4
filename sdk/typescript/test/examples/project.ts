// Projects outside of this package, as its users have them: a directory with sources and node_modules.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const sdk = path.resolve(import.meta.dirname, '../..');
/** The root of the repository. */
export const repository = path.resolve(sdk, '../..');

/** A project in a directory of its own, where the SDK is that of this checkout, uncompiled. */
export class Project {
  readonly directory: string;

  constructor(name: string) {
    this.directory = mkdtempSync(path.join(tmpdir(), `openworker-${name}-`));
    const modules = path.join(this.directory, 'node_modules');
    mkdirSync(modules);
    for (const entry of readdirSync(path.join(sdk, 'node_modules'))) {
      if (!entry.startsWith('.')) symlinkSync(path.join(sdk, 'node_modules', entry), path.join(modules, entry));
    }
    const harness = path.join(modules, '@openworkerai/harness-sdk');
    mkdirSync(harness, { recursive: true });
    symlinkSync(path.join(sdk, 'src'), path.join(harness, 'src'));
    const manifest = { name: '@openworkerai/harness-sdk', type: 'module', exports: './src/index.ts' };
    writeFileSync(path.join(harness, 'package.json'), JSON.stringify(manifest));
  }

  /** The project of an example. */
  static ofExample(name: string): Project {
    const project = new Project(name);
    cpSync(path.join(repository, 'examples/typescript', name), project.directory, {
      recursive: true,
      filter: (file) => !file.endsWith('node_modules') && !file.endsWith(`${path.sep}state`),
    });
    return project;
  }

  /** Writes a file of the project. */
  write(file: string, content: string | Uint8Array): void {
    writeFileSync(path.join(this.directory, file), content);
  }

  /** What a strict compiler has to say of the project: '' if it has nothing. */
  async compile(): Promise<string> {
    try {
      await promisify(execFile)(process.execPath, [path.join(sdk, 'node_modules/typescript/bin/tsc'), '-p', '.'], { cwd: this.directory });
      return '';
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      return stdout + stderr || String(error);
    }
  }

  /** Starts a program of the project in its own directory, with keys for no provider. */
  start(file: string, args: readonly string[] = [], env: Record<string, string> = {}): Program {
    const home = path.join(this.directory, 'home');
    mkdirSync(home, { recursive: true });
    return new Program(
      spawn(process.execPath, ['--import', 'tsx', path.basename(file), ...args], {
        cwd: path.join(this.directory, path.dirname(file)),
        env: {
          PATH: process.env['PATH'],
          OPENWORKER_RUNTIME: process.env['OPENWORKER_RUNTIME'] ?? path.join(repository, 'bin/openworker'),
          HOME: home,
          XDG_CONFIG_HOME: home,
          XDG_CACHE_HOME: home,
          ...env,
        },
      }),
    );
  }

  remove(): void {
    // A runtime that has lost its program may be writing its last.
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** A program that was started, and what it writes. */
export class Program {
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  readonly #process: ChildProcess;
  readonly #waiting = new Set<() => void>();
  #written = '';
  #errors = '';
  #seen = 0;
  #over = false;

  constructor(process: ChildProcess) {
    this.#process = process;
    process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#written += text;
      this.#look();
    });
    process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
    process.stdin?.on('error', () => undefined); // it has ended, which `ended` tells
    this.ended = new Promise((resolve) => {
      process.on('close', (code, signal) => {
        this.#over = true;
        this.#look();
        resolve(code ?? signal ?? -1);
      });
    });
  }

  /** All that it has written. */
  get output(): string {
    return this.#written;
  }

  /** What it has written to standard error. */
  get errors(): string {
    return this.#errors;
  }

  /** Waits for a text behind the one that was waited for before. */
  async until(pattern: RegExp | string): Promise<RegExpExecArray> {
    const expression = typeof pattern === 'string' ? new RegExp(pattern.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&')) : pattern;
    for (;;) {
      const found = expression.exec(this.#written.slice(this.#seen));
      if (found !== null) {
        this.#seen += found.index + found[0].length;
        return found;
      }
      if (this.#over) throw new Error(`it ended without writing ${String(pattern)}:\n${this.#written}\n${this.#errors}`);
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  /** Gives it a line. */
  type(line: string): void {
    this.#process.stdin?.write(`${line}\n`);
  }

  /** Ends its standard input. */
  end(): void {
    this.#process.stdin?.end();
  }

  /** Sends it a signal. */
  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /** Kills it, and waits until it is gone. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.ended;
  }

  #look(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }
}
