// Makes the tarballs that are published: one of the SDK, and one for each platform with its runtime.
//
//   node --import tsx scripts/pack.ts [--out DIR] [PLATFORM …]
//
// Without platforms it is all of them. The SDK's version is the version of all, and the SDK that is packed names every
// platform's package at that version. They are no dependencies of this directory's package.json: they are made from the
// same source, so there is nothing to install while one works on it.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { packageOf, platform, platforms, type Platform } from './platforms.js';

const sdk = path.resolve(import.meta.dirname, '..');
const repository = path.resolve(sdk, '../..');

interface Manifest {
  version: string;
  [field: string]: unknown;
}

export interface PackOptions {
  /** Where the tarballs go; it is made if it is not there. */
  readonly out: string;
  readonly platforms: readonly Platform[];
  /** A runtime that is built already, for all `platforms`: there should be one. Without it Go compiles each, for minutes. */
  readonly runtime?: string;
  /** Is told what begins. */
  readonly progress?: (line: string) => void;
}

/** A tarball that was made. */
export interface Tarball {
  /** The package's name. */
  readonly name: string;
  /** The file's path. */
  readonly file: string;
}

/** Makes the tarballs, the SDK's first. Everything is made anew; nothing but `dist` and `out` is written. */
export function pack(options: PackOptions): Tarball[] {
  const progress = options.progress ?? (() => {});
  const out = path.resolve(options.out);
  mkdirSync(out, { recursive: true });
  const stage = mkdtempSync(path.join(tmpdir(), 'openworker-pack-'));
  try {
    progress('the SDK: compiling it');
    const tarballs = [packSDK(path.join(stage, 'sdk'), out)];
    for (const [i, p] of options.platforms.entries()) {
      const of = `${i + 1} of ${options.platforms.length}`;
      progress(options.runtime === undefined ? `${p.name} (${of}): compiling the runtime, for minutes the first time` : `${p.name} (${of})`);
      tarballs.push(packRuntime(path.join(stage, p.name), out, p, options.runtime));
    }
    return tarballs;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function packSDK(dir: string, out: string): Tarball {
  const { private: _, scripts: __, devDependencies: ___, ...manifest } = readManifest();
  // What was compiled from a file that is gone must not be shipped.
  rmSync(path.join(sdk, 'dist'), { recursive: true, force: true });
  npm(['run', '--silent', 'build'], sdk);
  for (const part of ['dist', 'src', 'README.md']) cpSync(path.join(sdk, part), path.join(dir, part), { recursive: true });
  const optionalDependencies = Object.fromEntries(platforms.map((p) => [packageOf(p), manifest.version]));
  return seal(dir, out, '@openworkerai/harness-sdk', { ...manifest, optionalDependencies });
}

function packRuntime(dir: string, out: string, p: Platform, runtime: string | undefined): Tarball {
  const { version, license, author, repository: source, engines } = readManifest();
  const program = path.join(dir, 'bin', p.program);
  mkdirSync(path.dirname(program), { recursive: true });
  if (runtime === undefined) compile(program, p);
  else copyFileSync(runtime, program);
  chmodSync(program, 0o755);
  copyFileSync(path.join(sdk, 'npm', 'README.md'), path.join(dir, 'README.md'));
  const name = packageOf(p);
  return seal(dir, out, name, {
    name,
    version,
    description: `The runtime of @openworkerai/harness-sdk for ${p.name}`,
    license,
    author,
    repository: source,
    engines,
    // No libc: the program is linked with none (CGO_ENABLED=0), so it runs with glibc and with musl.
    os: [p.os],
    cpu: [p.cpu],
    files: ['bin'],
    // Package managers that keep packages zipped must put a program on the disk to start it.
    preferUnplugged: true,
  });
}

function compile(program: string, p: Platform): void {
  execFileSync('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', program, './cmd/openworker'], {
    cwd: repository,
    env: { ...process.env, CGO_ENABLED: '0', GOOS: p.goos, GOARCH: p.goarch },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
}

/** Writes the manifest beside the files in `dir` and makes the tarball of them. */
function seal(dir: string, out: string, name: string, manifest: Manifest): Tarball {
  copyFileSync(path.join(repository, 'LICENSE'), path.join(dir, 'LICENSE'));
  writeFileSync(path.join(dir, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  npm(['pack', '--silent', '--pack-destination', out], dir);
  // As npm names it: the scope without its at sign, a dash for the slash.
  return { name, file: path.join(out, `${name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`) };
}

function readManifest(): Manifest {
  return JSON.parse(readFileSync(path.join(sdk, 'package.json'), 'utf8')) as Manifest;
}

function npm(args: readonly string[], cwd: string): void {
  execFileSync('npm', args, { cwd, stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' });
}

function main(): void {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { out: { type: 'string', default: path.join(repository, 'dist', 'npm') } } });
  const wanted = positionals.length === 0 ? platforms : positionals.map(platform);
  for (const { file } of pack({ out: values.out, platforms: wanted, progress: (line) => console.error(line) })) console.log(file);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main();
