import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';

import * as errors from '../../src/generated/errors.js';
import { codeOf, errorOf, numberOf, OpenWorkerError, RateLimitedError, SessionBusyError } from '../../src/generated/errors.js';

interface Row {
  readonly code: string;
  readonly retryable: boolean;
  readonly rpc: number;
}

const table = JSON.parse(readFileSync(path.resolve(import.meta.dirname, '../../../../spec/codes.json'), 'utf8')) as readonly Row[];

suite('the classes of errors', () => {
  test('each code of the table has a class of its own, and keeps its number and whether to try again', () => {
    const classes = new Map<unknown, string>();
    for (const row of table) {
      const error = errorOf(row.code, 'what was wrong', { run: 'run_1' });
      assert.ok(error instanceof OpenWorkerError, row.code);
      assert.notEqual(error.constructor, OpenWorkerError, row.code);
      assert.equal(classes.get(error.constructor), undefined, row.code);
      classes.set(error.constructor, row.code);
      assert.equal(error.code, row.code);
      assert.equal(error.message, 'what was wrong');
      assert.deepEqual(error.details, { run: 'run_1' });
      assert.equal(error.retryable, row.retryable, row.code);
      assert.equal(error.name, error.constructor.name);
      assert.equal(numberOf(row.code), row.rpc, row.code);
      assert.equal(codeOf(row.rpc), row.code);
    }
    const exported = Object.values(errors).filter((value) => typeof value === 'function' && value.prototype instanceof OpenWorkerError);
    assert.equal(exported.length, table.length);
  });

  test('a code of a later runtime is an error without a class, as retryable as it says', () => {
    const error = errorOf('never_heard_of', 'later', undefined, undefined, true);
    assert.equal(error.constructor, OpenWorkerError);
    assert.equal(error.code, 'never_heard_of');
    assert.equal(error.retryable, true);
    assert.equal(errorOf('never_heard_of', 'later').retryable, false);
    assert.equal(numberOf('never_heard_of'), numberOf('internal'));
    assert.equal(codeOf(-1), 'internal');
  });

  test('the name of a method of objects is no code', () => {
    assert.equal(errorOf('constructor', 'x').constructor, OpenWorkerError);
    assert.equal(errorOf('__proto__', 'x').constructor, OpenWorkerError);
  });

  test('an error has a cause only where one was given, and details also where none were', () => {
    const cause = new Error('below');
    assert.equal(errorOf('internal', 'x', {}, cause).cause, cause);
    assert.equal('cause' in errorOf('internal', 'x'), false);
    assert.deepEqual(new SessionBusyError('x').details, {});
    assert.equal(new RateLimitedError('x', {}, { cause }).cause, cause);
  });

  test('its text says its class, and its fields are shown where it is logged', () => {
    const error = new SessionBusyError('a turn is under way', { run: 'run_1' });
    assert.equal(String(error), 'SessionBusyError: a turn is under way');
    assert.match(error.stack ?? '', /^SessionBusyError: a turn is under way\n/);
    assert.deepEqual(Object.keys(error).toSorted(), ['code', 'details', 'retryable']);
  });
});
