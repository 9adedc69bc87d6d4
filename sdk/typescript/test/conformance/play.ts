import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Event, Provider } from '@openworkerai/harness-sdk';
import { Model } from '../recovery/model.js';
import { Application } from './application.js';
import { brief, type Json, json, type JsonObject } from './json.js';
import { match } from './match.js';
import type { Definition, Scenario, Step } from './scenario.js';
import { errorOf, type Host, Sdk } from './sdk.js';
import { Values } from './values.js';

/** How long a step may take before it counts as hanging, in milliseconds. */
const patience = 60_000;

type Outcome = { readonly result: Json } | { readonly failed: unknown };

/** One run of a scenario through the SDK. */
export class Play {
  readonly #app: Application;
  readonly #model: Model;
  readonly #sdk: Sdk;
  readonly #values: Values;
  readonly #host: Host;
  readonly #behind = new Map<string, Promise<Outcome>>();

  private constructor(scenario: Scenario, model: Model, directory: string) {
    const state = path.join(directory, 'state');
    const scratch = path.join(directory, 'scratch');
    mkdirSync(state, { mode: 0o700 });
    mkdirSync(scratch, { mode: 0o700 });
    const given = scenario.providers ?? [{ name: 'Model', keyOptional: true }];
    const providers = given.map(({ name, protocol = 'openai-chat', baseURL = model.url, keyOptional = false }) => ({ name, protocol, baseURL, keyOptional }) as Provider);
    this.#host = { state, scratch, providers };
    this.#app = new Application(scenario);
    this.#model = model;
    this.#sdk = new Sdk(this.#app, directory);
    this.#values = new Values(directory, state);
  }

  static async run(scenario: Scenario): Promise<void> {
    const directory = mkdtempSync(path.join(tmpdir(), 'openworker-conformance-'));
    const model = await Model.start(scenario.model ?? { rules: [{ reply: { text: 'ok' } }] });
    const play = new Play(scenario, model, directory);
    try {
      await play.#steps(scenario.steps);
    } finally {
      await play.#sdk.close();
      rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    }
    await model.end(); // it fails if a request broke the protocol
  }

  async #steps(steps: readonly Step[]): Promise<void> {
    if (steps[0]?.do !== 'open') {
      await this.#open(true);
    }
    for (const [number, step] of steps.entries()) {
      for (let n = 0; n < (step.times ?? 1); n++) {
        this.#values.named.set('index', n);
        const fault = await this.#step(step);
        if (fault !== '') {
          throw new Error(`step ${number + 1}, ${step.do}: ${fault}`);
        }
      }
    }
  }

  /** Does a step and holds what comes out against what is expected. */
  async #step(step: Step): Promise<string> {
    const given = this.#values.eval(step.with ?? {}) as JsonObject;
    const outcome = this.#do(step.do, given).then<Outcome, Outcome>(
      (result) => ({ result: json(result) }),
      (failed: unknown) => ({ failed }),
    );
    if (step.background === true) {
      this.#behind.set(step.as ?? '', outcome);
      return '';
    }
    const came = await inTime(outcome);
    if (step.error !== undefined) {
      if (!('failed' in came)) {
        return `it should fail with ${brief(step.error)}; its result is ${brief(came.result)}`;
      }
      return match(this.#values.eval(typeof step.error === 'string' ? { code: step.error } : step.error), errorOf(came.failed), 'the error');
    }
    if ('failed' in came) {
      throw new Error(`step ${step.do} failed: ${brief(errorOf(came.failed))}`, { cause: came.failed });
    }
    if (step.as !== undefined) {
      this.#values.named.set(step.as, came.result);
    }
    return step.expect === undefined ? '' : match(this.#values.eval(step.expect), came.result, 'the result');
  }

  async #do(what: string, given: JsonObject): Promise<unknown> {
    switch (what) {
      case 'open':
        return this.#open(given['register'] !== false);
      case 'close':
        return this.#sdk.close();
      case 'kill':
        return this.#sdk.kill();
      case 'join': {
        const outcome = await this.#behind.get(given['step'] as string);
        if (outcome === undefined) {
          throw new Error(`no step is called ${brief(given['step'])}`);
        }
        return 'failed' in outcome ? Promise.reject(outcome.failed) : outcome.result;
      }
      case 'gate':
        this.#app.open(given['open'] as string);
        return this.#model.open(given['open'] as string);
      case 'tool':
        return this.#app.record(given['name'] as string, (given['runs'] as number | undefined) ?? 0);
      case 'model':
        if (given['arrived'] !== undefined) {
          await this.#model.arrived(given['arrived'] as number);
        }
        return { requests: await this.#model.requests() };
      case 'follow':
        return this.#follow(given);
      case 'agent/register':
        return this.#sdk.agent(given['definition'] as unknown as Definition);
      default:
        return this.#sdk.call(what, given);
    }
  }

  async #open(registers: boolean): Promise<void> {
    await this.#sdk.open(this.#host);
    if (!registers) {
      return;
    }
    this.#sdk.register();
    for (const definition of this.#app.scenario.agents ?? []) {
      this.#values.named.set(definition.name, await this.#sdk.agent(definition));
    }
  }

  /** Reads events to their end, or to the first that fits until. A session's events have no gap (RU3). */
  async #follow({ until, ...query }: JsonObject): Promise<object> {
    const { session, run, after = 0 } = query as { session: string; run?: string; after?: number };
    const events: Event[] = [];
    let live = '';
    let last = after;
    await this.#sdk.follow({ session, after, ...(run === undefined ? {} : { run }) }, (event) => {
      const { number } = event as { number?: number };
      if (number === undefined) {
        live += event.type === 'text_delta' ? (event.data as { text: string }).text : '';
      } else {
        if (run === undefined ? number !== last + 1 : number <= last) {
          throw new Error(`event ${number} follows event ${last}`);
        }
        last = number;
        events.push(event);
      }
      return until !== undefined && match(until, json(event), '') === '';
    });
    return { events, live };
  }
}

async function inTime<T>(outcome: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it does not end within ${patience} ms`)), patience);
  });
  try {
    return await Promise.race([outcome, late]);
  } finally {
    clearTimeout(timer);
  }
}
