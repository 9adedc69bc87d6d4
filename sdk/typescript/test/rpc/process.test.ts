import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { InvalidRequestError, RuntimeExitedError, RuntimeNotFoundError } from '../../src/generated/errors.js';
import { locateRuntime } from '../../src/rpc/locate.js';
import type { RuntimeOptions } from '../../src/rpc/process.js';
import { startRuntime } from '../../src/rpc/process.js';

const dir = mkdtempSync(path.join(tmpdir(), 'openworker-process-'));
after(() => rmSync(dir, { recursive: true }));

let programs = 0;

/** A file of the test's own. */
function fileOf(content: string | Uint8Array, mode = 0o755): string {
  programs++;
  const file = path.join(dir, `program-${programs}`);
  writeFileSync(file, content);
  chmodSync(file, mode);
  return file;
}

/** A program that answers as `answer` says: a function body of `message`, `say` and what Node has. */
function runtimeOf(answer: string, atEnd = 'process.exit(0);'): string {
  return fileOf(`#!${process.execPath}
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
let rest = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text) => {
  const lines = (rest + text).split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    const message = JSON.parse(line);
    ${answer}
  }
});
process.stdin.on('end', () => { ${atEnd} });
`);
}

const echo = 'say({ id: message.id, result: message.params });';

function start(runtimePath: string, options?: Partial<RuntimeOptions>): ReturnType<typeof startRuntime> {
  return startRuntime({ stateDir: path.join(dir, 'state'), runtimePath, ...options });
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Error, 'it did not fail');
  return error;
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Waits until the system has seen to something that no event tells. */
async function until(condition: () => boolean): Promise<void> {
  for (const end = Date.now() + 20_000; !condition(); ) {
    assert.ok(Date.now() < end, 'it did not happen');
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

/** What holds this process, beside what the test runner has. */
function handles(): string[] {
  return process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap' || name === 'ProcessWrap' || name === 'Timeout').toSorted();
}

suite('a runtime', () => {
  test('is told its directory and its variables, and answers', async () => {
    const program = runtimeOf("say({ id: message.id, result: { args: process.argv.slice(2), set: process.env.SET, gone: process.env.GONE ?? 'gone' } });");
    process.env['GONE'] = 'still here';
    const runtime = await start(program, { env: { SET: 'yes', GONE: undefined } });
    delete process.env['GONE'];
    assert.deepEqual(await runtime.request('capabilities', {}), { args: ['stdio', '--state-dir', path.join(dir, 'state')], set: 'yes', gone: 'gone' });
    await runtime.close();
  });

  test('leaves nothing of itself after it was closed, a hundred times', async () => {
    const program = fileOf('#!/bin/sh\nread line\necho \'{"jsonrpc":"2.0","id":"c1","result":{}}\'\ncat > /dev/null\n');
    const before = handles();
    const pids: number[] = [];
    for (let i = 0; i < 100; i++) {
      const runtime = await start(program);
      pids.push(runtime.pid);
      await runtime.request('capabilities', {});
      await runtime.close();
      assert.equal(await runtime.closed, undefined);
    }
    await until(() => handles().length <= before.length);
    assert.deepEqual(handles(), before);
    assert.deepEqual(pids.filter(alive), []);
  });

  test('is told to shut down, and its input ends', async () => {
    const told = path.join(dir, 'told');
    const program = runtimeOf(`require('node:fs').appendFileSync(${JSON.stringify(told)}, message.method + ' '); ${echo}`, `require('node:fs').appendFileSync(${JSON.stringify(told)}, 'end');`);
    const runtime = await start(program);
    await runtime.request('capabilities', {});
    await Promise.all([runtime.close(), runtime.close()]);
    assert.equal(await readFile(told, 'utf8'), 'capabilities shutdown end');
  });

  test('that does not end in its time is killed', async () => {
    const runtime = await start(runtimeOf(echo, 'setInterval(() => {}, 1000);'), { graceMs: 50 });
    await runtime.request('capabilities', {});
    await runtime.close();
    assert.equal(alive(runtime.pid), false);
  });

  test('that closes its output and lives on is killed, and what waits fails', async () => {
    const runtime = await start(runtimeOf('require("node:fs").closeSync(1);', 'setInterval(() => {}, 1000);'), { graceMs: 50 });
    const error = await failure(runtime.request('capabilities', {}));
    assert.ok(error instanceof RuntimeExitedError);
    assert.match(error.message, /did not end within 50 ms and was killed/);
    assert.equal(alive(runtime.pid), false);
  });

  test('that breaks the protocol is ended', async () => {
    const runtime = await start(runtimeOf('console.log("hello");'));
    const error = await failure(runtime.request('capabilities', {}));
    assert.match(error.message, /broke the protocol.*no JSON: "hello"/);
    assert.equal(await runtime.closed, error);
    assert.equal(alive(runtime.pid), false);
  });

  test('whose process leaves another one, which holds its streams, is over all the same', async () => {
    const runtime = await start(runtimeOf("say({ id: message.id, result: { pid: require('node:child_process').spawn('sleep', ['1000'], { stdio: ['ignore', 'inherit', 'inherit'] }).pid } }); process.nextTick(() => process.exit(4));"));
    const left: unknown = await runtime.request('capabilities', {});
    try {
      assert.match((await runtime.closed)?.message ?? '', /ended with status 4/);
    } finally {
      process.kill((left as { pid: number }).pid);
    }
  });

  test('logs to a function, in whole characters, or to nothing', async () => {
    const program = runtimeOf("const text = Buffer.from('漢\\n'); process.stderr.write(text.subarray(0, 2), () => setTimeout(() => process.stderr.write(text.subarray(2), () => say({ id: message.id, result: {} })), 20));");
    let text = '';
    const runtime = await start(program, { stderr: (more) => (text += more) });
    await runtime.request('capabilities', {});
    await runtime.close();
    assert.equal(text.slice(0, 2), '漢\n');
  });
});

suite('a runtime that dies', () => {
  test('before it has said anything tells its status and the end of its log', async () => {
    const runtime = await start(fileOf('#!/bin/sh\necho "the state directory is in use" >&2\nexit 7\n'));
    const error = await failure(runtime.request('initialize', { protocolVersions: [1], client: { name: 't', version: '1' } }));
    assert.ok(error instanceof RuntimeExitedError);
    assert.match(error.message, /ended with status 7; is .* an OpenWorker runtime\? The end of its log:\nthe state directory is in use$/s);
    assert.deepEqual(error.details, { status: '7' });
    assert.equal(await failure(runtime.request('capabilities', {})), error);
    assert.equal(await runtime.closed, error);
  });

  for (const [how, script, said] of [
    ['at once and well', 'exit 0', /ended at once with status 0: it is not an OpenWorker runtime; name another with runtimePath or OPENWORKER_RUNTIME$/],
    ['at once and well, with a word', 'echo usage >&2', /with status 0: it is not an OpenWorker runtime; .*The end of what it said:\nusage$/s],
  ] as const) {
    test(`${how}, before it has said anything, is none`, async () => {
      const runtime = await start(fileOf(`#!/bin/sh\n${script}\n`));
      const error = await failure(runtime.request('capabilities', {}));
      assert.ok(error instanceof RuntimeNotFoundError);
      assert.equal(error.retryable, false);
      assert.match(error.message, said);
    });
  }

  test('by a signal says which', async () => {
    const runtime = await start(runtimeOf('process.kill(process.pid, "SIGKILL");'));
    const error = await failure(runtime.request('capabilities', {}));
    assert.match(error.message, /was ended by SIGKILL;.*It had logged nothing$/);
    assert.deepEqual('details' in error && error.details, { signal: 'SIGKILL' });
  });

  test('keeps the last 8 KiB of its log, in whole lines', async () => {
    const runtime = await start(runtimeOf("for (let i = 0; i < 5000; i++) require('node:fs').writeSync(2, `line ${i} é\\n`); process.exit(1);"));
    const { message } = await failure(runtime.request('capabilities', {}));
    const log = message.slice(message.indexOf('log:\n') + 5);
    assert.match(log, /^line \d+ é\n(line \d+ é\n)+line 4999 é$/);
    const bytes = Buffer.byteLength(log);
    assert.ok(bytes > 8_000 && bytes <= 8_192, `${bytes} bytes`);
  });

  test('while much is being written to it fails the writing, and not this process', async () => {
    const runtime = await start(fileOf('#!/bin/sh\nhead -c 100 > /dev/null\nexit 3\n'));
    const asked = Array.from({ length: 20 }, async () => failure(runtime.request('session/state', { session: 'x'.repeat(1 << 20) })));
    for (const error of await Promise.all(asked)) {
      assert.match(error.message, /ended with status 3/);
    }
    await runtime.close();
  });

  test('has its last answers heard', async () => {
    const runtime = await start(runtimeOf('process.stdout.write(JSON.stringify({ id: message.id, result: message.params }) + "\\n", () => process.exit(0));'));
    const session = '漢'.repeat(100_000);
    assert.deepEqual(await runtime.request('session/state', { session }), { session });
    assert.match((await runtime.closed)?.message ?? '', /ended with status 0/);
  });

  test('is one that this process ended, with no care at all', async () => {
    const ended = path.join(dir, 'ended');
    const program = runtimeOf(echo, `require('node:fs').writeFileSync(${JSON.stringify(ended)}, ''); process.exit(0);`);
    const client = `
      import { spawn } from 'node:child_process';
      import { startRuntime } from ${JSON.stringify(fileURLToPath(new URL('../../src/rpc/process.ts', import.meta.url)))};
      const runtime = await startRuntime({ stateDir: 'state', runtimePath: ${JSON.stringify(program)} });
      await runtime.request('capabilities', {});
      const other = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' });
      console.log(JSON.stringify({ runtime: runtime.pid, other: other.pid }));
    `;
    const app = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', client], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [said] = (await once(app.stdout, 'data')) as [Buffer];
    const pids = JSON.parse(said.toString()) as { runtime: number; other: number };
    try {
      app.kill('SIGKILL');
      await until(() => existsSync(ended));
      await until(() => !alive(pids.runtime));
      assert.equal(alive(pids.other), true); // and holds nothing of the runtime's
    } finally {
      process.kill(pids.other);
    }
  });
});

suite('a runtime that does not start', () => {
  const elf = Buffer.alloc(64);
  elf.write('\x7fELF', 'latin1');
  elf.writeUInt16LE(process.arch === 'arm64' ? 0x3e : 0xb7, 18);

  const cases: readonly [name: string, program: () => string, message: RegExp][] = [
    ['is not there', () => path.join(dir, 'nowhere'), /^there is no program at .*nowhere; name another with runtimePath or OPENWORKER_RUNTIME$/],
    ['is a directory', () => dir, /may not be run: it is no file, or is not marked as a program/],
    ['is not marked as a program', () => fileOf('#!/bin/sh\n', 0o644), /may not be run/],
    ['needs an interpreter that is not there', () => fileOf('#!/nowhere/sh\n'), /there is no program/],
  ];
  for (const [name, program, message] of cases) {
    test(`since it ${name} says so`, async () => {
      const before = handles();
      const error = await failure(start(program()));
      assert.ok(error instanceof RuntimeNotFoundError);
      assert.match(error.message, message);
      await until(() => handles().length <= before.length);
      assert.deepEqual(handles(), before);
    });
  }

  const foreign: readonly [name: string, content: Uint8Array | string][] = [
    ['another machine', elf],
    ['no machine', 'this is no program\n'],
  ];
  for (const [name, content] of foreign) {
    test(`since it is for ${name} says so`, { skip: process.platform !== 'linux' && 'elsewhere the system itself refuses it' }, async () => {
      const program = fileOf(content);
      const error = await failure(start(program).then(async (runtime) => runtime.request('capabilities', {})));
      assert.ok(error instanceof RuntimeNotFoundError);
      assert.match(error.message, new RegExp(`^${program} is no program for ${process.platform}-${process.arch}; name another`));
    });
  }

  test('since its directory cannot be named says so', async () => {
    for (const stateDir of ['', 'a\0b']) {
      assert.ok((await failure(start('program', { stateDir }))) instanceof InvalidRequestError);
    }
  });
});

suite('where the runtime is', () => {
  test('the application says first, then OPENWORKER_RUNTIME', () => {
    assert.equal(locateRuntime({ runtimePath: '/a/runtime', env: { OPENWORKER_RUNTIME: '/b/runtime' } }), '/a/runtime');
    assert.equal(locateRuntime({ env: { OPENWORKER_RUNTIME: '/b/runtime' } }), '/b/runtime');
    assert.equal(locateRuntime({ runtimePath: 'bin/runtime', env: {} }), path.resolve('bin/runtime'));
  });

  test('and where nothing says it and no package is there, the error names the package', () => {
    for (const env of [{}, { OPENWORKER_RUNTIME: '' }]) {
      assert.throws(
        () => locateRuntime({ env, platform: 'plan9', arch: 'mips' }),
        (error) => error instanceof RuntimeNotFoundError && /@openworkerai\/harness-runtime-plan9-mips .*not installed: .*runtimePath or OPENWORKER_RUNTIME/.test(error.message),
      );
    }
  });
});
