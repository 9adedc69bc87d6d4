import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { repository } from './project.js';

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function manifest(directory: string): Manifest {
  return JSON.parse(readFileSync(path.join(repository, directory, 'package.json'), 'utf8')) as Manifest;
}

const tested = manifest('sdk/typescript').devDependencies;

for (const name of readdirSync(path.join(repository, 'examples/typescript'))) {
  test(`the example ${name} installs what it is tested with`, () => {
    const { dependencies, devDependencies } = manifest(`examples/typescript/${name}`);
    const { '@openworkerai/harness-sdk': sdk, ...others } = { ...dependencies, ...devDependencies };
    assert.equal(sdk, 'file:../../../sdk/typescript');
    for (const [dependency, version] of Object.entries(others)) assert.equal(version, tested?.[dependency], dependency);
  });
}
