// The numbers of a model are decimals of any length, and those of this language doubles.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite, test, type TestContext } from 'node:test';

import { allow, Harness, type HarnessOptions } from '@openworkerai/harness-sdk';

/** A harness with its tool, and what the tool and the check of actions have seen. */
async function paying(t: TestContext, options: Partial<HarnessOptions> = {}) {
  const dir = mkdtempSync(path.join(tmpdir(), 'openworker-numbers-'));
  const harness = await Harness.open({ stateDir: path.join(dir, 'state'), scratchDir: path.join(dir, 'scratch'), ...options });
  t.after(async () => {
    await harness.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const seen: unknown[] = [];
  harness.registerTool({
    name: 'app.pay',
    inputSchema: { type: 'object' },
    execute: (input) => {
      seen.push(input);
      return 'paid';
    },
  });
  const agent = harness.createAgent({ name: 'a', tools: ['app.pay'], defaultModel: { provider: 'Scripted', name: 'demo' } });
  return { session: await agent.newSession(), seen };
}

suite('a number of a call', { concurrency: true }, () => {
  for (const number of ['9007199254740993', '12345678901234567890']) {
    test(`that no double holds, as ${number}, reaches no body, whatever a person approved, and the model is told what to do`, async (t) => {
      const { session, seen } = await paying(t);
      const { text } = await session.runWith(`use app.pay with {"account": ${number}}`, { onApproval: () => ({ decision: 'allow' }) });
      assert.match(text, /app__pay did not succeed: .*at \/account: the number .* as a string/);
      assert.ok(text.includes(number));
      assert.deepEqual(seen, []);
    });
  }

  test('that no double holds reaches no check of actions, and nobody is asked', async (t) => {
    const { session, seen } = await paying(t, {
      checkAction: (action) => {
        seen.push(action.arguments);
        return allow();
      },
    });
    const { status, text } = await session.run('use app.pay with {"account": 9007199254740993}');
    assert.equal(status, 'completed');
    assert.match(text, /at \/account: the number 9007199254740993 .* as a string/);
    assert.deepEqual(seen, []);
  });

  test('that a person changed here is a double, and reaches the body as it is', async (t) => {
    const { session, seen } = await paying(t);
    const changed = { account: 2 ** 60, whole: Number.MAX_SAFE_INTEGER, large: 1e300 };
    await session.runWith('use app.pay with {"account": 1}', { onApproval: () => ({ decision: 'allow', arguments: changed }) });
    assert.deepEqual(seen, [changed]);
  });
});
