/** A value as JSON has it. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value of any type as JSON would carry it. */
export function json(value: unknown): Json {
  return value === undefined ? {} : (JSON.parse(JSON.stringify(value)) as Json);
}

/** A value in an error. */
export function brief(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text;
}
