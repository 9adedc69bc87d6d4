// The packages as somebody gets them: packed, installed offline in an empty directory, imported, required and compiled
// against. The runtime that is packed is the one at OPENWORKER_RUNTIME; without it Go compiles one.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pack, type Tarball } from '../scripts/pack.js';
import { ownPlatform, packageOf, platforms } from '../scripts/platforms.js';

const consumer = path.resolve(import.meta.dirname, 'consumer');
const modules = path.resolve(import.meta.dirname, '../node_modules');
const windows = process.platform === 'win32';

/** What npm and the SDK take from the environment is left out: the package must do without. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|OPENWORKER_|NODE_)/i.test(name)));

/** Runs a program and gives what it wrote; fails with all of it if the program does. */
function run(cwd: string, program: string, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, env, encoding: 'utf8', shell: windows && program === 'npm', maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`));
    });
  });
}

/** Runs a tool of this package's development dependencies: `file` is its JavaScript. */
function tool(cwd: string, file: string, ...args: string[]): Promise<string> {
  return run(cwd, process.execPath, path.join(modules, file), ...args);
}

interface Manifest {
  version: string;
  optionalDependencies?: Record<string, string>;
  os?: string[];
  cpu?: string[];
  [field: string]: unknown;
}

async function manifestOf(dir: string): Promise<Manifest> {
  return JSON.parse(await readFile(path.join(dir, 'package.json'), 'utf8')) as Manifest;
}

describe('the packages that are published', () => {
  let temporary: string;
  /** A directory that held nothing but a package.json when the tarballs were installed in it. */
  let app: string;
  let sdk: Tarball;
  let runtime: Tarball;
  let installed: string;
  let installedRuntime: string;

  before(async () => {
    temporary = await mkdtemp(path.join(tmpdir(), 'openworker-pack-test-'));
    app = path.join(temporary, 'app');
    await mkdir(app);
    await writeFile(path.join(app, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
    const built = process.env['OPENWORKER_RUNTIME'];
    const tarballs = pack({ out: path.join(temporary, 'tarballs'), platforms: [ownPlatform()], ...(built ? { runtime: built } : {}) });
    const [first, second] = tarballs;
    assert.ok(first !== undefined && second !== undefined && tarballs.length === 2);
    sdk = first;
    runtime = second;
    await run(app, 'npm', 'install', '--offline', '--cache', path.join(temporary, 'cache'), '--no-audit', '--no-fund', sdk.file, runtime.file);
    installed = path.join(app, 'node_modules', sdk.name);
    installedRuntime = path.join(app, 'node_modules', runtime.name);
    for (const name of ['program.mjs', 'program.cjs', 'program.ts']) await copyFile(path.join(consumer, name), path.join(app, name));
  });

  after(() => rm(temporary, { recursive: true, force: true }));

  /** Runs an installed program on a new state directory and checks what it says of the file that it sends. */
  async function works(program: string): Promise<void> {
    const said = JSON.parse(await run(app, process.execPath, path.join(app, program), path.join(app, 'state', program))) as Record<string, string>;
    assert.equal(said['status'], 'completed');
    assert.match(said['text'] ?? '', /Explain this\..*answer\.txt \(text\/plain, 9 bytes\)/s);
    const { version } = await manifestOf(installed);
    assert.ok(said['version'] !== undefined && version.startsWith(said['version']), `the SDK ${version} brought the runtime ${said['version']}`);
  }

  test('an SDK is published that depends on nothing but its runtimes, each at its own version', async () => {
    const manifest = await manifestOf(installed);
    assert.deepEqual(manifest.optionalDependencies, Object.fromEntries(platforms.map((p) => [packageOf(p), manifest.version])));
    for (const field of ['private', 'scripts', 'dependencies', 'devDependencies', 'peerDependencies']) assert.equal(manifest[field], undefined, field);
  });

  test('a runtime is installed only where it runs, and can be started there', async () => {
    const own = ownPlatform();
    const manifest = await manifestOf(installedRuntime);
    assert.deepEqual([manifest.version, manifest.os, manifest.cpu], [(await manifestOf(installed)).version, [own.os], [own.cpu]]);
    const program = path.join(installedRuntime, 'bin', own.program);
    if (!windows) assert.equal((await stat(program)).mode & 0o777, 0o755);
    assert.match(await run(app, program, 'version'), new RegExp(`${own.goos}/${own.goarch}`));
  });

  test('both have their licence and their README', async () => {
    for (const dir of [installed, installedRuntime]) {
      for (const name of ['LICENSE', 'README.md']) assert.ok((await stat(path.join(dir, name))).size > 0, path.join(dir, name));
    }
  });

  test('a module that imports the package gets an answer', () => works('program.mjs'));

  test('a CommonJS module that requires it gets the same', () => works('program.cjs'));

  /** Compiles a program under every strict rule, into a directory of that name. */
  async function compile(program: string, outDir: string, module: string, moduleResolution: string): Promise<void> {
    const compilerOptions = {
      target: 'es2023',
      lib: ['es2023', 'esnext.disposable'],
      module,
      moduleResolution,
      outDir,
      types: ['node'],
      typeRoots: [path.join(modules, '@types')],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noPropertyAccessFromIndexSignature: true,
      verbatimModuleSyntax: true,
      isolatedModules: true,
      skipLibCheck: false,
    };
    await writeFile(path.join(app, `${outDir}.json`), JSON.stringify({ compilerOptions, files: [program] }));
    await tool(app, 'typescript/bin/tsc', '-p', `${outDir}.json`);
  }

  for (const [module, moduleResolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ] as const) {
    test(`a program that is compiled with moduleResolution ${moduleResolution} gets the same`, async () => {
      const outDir = `with-${moduleResolution}`;
      await compile('program.ts', outDir, module, moduleResolution);
      await works(path.join(outDir, 'program.js'));
    });
  }

  test('the programs of the README run as they stand', async () => {
    const readme = await readFile(path.join(installed, 'README.md'), 'utf8');
    const programs = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map((block) => block[1] ?? '');
    const outputs: string[] = [];
    for (const [i, program] of programs.entries()) {
      await writeFile(path.join(app, `readme${i}.ts`), program);
      await compile(`readme${i}.ts`, `readme${i}`, 'nodenext', 'nodenext');
      outputs.push(await run(path.join(app, `readme${i}`), process.execPath, `readme${i}.js`));
    }
    assert.equal(outputs.length, 2);
    assert.match(outputs[0] ?? '', /^completed Hello!.*\nkeep this to find the session again: \{/);
    assert.match(outputs[1] ?? '', /^may it run\? parcels\.return \{.*42.*\}\ncompleted .*parcel 42 is on its way back/s);
  });

  test('publint has nothing to say', async () => {
    for (const { file } of [sdk, runtime]) await tool(app, 'publint/src/cli.js', '--strict', file);
  });

  // The profile leaves out what does not resolve modules as Node 20.19 does: `node10` does not know "exports", and
  // `node16` from CommonJS does not know that require() loads a module (shown above that it does).
  test('its types are what is loaded', async () => {
    await tool(app, '@arethetypeswrong/cli/dist/index.js', sdk.file, '--profile', 'esm-only', '--no-emoji', '--no-color');
  });
});
