/** A platform that a runtime is built for. */
export interface Platform {
  /** Node's name for it: `process.platform`, a dash, `process.arch`. It ends the name of the package. */
  readonly name: string;
  /** What npm compares with the machine it installs on. */
  readonly os: string;
  readonly cpu: string;
  /** What Go compiles for. */
  readonly goos: string;
  readonly goarch: string;
  /** The program's name in bin/. */
  readonly program: string;
}

export const platforms: readonly Platform[] = [
  { name: 'linux-x64', os: 'linux', cpu: 'x64', goos: 'linux', goarch: 'amd64', program: 'openworker' },
  { name: 'linux-arm64', os: 'linux', cpu: 'arm64', goos: 'linux', goarch: 'arm64', program: 'openworker' },
  { name: 'darwin-x64', os: 'darwin', cpu: 'x64', goos: 'darwin', goarch: 'amd64', program: 'openworker' },
  { name: 'darwin-arm64', os: 'darwin', cpu: 'arm64', goos: 'darwin', goarch: 'arm64', program: 'openworker' },
  { name: 'win32-x64', os: 'win32', cpu: 'x64', goos: 'windows', goarch: 'amd64', program: 'openworker.exe' },
];

/** The platform of that name; throws for one that nothing is built for. */
export function platform(name: string): Platform {
  const found = platforms.find((p) => p.name === name);
  if (found === undefined) {
    throw new Error(`no runtime is built for ${name}; there are ${platforms.map((p) => p.name).join(', ')}`);
  }
  return found;
}

/** The platform that this program runs on. */
export function ownPlatform(): Platform {
  return platform(`${process.platform}-${process.arch}`);
}

/** The name of the platform's package. */
export function packageOf(p: Platform): string {
  return `@openworkerai/harness-runtime-${p.name}`;
}
