import { createInterface } from 'node:readline';
import process from 'node:process';

/** Reads lines and writes text, on a terminal and on pipes. */
export class Terminal {
  readonly #lines = createInterface({ input: process.stdin, output: process.stdout, terminal: process.stdin.isTTY });
  readonly #read: string[] = [];
  #wanted: ((line: string | undefined) => void) | undefined;
  #closed = false;
  #column = 0;

  /** @param interrupted is called for each Ctrl-C, whichever way it comes */
  constructor(interrupted: () => void) {
    this.#lines.on('line', (line) => this.#take(line));
    this.#lines.on('close', () => {
      this.#closed = true;
      this.#take(undefined);
    });
    this.#lines.on('SIGINT', interrupted); // on a terminal, which gives the key and no signal
    process.on('SIGINT', interrupted);
  }

  /** Writes text as it comes. */
  write(text: string): void {
    process.stdout.write(text);
    const end = text.lastIndexOf('\n');
    this.#column = end === -1 ? this.#column + text.length : text.length - end - 1;
  }

  /** Writes a line of its own. */
  line(text: string): void {
    this.write(`${this.#column > 0 ? '\n' : ''}${text}\n`);
  }

  /** Asks for a line. Nothing more to read is undefined; so is the end of the signal. */
  async ask(prompt: string, signal?: AbortSignal): Promise<string | undefined> {
    if (signal?.aborted === true) return undefined;
    if (this.#column > 0) this.write('\n');
    const line = this.#read.shift();
    if (line !== undefined) {
      this.write(`${prompt}${line}\n`);
      return line;
    }
    if (this.#closed) return undefined;
    this.#lines.setPrompt(prompt);
    this.#lines.prompt();
    const given = await new Promise<string | undefined>((resolve) => {
      const stop = (): void => this.#take(undefined);
      signal?.addEventListener('abort', stop, { once: true });
      this.#wanted = (value) => {
        signal?.removeEventListener('abort', stop);
        resolve(value);
      };
    });
    if (given === undefined || !process.stdin.isTTY) this.write('\n'); // which a terminal has echoed
    return given?.trim();
  }

  close(): void {
    this.#lines.close();
  }

  #take(line: string | undefined): void {
    const wanted = this.#wanted;
    this.#wanted = undefined;
    if (wanted !== undefined) wanted(line);
    else if (line !== undefined) this.#read.push(line.trim()); // typed, or piped, before anybody asked
  }
}
