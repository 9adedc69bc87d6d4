// A chat in which a person approves what the agent does. See README.md.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { Harness, OpenWorkerError, type Run, type Session, type TurnOptions } from '@openworkerai/harness-sdk';
import { kept } from './kept.js';
import { registerTools } from './mail.js';
import { Terminal } from './terminal.js';
import { follow } from './turn.js';

/** The turn that is under way, and what ends the asking in it. */
let turn: { readonly run: Run; readonly asking: AbortController } | undefined;

// Ctrl-C cancels the turn. The second one, or the first without a turn, leaves: what is under way is in the journal.
const terminal = new Terminal(() => {
  if (turn === undefined || turn.asking.signal.aborted) process.exit(130);
  terminal.line('(cancelling; once more leaves)');
  turn.run.cancel().catch(failed);
  turn.asking.abort();
});

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { dir: { type: 'string', default: './state' } } });
  const directory = path.resolve(values.dir);
  await mkdir(directory, { recursive: true });
  await using harness = await Harness.open({ stateDir: path.join(directory, 'openworker'), credentials: 'environment' });
  registerTools(harness, directory);
  const agent = harness.createAgent({
    name: 'secretary',
    instructions: 'Write letters and print pages for the user. Ask if something is not clear.',
    tools: ['app.send', 'app.print'],
    defaultModel: { provider: 'Scripted', name: 'demo' }, // offline; approvals are asked for by default
  });
  const session = await kept(agent, path.join(directory, 'session.json'));
  const { run } = await session.state();
  if (run !== undefined) {
    terminal.line('(a turn was under way; it goes on)');
    await finish(session, await session.openRun(run));
  }
  const options: TurnOptions = process.env['OPENAI_API_KEY'] ? { model: { provider: 'OpenAI', name: process.env['OPENAI_MODEL'] ?? 'gpt-5-mini' } } : {};
  if (options.model === undefined) terminal.line('(offline: try  use app.send with {"to":"ann"}  or  use ask_user with {"question":"Which day?"})');
  for (;;) {
    const text = await terminal.ask('you: ');
    if (text === undefined) return;
    if (text === '') continue;
    try {
      await finish(session, await session.send(text, options));
    } catch (error) {
      // For example session_busy, where another process sent something: the session lives on.
      if (!(error instanceof OpenWorkerError) || error.code === 'runtime_exited') throw error;
      terminal.line(`(${error.code}: ${error.message})`);
    }
  }
}

/** Follows a turn, and says how it ended where that is not plain. */
async function finish(session: Session, run: Run): Promise<void> {
  turn = { run, asking: new AbortController() };
  try {
    const result = await follow(session, run, terminal, turn.asking.signal);
    switch (result.status) {
      case 'completed':
        break;
      case 'failed':
        terminal.line(`(failed: ${result.error?.code}: ${result.error?.message})`);
        break;
      case 'interrupted': // for example a credential; it goes on by itself once that is there
        for (const { code, name, message } of result.waitingFor ?? []) terminal.line(`(it waits: ${message ?? `${code ?? 'for an answer'} ${name ?? ''}`})`);
        break;
      case 'cancelled':
      case 'limit_reached':
      default: // a later version may have more
        terminal.line(`(${result.status})`);
    }
  } finally {
    turn = undefined;
  }
}

function failed(error: unknown): void {
  const told = error instanceof OpenWorkerError ? `${error.code}: ${error.message}` : error;
  console.error(told);
  process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  failed(error);
} finally {
  terminal.close();
}
