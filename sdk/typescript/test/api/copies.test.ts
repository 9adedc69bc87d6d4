// A program may have two copies of the package: one is its own, the other that of something it depends on.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import * as table from '../../src/bodies.js';
import * as errors from '../../src/generated/errors.js';
import { reading } from '../../src/reading.js';
import * as wireErrors from '../../src/rpc/errors.js';
import { Later } from '../recovery/world.js';

const { toWire } = wireErrors;
const { bodies } = table;

const directory = mkdtempSync(path.join(tmpdir(), 'openworker-copy-'));
after(() => rmSync(directory, { recursive: true, force: true }));
cpSync(path.resolve(import.meta.dirname, '../../src'), path.join(directory, 'src'), { recursive: true });
writeFileSync(path.join(directory, 'package.json'), JSON.stringify({ type: 'module' }));

const copied = <T>(file: string): Promise<T> => import(pathToFileURL(path.join(directory, 'src', file)).href) as Promise<T>;
const other = {
  ...(await copied<typeof table>('bodies.ts')),
  ...(await copied<typeof errors>('generated/errors.ts')),
  ...(await copied<typeof wireErrors>('rpc/errors.ts')),
};

const call = (callId: string): { callId: string; attempt: number; epoch: number } => ({ callId: `copies-${callId}`, attempt: 1, epoch: 1 });

suite('two copies of the package', () => {
  test('have classes of their own, and one table of bodies', () => {
    assert.notEqual(other.RuntimeExitedError, errors.RuntimeExitedError);
    assert.equal(other.bodies(), bodies());
  });

  test('let a body go on whose runtime was killed, whichever of them says so', async () => {
    const gone = new AbortController();
    const begun = new Later<AbortSignal>();
    const output = new Later<string>();
    const run = bodies().run(call('gone'), gone.signal, undefined, (signal) => {
      begun.resolve(signal);
      return output.promise;
    });
    const stopped = await begun.promise;
    gone.abort(new other.RuntimeExitedError('killed'));
    assert.equal(stopped.aborted, false);
    output.resolve('sent');
    assert.equal(await run, 'sent');
  });

  test('tell a runtime of each other that a body was not begun in time', async () => {
    const late: unknown = await bodies().run(call('late'), new AbortController().signal, Date.now() - 1, () => 'x').catch((error: unknown) => error);
    assert.equal(other.toWire(late).code, -32083);
    assert.equal(toWire(new other.TooLateError('too late')).code, -32083);
  });

  test('keep the code of an error of each other', async () => {
    await assert.rejects(
      bodies().run(call('arguments'), new AbortController().signal, undefined, () => Promise.reject(new other.ArgumentsInvalidError('at /n: too small'))),
      { code: 'arguments_invalid' },
    );
    const { code, data } = toWire(new other.SessionBusyError('busy', { run: 'r1' }));
    assert.equal(code, errors.numberOf('session_busy'));
    assert.deepEqual(data, { code: 'session_busy', details: { run: 'r1' }, retryable: true });
    const thrown = new other.InvalidToolError('no');
    assert.throws(() => reading('it', () => {
      throw thrown;
    }), (error) => error === thrown);
  });

  test('take no other error for one of theirs', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const thrown of [undefined, null, 'session_busy', Object.assign(new Error('busy'), { code: 'session_busy' }), proxy]) {
      assert.equal(errors.isError(thrown), false);
    }
    assert.equal(errors.isError(new errors.SessionBusyError('busy'), 'queue_full'), false);
  });
});
