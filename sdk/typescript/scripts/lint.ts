// Lints the package, and the examples: each as the project of its own that it is, with this checkout's SDK.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';

import { Project, repository } from '../test/examples/project.js';

const sdk = path.resolve(import.meta.dirname, '..');
const linter = path.join(sdk, 'node_modules/oxlint/bin/oxlint');

/** Whether there is nothing to say of a directory's files: all, or those that are named. */
function isClean(directory: string, files: readonly string[] = []): boolean {
  const { status, error } = spawnSync(process.execPath, [linter, '--config', path.join(sdk, '.oxlintrc.json'), ...files], { cwd: directory, stdio: 'inherit' });
  if (error !== undefined) throw error;
  return status === 0;
}

let clean = isClean(sdk);
for (const example of readdirSync(path.join(repository, 'examples/typescript'))) {
  const project = Project.ofExample(example);
  console.log(`examples/typescript/${example}:`);
  const sources = readdirSync(project.directory).filter((file) => file.endsWith('.ts')); // and not what is installed there
  clean = isClean(project.directory, sources) && clean;
  project.remove();
}
process.exitCode = clean ? 0 : 1;
