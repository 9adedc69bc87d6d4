import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite, test } from 'node:test';

import { startRuntime } from '../../src/rpc/process.js';

suite("what takes a runtime's log", () => {
  for (const [how, fail] of [
    ['throws', () => { throw new Error('the disk is full'); }],
    ['rejects', () => Promise.reject(new Error('the disk is full'))],
  ] as [how: string, fail: () => unknown][]) {
    test(`may be a function that ${how}: it is called again, and the end of the log is kept`, async (t) => {
      const dir = mkdtempSync(path.join(tmpdir(), 'openworker-log-'));
      t.after(() => rmSync(dir, { recursive: true }));
      const program = path.join(dir, 'program');
      writeFileSync(program, '#!/bin/sh\nfor id in c1 c2; do\n  read line\n  echo "log of $id" >&2\n  read line\n  echo \'{"jsonrpc":"2.0","id":"\'$id\'","result":{}}\'\ndone\nexit 3\n');
      chmodSync(program, 0o755);
      let calls = 0;
      let called: (() => void) | undefined;
      const runtime = await startRuntime({
        stateDir: dir,
        runtimePath: program,
        stderr: () => {
          calls++;
          called?.();
          return fail();
        },
      });
      for (let i = 1; i <= 2; i++) {
        const logged = new Promise<void>((resolve) => {
          called = resolve;
        });
        const answered = runtime.request('capabilities', {});
        await logged;
        runtime.request('shutdown', {}).catch(() => undefined); // a line that it waits for
        await answered.catch(() => undefined);
      }
      assert.match(String(await runtime.closed), /ended with status 3.*The end of its log:\nlog of c1\nlog of c2/s);
      assert.equal(calls, 2);
    });
  }
});
