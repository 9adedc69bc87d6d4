import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { Attachment } from '../../src/attachment.js';
import { OpenWorkerError } from '../../src/generated/errors.js';
import { Harness } from '../../src/harness.js';
import { setupOf } from '../../src/setup.js';
import { failure, FakeConnection, newSession, open } from './fake.js';

const shut = (): never => {
  throw new TypeError('shut');
};
const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();

/** Objects that throw where they are looked at. */
const hostile: [what: string, value: object][] = [
  ['a proxy that was revoked', revoked],
  ['a proxy that lets nobody look', new Proxy({}, { get: shut, has: shut, ownKeys: shut, getPrototypeOf: shut, getOwnPropertyDescriptor: shut })],
  ['a proxy that names no fields', new Proxy({}, { ownKeys: shut })],
  ['a list that gives no items', new Proxy([1], { get: (list, name) => (name === 'length' ? list.length : shut()) })],
  ['an object with a signal that throws', { get signal() { return shut(); } }],
  ['an object whose fields throw', fields('name', 'type', 'text', 'data', 'content', 'store', 'decision', 'arguments', 'stateDir', 'execute', 'points')],
];

function fields(...names: string[]): object {
  return Object.defineProperties({}, Object.fromEntries(names.map((name) => [name, { get: shut, enumerable: true }])));
}

const defaultModel = { provider: 'Scripted', name: 'demo' };

/** Every place that takes an object of the program's. */
const places: [what: string, give: (value: never, connection: FakeConnection) => unknown][] = [
  ['Harness.open', (value) => Harness.open(value)],
  ['credentials of Harness.open', (credentials) => setupOf({ stateDir: '/s', credentials, runtimePath: '' })],
  ['providers of Harness.open', (providers) => setupOf({ stateDir: '/s', providers })],
  ['env of Harness.open', (env) => setupOf({ stateDir: '/s', env: { A: env } })],
  ['Attachment.fromFile', (value) => Attachment.fromFile(value)],
  ['the options of Attachment.fromFile', (value) => Attachment.fromFile('/', value)],
  ['Attachment.fromBytes', (value) => Attachment.fromBytes(value)],
  ['the name of Attachment.fromBytes', (name) => Attachment.fromBytes({ name, data: new Uint8Array(1) })],
  ['the data of Attachment.fromBytes', (data) => Attachment.fromBytes({ name: 'n', data })],
  ['registerTool', async (value, connection) => (await open(connection)).registerTool(value)],
  ['inputSchema of registerTool', async (inputSchema, connection) => (await open(connection)).registerTool({ name: 't', inputSchema, execute: shut })],
  ['registerGuardrail', async (value, connection) => (await open(connection)).registerGuardrail(value)],
  ['points of registerGuardrail', async (points, connection) => (await open(connection)).registerGuardrail({ name: 'g', points, check: shut })],
  ['registerHook', async (value, connection) => (await open(connection)).registerHook(value)],
  ['createAgent', async (value, connection) => (await open(connection)).createAgent(value).ready()],
  ['name of createAgent', async (name, connection) => (await open(connection)).createAgent({ name, defaultModel }).ready()],
  ['memory of createAgent', async (memory, connection) => (await open(connection)).createAgent({ name: 'a', defaultModel, memory: { memory } }).ready()],
  ['newSession', async (value, connection) => (await open(connection)).createAgent({ name: 'a', defaultModel }).newSession(value)],
  ['metadata of newSession', async (a, connection) => (await open(connection)).createAgent({ name: 'a', defaultModel }).newSession({ metadata: { a } })],
  ['initialHistory of newSession', async (item, connection) => (await open(connection)).createAgent({ name: 'a', defaultModel }).newSession({ initialHistory: [item] })],
  ['resumeSession', async (value, connection) => (await open(connection)).createAgent({ name: 'a', defaultModel }).resumeSession(value)],
  ['harness.resumeSession', async (value, connection) => (await open(connection)).resumeSession(value)],
  ['harness.session', async (value, connection) => (await open(connection)).session(value)],
  ['the query of harness.sessions', async (value, connection) => (await open(connection)).sessions(value)],
  ['a time', async (before, connection) => (await open(connection)).sessions({ before })],
  ['run', async (value, connection) => (await newSession(connection)).run(value)],
  ['content of run', async (content, connection) => (await newSession(connection)).run({ content })],
  ['a block of run', async (block, connection) => (await newSession(connection)).run({ content: [block] })],
  ['a text of run', async (text, connection) => (await newSession(connection)).run({ content: [{ type: 'text', text }] })],
  ['a file of run', async (file, connection) => (await newSession(connection)).run('hi', [file])],
  ['what follows the text of run', async (value, connection) => (await newSession(connection)).run('hi', value, {})],
  ['the options of run', async (value, connection) => (await newSession(connection)).run('hi', [], value)],
  ['guardrails of run', async (guardrails, connection) => (await newSession(connection)).run('hi', { guardrails: [guardrails] })],
  ['runWith', async (value, connection) => (await newSession(connection)).runWith('hi', value)],
  ['runStreamed', async (value, connection) => (await newSession(connection)).runStreamed('hi', [], value)],
  ['upload', async (value, connection) => (await newSession(connection)).upload(value)],
  ['an answer', async (value, connection) => (await newSession(connection)).resolve('i1', value)],
  ['the ID of an interaction', async (value, connection) => (await newSession(connection)).resolve(value, { decision: 'allow' })],
  ['the options of state', async (value, connection) => (await newSession(connection)).state(value)],
  ['the options of history', async (value, connection) => { for await (const item of (await newSession(connection)).history(value)) assert.fail(`it gave ${JSON.stringify(item)}`); }],
  ['the options of events', async (value, connection) => (await newSession(connection)).events(value)],
];

suite('what throws where it is looked at is refused with a code', () => {
  for (const [place, give] of places) {
    for (const [what, value] of hostile) {
      test(`${place}: ${what}`, async () => {
        const connection = new FakeConnection();
        let thrown: unknown;
        try {
          await give(value as never, connection);
        } catch (error) {
          thrown = error;
        }
        assert.ok(thrown instanceof OpenWorkerError, `it is no error with a code: ${String(thrown)}`);
        assert.ok(['invalid_request', 'invalid_agent', 'invalid_tool', 'invalid_history'].includes(thrown.code), thrown.code);
        assert.deepEqual(connection.sent.filter(({ method }) => !/^(initialize|capabilities|agent\/register|session\/create)$/.test(method)), []);
      });
    }
  }

  test('by its path', async () => {
    const session = await newSession(new FakeConnection());
    assert.equal((await failure(session.run('hi', { limits: fields('maxModelCalls') }))).message, 'maxModelCalls of limits of session.run cannot be read: shut');
    assert.equal((await failure(session.state({ get signal() { return shut(); } }))).message, 'signal of session.state cannot be read: shut');
  });
});

suite('a file is refused with a code', () => {
  const detached = new ArrayBuffer(8);
  const view = new Uint8Array(8);
  structuredClone([detached, view.buffer], { transfer: [detached, view.buffer] });
  for (const [what, give, message] of [
    ['whose bytes were transferred away', () => Attachment.fromBytes({ name: 'a', data: detached }), /the data of "a" cannot be read: .*detached/],
    ['whose view lost its bytes', () => Attachment.fromBytes({ name: 'a', data: view }), /"a" (cannot be read|is empty)/],
    ['with half a character in its name', () => Attachment.fromBytes({ name: 'a\ud800', data: new Uint8Array(1) }), /has a control character, or half a character/],
    ['of another machine', () => Attachment.fromFile(new URL('file://host/x')), process.platform === 'win32' ? /./ : /the path file:\/\/host\/x cannot be read: File URL host/],
    ['whose address has a slash in a name', () => Attachment.fromFile(new URL('file:///a%2Fb')), /the path file:\/\/\/a%2Fb cannot be read: File URL path/],
    ['whose path has a NUL', () => Attachment.fromFile('a\0b'), /the file ".*" cannot be read/],
    ['with options that are none', () => Attachment.fromFile('/', 'fast' as never), /the options of Attachment\.fromFile are a string/],
  ] as const) {
    test(what, async () => {
      const error = await failure(give);
      assert.equal(error.code, 'invalid_request');
      assert.match(error.message, message);
    });
  }
});

suite('a harness is not opened', () => {
  for (const [what, options, message] of [
    ['on a directory with a NUL', { stateDir: 'a\0b' }, /stateDir of Harness\.open has a NUL/],
    ['with a runtime with a NUL', { stateDir: '/s', runtimePath: 'a\0b' }, /runtimePath of Harness\.open has a NUL/],
    ['with a variable that is a number', { stateDir: '/s', env: { A: 5 } }, /A of env of Harness\.open is a number; give a string/],
    ['with a variable that has a NUL', { stateDir: '/s', env: { A: 'a\0b' } }, /A of env of Harness\.open is a text with a NUL/],
    ['with a variable whose name has a =', { stateDir: '/s', env: { 'A=B': 'x' } }, /a variable "A=B"/],
    ['with providers that JSON would empty', { stateDir: '/s', providers: [new Map()] }, /providers\[0\] of Harness\.open is a value of Map/],
  ] as const) {
    test(what, () => {
      assert.throws(() => setupOf(options), { code: 'invalid_request', message });
    });
  }
});
