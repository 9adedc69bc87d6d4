import { UnknownProviderError, UnsupportedOptionError } from './generated/errors.js';
import type * as wire from './generated/protocol.js';
import { nearest } from './suggestion.js';

/**
 * Refuses options that the runtime does not have, before anything is sent (FA9).
 *
 * @throws UnsupportedOptionError that names the option.
 */
export function requireOptions(capabilities: wire.Capabilities, scope: 'agent' | 'session' | 'turn', options: object): void {
  for (const name of optionNames(scope, options)) {
    requireOption(capabilities, name);
  }
}

/** Refuses one option that the runtime does not have. */
export function requireOption(capabilities: wire.Capabilities, name: string): void {
  if (!capabilities.options.includes(name)) {
    throw new UnsupportedOptionError(
      `the runtime (version ${capabilities.version}) does not support the option ${name}; leave it out, or install a runtime that does`,
      { option: name },
    );
  }
}

/** Whether a runtime has a field, or anything of it. */
export function offers({ options }: wire.Capabilities, scope: string, field: string): boolean {
  const name = `${scope}.${field}`;
  return always.has(name) || options.some((option) => option === name || option.startsWith(`${name}.`));
}

/** Fields that every runtime has. */
const always = new Set(['agent.name', 'agent.instructions', 'agent.tools', 'agent.defaultModel']);

/** The names that capabilities have for the options that are given. */
function optionNames(scope: string, options: object): string[] {
  const names: string[] = [];
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (scope === 'agent' && name === 'approvals') {
      const mode = (value as wire.Approvals).mode;
      names.push(`agent.approvals.${mode ?? 'always'}`);
    } else if (scope === 'agent' && name === 'builtinTools') {
      names.push(...Object.keys(value as object).map((tool) => `agent.builtinTools.${tool}`));
    } else {
      names.push(`${scope}.${scope === 'turn' && name === 'idempotencyKey' ? 'submissionId' : name}`);
    }
  }
  return names.filter((name) => !always.has(name));
}

/** Refuses a secret for a provider that nobody has configured: nothing would ever ask for it. Case does not matter. */
export function requireProvider({ providers }: wire.Capabilities, what: string, name: string): void {
  if (!providers.some((provider) => provider.toLowerCase() === name.toLowerCase())) {
    const meant = nearest(name, providers);
    throw new UnknownProviderError(
      `${what} is for the provider ${JSON.stringify(name.slice(0, 64))}, which is not known${meant === undefined ? '' : `; did you mean "${meant}"?`}; configured are ${providers.join(', ')}`,
    );
  }
}
