import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { AgentDefinition, Effect, GuardPoint, Inspection } from '@openworkerai/harness-sdk';
import type { Json, JsonObject } from './json.js';

/** Where the scenarios are, which every face runs (FA9); test/conformance has what their fields mean. */
export const directory = path.resolve(import.meta.dirname, '../../../../spec/conformance');

export interface Scenario {
  readonly name: string;
  readonly tools?: Readonly<Record<string, Tool>>;
  readonly guardrails?: readonly { readonly name: string; readonly points: readonly GuardPoint[]; readonly timeoutMs?: number; readonly rules: readonly TextRule[] }[];
  readonly hooks?: readonly { readonly name: string; readonly timeoutMs?: number; readonly beforeModel?: readonly TextRule[]; readonly toolResult?: readonly TextRule[] }[];
  readonly actionCheck?: readonly TextRule[];
  readonly agents?: readonly Definition[];
  readonly model?: { readonly rules: readonly object[] };
  readonly providers?: readonly { readonly name: string; readonly protocol?: string; readonly baseURL?: string; readonly keyOptional?: boolean }[];
  readonly credentials?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}

export interface Step {
  readonly do: string;
  readonly with?: JsonObject;
  readonly as?: string;
  readonly times?: number;
  readonly background?: boolean;
  readonly expect?: Json;
  readonly error?: Json;
}

export interface Tool {
  readonly description?: string;
  readonly inputSchema?: JsonObject;
  readonly effect?: Effect;
  readonly timeoutMs?: number;
  readonly does?: { readonly waits?: string; readonly fails?: string; readonly echoes?: boolean; readonly returns?: Json };
  readonly inspect?: Inspection;
}

export interface TextRule {
  readonly contains: string;
  readonly redact?: string;
  readonly block?: string;
  readonly fails?: string;
  readonly waits?: string;
}

export type Definition = Omit<AgentDefinition, 'defaultModel'> & Partial<Pick<AgentDefinition, 'defaultModel'>>;

/** All scenarios, by topic. */
export function topics(): { readonly topic: string; readonly scenarios: readonly Scenario[] }[] {
  const files = readdirSync(path.join(directory, 'scenarios')).filter((file) => file.endsWith('.json'));
  if (files.length === 0) {
    throw new Error(`there is no scenario in ${directory}`);
  }
  return files.map((topic) => {
    const { scenarios } = JSON.parse(readFileSync(path.join(directory, 'scenarios', topic), 'utf8')) as { scenarios: readonly Scenario[] };
    return { topic, scenarios };
  });
}
