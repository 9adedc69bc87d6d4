import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { z } from 'zod';

import { inputOf, jsonSchemaOf } from '../../src/schema.js';
import { failure } from './fake.js';

const object = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };

suite('an input schema', () => {
  test('is the JSON Schema as it is given, without $schema', () => {
    assert.deepEqual(jsonSchemaOf('t', { $schema: 'https://json-schema.org/draft/2020-12/schema', ...object }), object);
  });

  test('is a copy: what becomes of the object later changes nothing', () => {
    const given = structuredClone(object);
    const copy = jsonSchemaOf('t', given);
    given.properties.name.type = 'number';
    assert.deepEqual(copy, object);
  });

  test('is that of a Zod schema: what has a default need not be there, and descriptions go along', () => {
    assert.deepEqual(jsonSchemaOf('t', z.object({ name: z.string().describe('Whose'), count: z.number().default(1) })), {
      type: 'object',
      properties: { name: { type: 'string', description: 'Whose' }, count: { type: 'number', default: 1 } },
      required: ['name'],
    });
  });

  test('has one zero, as JSON has: its sign would make another declaration of the same text', () => {
    assert.deepStrictEqual(jsonSchemaOf('t', { ...object, minimum: -0, enum: [-0, 1] }), { ...object, minimum: 0, enum: [0, 1] });
  });

  test('may have fields that are undefined, and symbols of its library', () => {
    assert.deepEqual(jsonSchemaOf('t', { ...object, description: undefined, [Symbol('kind')]: 'Object' }), object);
  });

  test('may be of a library whose schemas are functions', () => {
    const schema = Object.assign(() => undefined, { '~standard': { version: 1, vendor: 'own', validate: (value: unknown) => ({ value }), jsonSchema: { input: () => object } } });
    assert.deepEqual(jsonSchemaOf('t', schema), object);
  });

  for (const [what, schema, message] of [
    ['undefined', undefined, /inputSchema is undefined; give a JSON Schema/],
    ['null', null, /inputSchema is null/],
    ['an object of schemas', { to: z.string() }, /inputSchema is an object with a schema as its field "to"; wrap it, as in z\.object\(\{ … \}\)$/],
    ['a list', [], /inputSchema is/],
    ['a schema of no object', { type: 'string' }, /must have "type": "object" at its top/],
    ['a Zod schema of no object', z.string(), /must have "type": "object" at its top/],
    ['a Zod schema that JSON Schema cannot say', z.object({ at: z.date() }), /has no JSON Schema: .*; change the type, or give a JSON Schema/],
    ['a schema of a library that cannot tell it', { '~standard': { version: 1, vendor: 'old', validate: () => ({ value: 1 }) } }, /take Zod 4\.2 or newer/],
    ['what is no JSON', { type: 'object', properties: { n: { minimum: 1n } } }, /inputSchema\.properties\.n\.minimum of tool "app\.t" is a bigint, which JSON cannot say/],
    ['what JSON would leave out', { type: 'object', required: ['a', undefined] }, /inputSchema\.required\[1\] of tool "app\.t" is undefined/],
    ['a Map', new Map([['type', 'object']]), /inputSchema is a value of Map/],
    ['a promise', Promise.resolve(object), /inputSchema is a promise, which is to be awaited first/],
    ['a proxy that lets nobody look', new Proxy({}, { get: () => { throw new Error('shut'); }, has: () => { throw new Error('shut'); } }), /inputSchema (cannot be read: shut|is a value that cannot be read)/],
    ['a getter that throws', { type: 'object', get properties() { throw new Error('locked'); } }, /inputSchema\.properties of tool "app\.t" cannot be read: locked/],
  ] as const) {
    test(`is refused where it is ${what}`, async () => {
      const error = await failure(() => jsonSchemaOf('app.t', schema));
      assert.equal(error.name, 'InvalidToolError');
      assert.match(error.message, message);
      assert.match(error.message, /tool "app\.t"/);
    });
  }
});

suite('a body gets', () => {
  test('the arguments as they are with a JSON Schema', async () => {
    assert.deepEqual(await inputOf(object, { name: 1, more: true }), { name: 1, more: true });
  });

  test('what its schema makes of them with Zod', async () => {
    assert.deepEqual(await inputOf(z.object({ name: z.string().trim(), count: z.number().default(1) }), { name: ' a ' }), { name: 'a', count: 1 });
  });

  test('nothing where a rule of its schema is broken that JSON Schema cannot say, and the model is told where', async () => {
    const schema = z.object({ range: z.object({ from: z.number(), to: z.number() }).refine(({ from, to }) => from < to, { message: 'from is not below to' }) });
    const error = await failure(inputOf(schema, { range: { from: 2, to: 1 } }));
    assert.deepEqual([error.code, error.message], ['arguments_invalid', 'the call was not run: its arguments are not acceptable: at /range: from is not below to. Correct them and call again.']);
  });

  test('nothing where many are broken, and the model is told of the first', async () => {
    const error = await failure(inputOf(z.object({ list: z.array(z.string()) }), { list: Array.from({ length: 20 }, (_, i) => i) }));
    assert.match(error.message, /at \/list\/7: .*; and 12 more\. Correct them/);
    assert.doesNotMatch(error.message, /\/list\/8/);
  });
});
