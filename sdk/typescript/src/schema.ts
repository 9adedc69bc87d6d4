import { ArgumentsInvalidError, InvalidToolError } from './generated/errors.js';
import { jsonOf } from './json.js';
import { isRecord, kindOf, messageOf } from './text.js';

/** A JSON Schema (2020-12) of an object, as a plain object: `{ type: 'object', properties: { … } }`. */
export type JSONSchema = { readonly [keyword: string]: unknown };

/**
 * A schema of a library that follows Standard Schema and can tell its JSON Schema: Zod from 4.2 on, for example. Only what
 * is used here is asked for.
 */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly jsonSchema: { readonly input: (options: { readonly target: 'draft-2020-12' }) => Record<string, unknown> };
  };
}

/** What a Standard Schema says of a value. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: ReadonlyArray<StandardIssue> };

/** What is wrong with a value, and where. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

/** What a tool takes: a JSON Schema, or a Standard Schema that can tell its JSON Schema. */
export type InputSchema = JSONSchema | StandardSchema;

/** What a tool's body gets for its schema: a Standard Schema's output, and an object of unknowns for a JSON Schema. */
export type InputOf<S extends InputSchema> = S extends StandardSchema<infer Output> ? Output : Record<string, unknown>;

const mostProblems = 8;

/**
 * The JSON of a schema, which is what a model sees and a part of the agent's identity (AG4), without `$schema`. A copy: what
 * becomes of the object later changes nothing.
 */
export function jsonSchemaOf(tool: string, schema: unknown): JSONSchema {
  let json: unknown = schema;
  if (refusing(tool, () => isStandard(schema))) {
    json = converted(tool, schema as StandardSchema);
  } else if (!isRecord(schema)) {
    throw refuse(`tool "${tool}": inputSchema is ${kindOf(schema)}; give a JSON Schema of an object, or a Zod schema`);
  } else if (refusing(tool, () => '~standard' in schema || 'safeParse' in schema)) {
    throw refuse(`tool "${tool}": this version of its schema library cannot tell its JSON Schema; take Zod 4.2 or newer, or give a JSON Schema`);
  }
  const field = json === schema ? schemaIn(schema) : undefined;
  if (field !== undefined) {
    throw refuse(`tool "${tool}": inputSchema is an object with a schema as its field ${JSON.stringify(field.slice(0, 64))}; wrap it, as in z.object({ … })`);
  }
  const read = jsonOf('inputSchema', json, { of: `tool "${tool}"`, refuse });
  if (!isRecord(read)) {
    throw refuse(`tool "${tool}": inputSchema says that it is ${kindOf(read)}; give a JSON Schema of an object, or a Zod schema`);
  }
  const { $schema: _, ...copy } = read;
  if (copy['type'] !== 'object') {
    throw new InvalidToolError(
      `tool "${tool}": inputSchema must have "type": "object" at its top, since a tool's arguments are always an object`,
    );
  }
  return copy;
}

/** What a body is given for a call's arguments. What a schema's own rules refuse is the model's to correct. */
export async function inputOf(schema: unknown, value: unknown): Promise<unknown> {
  if (!isStandard(schema)) {
    return value;
  }
  const result = await schema['~standard'].validate(value);
  if (result.issues === undefined) {
    return result.value;
  }
  const told = result.issues.slice(0, mostProblems).map(problem).join('; ');
  const left = result.issues.length - mostProblems;
  throw new ArgumentsInvalidError(
    `the call was not run: its arguments are not acceptable: ${told}${left > 0 ? `; and ${left} more` : ''}. Correct them and call again.`,
  );
}

function refuse(message: string, options: ErrorOptions = {}): InvalidToolError {
  return new InvalidToolError(message, {}, options);
}

/** Asks a schema, which may be a proxy that lets nobody look. */
function refusing<T>(tool: string, ask: () => T): T {
  try {
    return ask();
  } catch (cause) {
    throw new InvalidToolError(`tool "${tool}": inputSchema cannot be read: ${messageOf(cause)}`, {}, { cause });
  }
}

function converted(tool: string, schema: StandardSchema): unknown {
  try {
    return schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' });
  } catch (cause) {
    throw new InvalidToolError(`tool "${tool}": inputSchema has no JSON Schema: ${messageOf(cause)}; change the type, or give a JSON Schema`);
  }
}

/** Whether it can validate and tell its JSON Schema. Some libraries' schemas are functions. */
function isStandard(schema: unknown): schema is StandardSchema {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null || !('~standard' in schema)) {
    return false;
  }
  const standard = schema['~standard'] as { validate?: unknown; jsonSchema?: { input?: unknown } } | null | undefined;
  return typeof standard?.validate === 'function' && typeof standard.jsonSchema?.input === 'function';
}

/** The first field that is a schema of its own, as they stand beside each other in what other libraries take. */
function schemaIn(fields: unknown): string | undefined {
  try {
    return isRecord(fields) ? Object.keys(fields).find((name) => isStandard(fields[name])) : undefined;
  } catch {
    return undefined; // what cannot be read is told with its path
  }
}

function problem(issue: StandardIssue): string {
  const path = (issue.path ?? []).map((at) => String(typeof at === 'object' ? at.key : at)).join('/');
  return path === '' ? issue.message : `at /${path}: ${issue.message}`;
}
