// Runs the tests: all of them, or those of the files that are named. Options go to Node's test runner.
//
//   npm test [-- --test-name-pattern=TEXT] [-- FILE …]
//
// Node 20 finds neither TypeScript nor what a pattern means, and calls it a success when it found no test.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';

const tests = path.resolve(import.meta.dirname, '../test');
const given = process.argv.slice(2);
const options = given.filter((argument) => argument.startsWith('-'));
const named = given.filter((argument) => !argument.startsWith('-'));
const files =
  named.length > 0
    ? named
    : readdirSync(tests, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.test.ts'))
        .toSorted()
        .map((name) => path.join(tests, name));
if (files.length === 0) throw new Error(`there is no *.test.ts in ${tests}`);

// A test that hangs fails after ten minutes, as one of Go's does.
const { status, error } = spawnSync(process.execPath, ['--import', 'tsx', '--test', '--test-timeout=600000', ...options, ...files], { stdio: 'inherit' });
if (error !== undefined) throw error;
process.exitCode = status ?? 1;
