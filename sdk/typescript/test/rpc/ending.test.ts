// What a connection reads of its runtime's requests once its end has begun.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { Bodies } from '../../src/bodies.js';
import { Tools } from '../../src/tools.js';
import { Later } from '../recovery/world.js';
import { FakeRuntime } from './fake-runtime.js';

const call = {
  callback: 't1',
  tool: 'app.send',
  callId: 'c1',
  attempt: 1,
  epoch: 1,
  arguments: {},
  session: { store: 'st', session: 's1', agent: 'a' },
  run: 's1-r1',
  agent: { name: 'a', digest: 'd1' },
};

/** A connection with a tool, and how often its body has begun. */
function withTool() {
  const left = new Later();
  const runtime = new FakeRuntime(left.promise);
  const tools = new Tools(new Bodies());
  let begun = 0;
  tools.add({ name: 'app.send', inputSchema: { type: 'object' }, execute: () => ++begun });
  tools.serve(runtime.peer);
  const ask = (): void => runtime.say({ jsonrpc: '2.0', id: 1, method: 'tool/run', params: { ...call, startBefore: new Date(Date.now() + 60_000).toISOString() } });
  return { runtime, ask, leave: (): void => left.resolve(), begun: () => begun };
}

/** What is under way has had its turn. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

suite('a request for a body', () => {
  const ends: readonly [what: string, end: (runtime: FakeRuntime) => void][] = [
    ['close was called', ({ peer }) => void peer.close()],
    ['it was found that the runtime reads no more', ({ input }) => void input.destroy(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))],
  ];
  for (const [what, end] of ends) {
    test(`that is read after ${what} begins none and is not answered`, async () => {
      const { runtime, ask, leave, begun } = withTool();
      end(runtime);
      await turn();
      ask();
      await turn();
      await turn();
      leave();
      await runtime.peer.closed;
      assert.equal(begun(), 0);
      assert.deepEqual(runtime.heard.filter(({ method }) => method === undefined), []);
    });
  }

  test('that is read with the end of the runtime begins none', async () => {
    const { runtime, ask, leave, begun } = withTool();
    ask();
    runtime.output.end();
    await turn();
    await turn();
    leave();
    await runtime.peer.closed;
    assert.equal(begun(), 0);
  });

  test('of a runtime that goes on begins one', async () => {
    const { runtime, ask, begun } = withTool();
    ask();
    await runtime.hears(1);
    assert.equal(begun(), 1);
  });
});
