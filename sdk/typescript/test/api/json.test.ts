import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { failure, FakeConnection, newSession, open } from './fake.js';

const cycle: Record<string, unknown> = {};
cycle['self'] = cycle;
let deep: unknown = 1;
for (let i = 0; i < 200; i++) {
  deep = [deep];
}
let wide: unknown = 'x';
for (let i = 0; i < 60; i++) {
  wide = [wide, wide]; // 2^60 values
}
class Order {
  to = 'ann';
}

/** What JSON.stringify drops, empties or fails at, and how each is told. */
const dropped: [what: string, value: unknown, message: RegExp][] = [
  ['NaN', Number.NaN, /is NaN, which JSON cannot say/],
  ['an infinity', Number.NEGATIVE_INFINITY, /is -Infinity, which JSON cannot say/],
  ['a function', () => 1, /is a function, which JSON cannot say/],
  ['a symbol', Symbol('x'), /is a symbol, which JSON cannot say/],
  ['a BigInt', 5n, /is a bigint, which JSON cannot say/],
  ['a Map', new Map([['to', 'bob']]), /is a value of Map; give/],
  ['a Set', new Set(['bob']), /is a value of Set; give/],
  ['a promise that was not awaited', Promise.resolve({ to: 'bob' }), /is a promise, which is to be awaited first/],
  ['bytes', new Uint8Array(1), /is a value of Uint8Array; give/],
  ['an expression', /x/, /is a value of RegExp; give/],
  ['an instance of a class', new Order(), /is an instance of a class, .*; give a plain object/],
  ['what has its fields from an object without a prototype', Object.create(Object.assign(Object.create(null) as object, { to: 'bob' })), /is an instance of a class/],
  ['what has its fields from elsewhere', Object.create({ to: 'bob' }), /is an instance of a class/],
  ['a Date that is no time', new Date(Number.NaN), /is a Date that is no time/],
  ['what says that it is undefined', { toJSON: () => undefined }, /has a toJSON that gives undefined/],
  ['what cannot say what it is', { toJSON: () => { throw new Error('no') } }, /toJSON of .* cannot be read: no/],
  ['a getter that throws', { get to() { throw new Error('locked'); } }, /\.to of .* cannot be read: locked/],
  ['a proxy that lets nobody look', new Proxy({}, { getPrototypeOf: () => { throw new Error('shut') } }), /cannot be read: shut/],
  ['an object that holds itself', cycle, /\.self of .* holds itself/],
  ['200 lists in each other', deep, /is deeper than 128 levels/],
  ['lists that share lists without end', wide, /makes it longer than 16777216 characters/],
  ['more text than can be sent', 'x'.repeat(17 << 20), /makes it longer than 16777216 characters/],
];

/** What JSON leaves out of a value, which is refused where nothing may be. */
const left: [what: string, value: unknown, message: RegExp][] = [
  ['a field without a name in JSON', { [Symbol('to')]: 1 }, /has a field whose name is a symbol/],
  ['a field that is not enumerable', Object.defineProperty({ a: 1 }, 'to', { value: 'bob' }), /has a field "to" that is not enumerable, which JSON leaves out/],
  ['a list with a field beside its items', Object.assign([1, 2], { to: 'bob' }), /has a field "to" that is none of its items, which JSON leaves out/],
  ['a list with a field that looks like an item', Object.assign([1], { '01': 'bob' }), /has a field "01" that is none of its items/],
  ['a list with a symbol', Object.assign([1], { [Symbol('to')]: 1 }), /has a field whose name is a symbol/],
];

suite('changed arguments of an answer', () => {
  for (const [what, value, message] of [...dropped, ['undefined', undefined, /is undefined, which JSON cannot say/] as const, ...left]) {
    test(`are refused by their path where they hold ${what}, and nothing is sent`, async () => {
      const connection = new FakeConnection();
      const session = await newSession(connection);
      const error = await failure(session.resolve('i1', { decision: 'allow', arguments: { items: ['a', { n: value }] } }));
      assert.equal(error.code, 'invalid_request');
      assert.match(error.message, message);
      assert.match(error.message, /arguments\.items\[1\]\.n.* of the answer of session\.resolve /);
      assert.deepEqual(connection.of('interaction/resolve'), []);
    });
  }

  const none: [what: string, value: unknown][] = [...dropped.map(([what, value]) => [what, value] as [string, unknown]), ['undefined', undefined], ['null', null], ...left.map(([what, value]) => [what, value] as [string, unknown]), ['a list', [1]], ['a text', '{"to":"bob"}'], ['what says that it is a text', { toJSON: () => 'bob' }]];
  for (const [what, value] of none) {
    test(`are refused where they are ${what}: the call's own never run in their place`, async () => {
      const connection = new FakeConnection();
      const session = await newSession(connection);
      const error = await failure(session.resolve('i1', { decision: 'allow', arguments: value as never }));
      assert.equal(error.code, 'invalid_request');
      assert.match(error.message, /^(toJSON of )?arguments/);
      assert.deepEqual(connection.of('interaction/resolve'), []);
    });
  }

  test('are refused of a handler too', async () => {
    const connection = new FakeConnection({
      'event/subscribe': () => ({ subscription: 'e1' }),
      'event/next': () => ({ events: [], end: true }),
      'run/result': () => ({ run: 's1-r1', status: 'interrupted', text: '', interactions: [{ id: 'i1', kind: 'approval', run: 's1-r1', asked: '' }] }),
    });
    const session = await newSession(connection);
    const error = await failure(session.runWith('hi', { onApproval: () => ({ decision: 'allow', arguments: { n: Number.NaN } }) }));
    assert.deepEqual([error.code, error.message.split(',')[0]], ['invalid_request', 'arguments.n of the answer of onApproval is NaN']);
    assert.deepEqual(connection.of('interaction/resolve'), []);
  });

  test('are sent as they were when they were given', async () => {
    const connection = new FakeConnection();
    const session = await newSession(connection);
    const args = { when: new Date(0), none: null, list: [{}], no: false, half: -0.5, zero: -0, row: Object.assign(Object.create(null) as object, { a: 1 }), ['__proto__']: 'p' };
    const resolved = session.resolve('i1', { decision: 'allow', arguments: args });
    args.no = true;
    await resolved;
    const [sent] = connection.of('interaction/resolve') as { answer: { arguments: unknown } }[];
    assert.equal(JSON.stringify(sent?.answer.arguments), '{"when":"1970-01-01T00:00:00.000Z","none":null,"list":[{}],"no":false,"half":-0.5,"zero":0,"row":{"a":1},"__proto__":"p"}');
  });
});

suite('a conversation to begin with', () => {
  for (const [what, value, message] of [...dropped, ['undefined', undefined, /is undefined, which JSON cannot say/] as const]) {
    test(`is refused by item and path where it holds ${what}`, async () => {
      const connection = new FakeConnection();
      const agent = (await open(connection)).createAgent({ name: 'a', defaultModel: { provider: 'Scripted', name: 'demo' } });
      const call = { type: 'tool_call', callId: 'c', name: 'n', arguments: { n: [value] } };
      const error = await failure(agent.newSession({ initialHistory: [{ type: 'user', text: 'q' }, call as never] }));
      assert.deepEqual([error.code, error.details], ['invalid_history', { item: '1', rule: 'json' }]);
      assert.match(error.message, message);
      assert.match(error.message, /initialHistory\[1\]\.arguments\.n\[0\].* of agent\.newSession /);
      assert.deepEqual(connection.of('session/create'), []);
    });
  }

  for (const [what, value] of [['a function', () => []], ['a Set', new Set([1])], ['a text', '[]'], ['a promise', Promise.resolve([])], ['NaN', Number.NaN], ['an object', {}]] as const) {
    test(`is refused where it is no list but ${what}`, async () => {
      const connection = new FakeConnection();
      const agent = (await open(connection)).createAgent({ name: 'a', defaultModel: { provider: 'Scripted', name: 'demo' } });
      const error = await failure(agent.newSession({ initialHistory: value as never }));
      assert.equal(error.code, 'invalid_request');
      assert.match(error.message, /initialHistory of agent\.newSession is .*; give a list/);
      assert.deepEqual(connection.of('session/create'), []);
    });
  }

  test('may have optional fields that are undefined, which are not sent', async () => {
    const connection = new FakeConnection({ initialize: () => ({ runtime: { name: 'r', version: '1' }, capabilities: { version: '1', store: 'st', options: ['session.initialHistory'], providers: [] } }) });
    const agent = (await open(connection)).createAgent({ name: 'a', defaultModel: { provider: 'Scripted', name: 'demo' } });
    await agent.newSession({ initialHistory: [{ type: 'user', text: 'q', callId: undefined } as never] });
    assert.deepEqual(connection.of('session/create').map((sent) => (sent as { options: unknown }).options), [{ initialHistory: [{ type: 'user', text: 'q' }] }]);
  });
});

suite('options', () => {
  for (const [what, options, message] of [
    ['metadata that is a Map', { metadata: new Map() }, /metadata of agent\.newSession is a value of Map/],
    ['metadata of a class', { metadata: new Order() }, /metadata of agent\.newSession is an instance of a class/],
    ['metadata with what is no text', { metadata: { a: 'x', b: 5 } }, /metadata\.b of agent\.newSession is a number; give a string/],
    ['metadata with null', { metadata: { 'a b': null } }, /metadata\["a b"\] of agent\.newSession is null; give a string/],
    ['an owner that a class has', new (class { get owner(): string { return 'ann'; } })(), /owner of agent\.newSession is not the object's own/],
    ['an owner that is too long', { owner: 'x'.repeat(17 << 20) }, /owner of agent\.newSession has 17825792 characters/],
  ] as const) {
    test(`are refused with ${what}`, async () => {
      const connection = new FakeConnection();
      const agent = (await open(connection)).createAgent({ name: 'a', defaultModel: { provider: 'Scripted', name: 'demo' } });
      const error = await failure(agent.newSession(options as never));
      assert.equal(error.code, 'invalid_request');
      assert.match(error.message, message);
      assert.deepEqual(connection.of('session/create'), []);
    });
  }

  test('may have metadata that is undefined, which is not sent', async () => {
    const connection = new FakeConnection();
    const agent = (await open(connection)).createAgent({ name: 'a', defaultModel: { provider: 'Scripted', name: 'demo' } });
    await agent.newSession({ metadata: { a: 'x', b: undefined as never } });
    assert.deepEqual(connection.of('session/create').map((sent) => (sent as { options: unknown }).options), [{ metadata: { a: 'x' } }]);
  });
});
