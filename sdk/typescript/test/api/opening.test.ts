import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite, test } from 'node:test';

import { Harness } from '../../src/harness.js';
import { lookAt } from '../../src/setup.js';
import { capabilities, failure, FakeConnection, open } from './fake.js';

suite('an opening', () => {
  test('that is given up ends the runtime at once, which may not even answer, and says so', async (t) => {
    const dir = mkdtempSync(path.join(tmpdir(), 'openworker-opening-'));
    t.after(() => rmSync(dir, { recursive: true, force: true }));
    const program = path.join(dir, 'program');
    const started = path.join(dir, 'started');
    // Neither the end of its input nor a polite signal ends it.
    writeFileSync(program, `#!${process.execPath}
process.on('SIGTERM', () => undefined);
require('node:fs').writeFileSync(${JSON.stringify(started)} + '.new', String(process.pid));
require('node:fs').renameSync(${JSON.stringify(started)} + '.new', ${JSON.stringify(started)});
setInterval(() => undefined, 1_000);
`);
    chmodSync(program, 0o755);
    const abort = new AbortController();
    const reason = new Error('enough');
    const opening = failure(Harness.open({ stateDir: path.join(dir, 'state'), runtimePath: program, signal: abort.signal }));
    while (!existsSync(started)) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const from = performance.now();
    abort.abort(reason);
    const error = await opening;
    assert.deepEqual([error.code, error.cause], ['cancelled', reason]);
    assert.match(error.message, /before the harness was open/);
    assert.ok(performance.now() - from < 5_000, 'it waited for the runtime, which has 10 s to end');
    assert.throws(() => process.kill(Number(readFileSync(started, 'utf8')), 0), { code: 'ESRCH' });
  });

  for (const [what, credentials, message] of [
    ['undefined, as a variable that is not set', { OpenAI: 'key', 'My Provider': undefined }, /^credentials\["My Provider"\] of Harness\.open is undefined; is the environment variable set\?/],
    ['an empty text, as a variable that is empty', { OpenAI: '' }, /^credentials\.OpenAI of Harness\.open is an empty text; is the environment variable set\?/],
    ['an object', { OpenAI: { key: 'SECRET' } }, /^credentials\.OpenAI of Harness\.open is an object; give a string$/],
    ['in a list', ['SECRET'], /^credentials of Harness\.open are a list/],
  ] as const) {
    test(`is refused with a secret that is ${what}, which the message does not repeat`, async () => {
      const error = await failure(Harness.open({ stateDir: 'nowhere', credentials: credentials as never }));
      assert.equal(error.code, 'invalid_request');
      assert.match(error.message, message);
      assert.ok(!error.message.includes('SECRET'));
    });
  }

  test('is refused with a secret for a provider that nobody has configured, and its runtime ended', async () => {
    const connection = new FakeConnection({ initialize: () => initializedWith(['OpenAI', 'Scripted']) });
    const initialize = { credentials: { source: 'memory', secrets: { openai: 'k', OpenIA: 'SECRET' } } } as const;
    const error = await failure(open(connection, { initialize }));
    assert.deepEqual([error.code, connection.isClosed], ['unknown_provider', true]);
    assert.match(error.message, /is for the provider "OpenIA", which is not known; did you mean "OpenAI"\?; configured are OpenAI, Scripted$/);
  });

  test('is followed by secrets for providers that are configured, and by no others', async () => {
    const connection = new FakeConnection({ initialize: () => initializedWith(['OpenAI']) });
    const harness = await open(connection);
    await harness.setCredential('openai', 'k');
    assert.equal((await failure(harness.setCredential('OpenIA', 'k'))).code, 'unknown_provider');
    assert.deepEqual(connection.of('credential/set'), [{ provider: 'openai', secret: 'k' }]);
  });

  test('with a file of secrets that others may read is refused, and one that is not there is warned of', (t) => {
    const dir = mkdtempSync(path.join(tmpdir(), 'openworker-opening-'));
    t.after(() => rmSync(dir, { recursive: true, force: true }));
    const file = path.join(dir, 'keys.json');
    const warn = t.mock.method(process, 'emitWarning', () => undefined);
    lookAt(file);
    assert.match(String(warn.mock.calls[0]?.arguments[0]), /OpenWorkerWarning: there is no file .*keys\.json/);
    writeFileSync(file, '{}', { mode: 0o600 });
    lookAt(file);
    assert.equal(warn.mock.callCount(), 1);
    assert.throws(() => lookAt(dir), { code: 'invalid_request', message: /no regular file/ });
    if (process.platform !== 'win32') {
      chmodSync(file, 0o644);
      assert.throws(() => lookAt(file), { code: 'invalid_request', message: /has mode 0644, so others may read it; set it to 0600$/ });
    }
  });
});

function initializedWith(providers: string[]): object {
  return { protocolVersion: 1, runtime: { name: 'fake', version: '1' }, capabilities: { ...capabilities, providers }, maxFrameBytes: 1, maxMessageBytes: 1 };
}
