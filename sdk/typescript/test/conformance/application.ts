import type { ToolContext, Verdict } from '@openworkerai/harness-sdk';
import { allow, block, redact } from '@openworkerai/harness-sdk';
import type { Scenario, TextRule } from './scenario.js';

/** What happened to a tool, in the form that the step "tool" tells. */
interface ToolRecord {
  runs: number;
  inspections: number;
  cancelled: number;
  last: object;
}

/** What a scenario's tools, guardrails and hooks do. It outlives the runtimes that call it, as the world outside does. */
export class Application {
  readonly scenario: Scenario;
  readonly #gates = new Map<string, { readonly opened: Promise<void>; readonly open: () => void }>();
  readonly #tools = new Map<string, ToolRecord>();
  #changed: (() => void)[] = [];

  constructor(scenario: Scenario) {
    this.scenario = scenario;
  }

  open(gate: string): void {
    this.#gate(gate).open();
  }

  /** Runs a tool's body. */
  async run(name: string, context: ToolContext): Promise<string> {
    const { does = {} } = this.scenario.tools?.[name] ?? {};
    this.#note(name, (record) => {
      record.runs++;
      const { session, agent, signal: _, epoch: __, ...rest } = context;
      record.last = { ...rest, session: session.session, agent: agent.name };
    });
    if (does.waits !== undefined) {
      try {
        await this.wait(does.waits, context.signal);
      } catch (error) {
        this.#note(name, (record) => record.cancelled++);
        throw error;
      }
    }
    if (does.returns !== undefined && does.returns !== null) {
      return typeof does.returns === 'string' ? does.returns : JSON.stringify(does.returns);
    }
    if (does.fails !== undefined) {
      throw new Error(does.fails);
    }
    return does.echoes === true ? JSON.stringify(context.arguments) : '';
  }

  inspected(name: string): void {
    this.#note(name, (record) => record.inspections++);
  }

  /** Waits until a tool's body has begun so many times, and tells what happened to it. */
  async record(name: string, runs: number): Promise<ToolRecord> {
    while ((this.#tools.get(name)?.runs ?? 0) < runs) {
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
    return this.#tools.get(name) ?? { runs: 0, inspections: 0, cancelled: 0, last: {} };
  }

  /** Applies the first rule that is about a text. */
  async judge(rules: readonly TextRule[], text: string, signal: AbortSignal): Promise<Verdict> {
    const rule = rules.find(({ contains }) => text.includes(contains));
    if (rule?.redact !== undefined) {
      return redact(text.replaceAll(rule.contains, rule.redact), 'redacted by the scenario');
    }
    if (rule?.block !== undefined) {
      return block(rule.block);
    }
    if (rule?.fails !== undefined) {
      throw new Error(rule.fails);
    }
    if (rule?.waits !== undefined) {
      await this.wait(rule.waits, signal);
    }
    return allow();
  }

  async wait(gate: string, signal: AbortSignal): Promise<void> {
    const stopped = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    await Promise.race([this.#gate(gate).opened, stopped]);
  }

  #gate(name: string): { readonly opened: Promise<void>; readonly open: () => void } {
    let gate = this.#gates.get(name);
    if (gate === undefined) {
      const made: { opened: Promise<void>; open: () => void } = { opened: Promise.resolve(), open: () => undefined };
      made.opened = new Promise<void>((resolve) => {
        made.open = resolve;
      });
      gate = made;
      this.#gates.set(name, gate);
    }
    return gate;
  }

  #note(name: string, change: (record: ToolRecord) => void): void {
    const record = this.#tools.get(name) ?? { runs: 0, inspections: 0, cancelled: 0, last: {} };
    change(record);
    this.#tools.set(name, record);
    for (const told of this.#changed.splice(0)) {
      told();
    }
  }
}
