import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import {
  type Agent,
  AgentNotFoundError,
  type Answer,
  Attachment,
  type ContentPart,
  type Event,
  Harness,
  type ModelRequest,
  type Provider,
  type Session,
  type SessionQuery,
  type SessionReference,
  type TurnOptions,
  veto,
} from '@openworkerai/harness-sdk';
import { compile } from '../recovery/model.js';
import type { Application } from './application.js';
import { brief, type Json, json, type JsonObject } from './json.js';
import type { Definition } from './scenario.js';

/** Where a process is opened. */
export interface Host {
  readonly state: string;
  readonly scratch: string;
  readonly providers: readonly Provider[];
}

const standard = { provider: 'Model', name: 'm' };

/** The SDK as a face: the methods of the protocol by its public functions. */
export class Sdk {
  readonly #app: Application;
  readonly #agents = new Map<string, Agent>();
  readonly #pids: string;
  readonly #program: string;
  #harness: Harness | undefined;

  constructor(app: Application, directory: string) {
    this.#app = app;
    // It notes its process and becomes the runtime, so that a scenario can kill that.
    this.#program = path.join(directory, 'runtime');
    this.#pids = `${this.#program}.pid`;
    writeFileSync(this.#program, `#!/bin/sh\necho $$ >'${this.#pids}'\nexec '${process.env['OPENWORKER_RUNTIME'] ?? compile('./cmd/openworker')}' "$@"\n`);
    chmodSync(this.#program, 0o755);
  }

  async open(host: Host): Promise<void> {
    const { actionCheck, credentials } = this.#app.scenario;
    this.#agents.clear();
    this.#harness = await Harness.open({
      stateDir: host.state,
      scratchDir: host.scratch,
      runtimePath: this.#program,
      providers: host.providers,
      env: { XDG_CONFIG_HOME: host.scratch, HOME: host.scratch },
      ...(credentials === undefined ? {} : { credentials }),
      ...(actionCheck === undefined ? {} : { checkAction: ({ arguments: given, signal }) => this.#app.judge(actionCheck, JSON.stringify(given), signal) }),
    });
  }

  register(): void {
    const { tools = {}, guardrails = [], hooks = [] } = this.#app.scenario;
    for (const { name, points, timeoutMs, rules } of guardrails) {
      this.#open.registerGuardrail({ name, points, timeoutMs, check: ({ text, signal }) => this.#app.judge(rules, text, signal) });
    }
    for (const { name, timeoutMs, beforeModel, toolResult } of hooks) {
      this.#open.registerHook({
        name,
        timeoutMs,
        ...(beforeModel === undefined
          ? {}
          : {
              beforeModel: async ({ request, signal }) => {
                const verdict = await this.#app.judge(beforeModel, textsOf(request), signal);
                return verdict.action === 'block' ? veto(verdict.reason ?? '') : undefined;
              },
            }),
        ...(toolResult === undefined
          ? {}
          : {
              toolResult: async ({ output, signal }) => {
                const verdict = await this.#app.judge(toolResult, output, signal);
                return verdict.action === 'redact' ? verdict.text : output;
              },
            }),
      });
    }
    for (const [name, { description, inputSchema = { type: 'object' }, effect, timeoutMs, inspect }] of Object.entries(tools)) {
      this.#open.registerTool({
        name,
        description,
        inputSchema: { ...inputSchema },
        effect,
        timeoutMs,
        execute: (_, context) => this.#app.run(name, context),
        ...(inspect === undefined
          ? {}
          : {
              inspect: () => {
                this.#app.inspected(name);
                return inspect;
              },
            }),
      });
    }
  }

  async close(): Promise<void> {
    await this.#harness?.close();
  }

  /** Kills the runtime. The application dies with it: what this process knows of its bodies is gone. */
  async kill(): Promise<void> {
    Reflect.deleteProperty(globalThis, Symbol.for('@openworkerai/harness-sdk/bodies/1'));
    if (existsSync(this.#pids)) {
      process.kill(Number(readFileSync(this.#pids, 'utf8')), 'SIGKILL');
    }
    await this.#open.closed;
  }

  async follow(query: { session: string; run?: string; after?: number }, until: (event: Event) => boolean): Promise<void> {
    const session = await this.#open.session(query.session);
    const events = query.run === undefined ? session.events({ after: query.after }) : (await session.openRun(query.run)).events();
    for await (const event of events) {
      if (until(event)) {
        return;
      }
    }
  }

  /** Registers a definition whose tools are names. */
  async agent(definition: Definition): Promise<Json> {
    const agent = this.#open.createAgent({ defaultModel: standard, ...definition });
    const reference = await agent.reference();
    this.#agents.set(agent.name, agent);
    return json(reference);
  }

  async call(method: string, given: JsonObject): Promise<unknown> {
    const harness = this.#open;
    const { session: id, ...rest } = given;
    switch (method) {
      case 'capabilities':
        return harness.capabilities;
      case 'credential/set':
        return harness.setCredential(given['provider'] as string, given['secret'] as string);
      case 'agent/list':
        return { agents: await all(harness.agents(given)) };
      case 'session/create':
        return (await (await this.#named((given['agent'] as { name: string }).name)).newSession((given['options'] ?? {}) as object)).reference();
      case 'session/resume':
        return void (await (await this.#named(given['agent'] as string)).resumeSession(given['reference'] as unknown as SessionReference));
      case 'session/list':
        return { sessions: await all(harness.sessions(given as SessionQuery)) };
      case 'interaction/list':
        return { interactions: await all(harness.interactions(given)) };
      case 'usage/list':
        return { rows: await harness.usage(given) };
      default:
        return this.#sessionCall(await harness.session(id as string), method, rest);
    }
  }

  async #sessionCall(session: Session, method: string, given: JsonObject): Promise<unknown> {
    const run = given['run'] as string | undefined;
    switch (method) {
      case 'session/state':
        return session.state();
      case 'session/delete':
        return session.delete(given['options'] as object | undefined);
      case 'compact':
        return session.compact(given['options'] as TurnOptions | undefined);
      case 'turn/submit': {
        const sent = await session.send(...messageOf(given));
        return { session: session.id, run: sent.id, accepted: sent.accepted, ...(sent.repeated ? { repeated: true } : {}) };
      }
      case 'run':
        return session.run(...messageOf(given));
      case 'run/get': {
        const found = await session.openRun(run ?? '');
        return { session: session.id, run: found.id, accepted: found.accepted };
      }
      case 'run/cancel':
        return run === undefined ? session.cancel() : (await session.openRun(run)).cancel();
      case 'run/result':
        return (await session.openRun(run ?? '')).result();
      case 'interaction/resolve':
        return session.resolve(given['interaction'] as string, given['answer'] as unknown as Answer);
      case 'grant/revoke':
        return session.revokeGrant(given['tool'] as string, given['by'] === undefined ? {} : { by: given['by'] as string });
      case 'history/list':
        return session.historyPage(given);
      case 'event/list':
        return eventsOf(session, given);
      case 'upload':
        return session.upload(attachmentOf(given));
      default:
        throw new Error(`there is no step "${method}"`);
    }
  }

  /** An agent that was registered here, or is in the store. */
  async #named(name: string): Promise<Agent> {
    const own = this.#agents.get(name);
    if (own !== undefined) {
      return own;
    }
    for await (const { tools, ...definition } of this.#open.agents()) {
      if (definition.name === name) {
        return this.#open.createAgent({ ...definition, tools: tools?.map((tool) => tool.name) });
      }
    }
    throw new AgentNotFoundError(`no agent "${name}" is in this store`);
  }

  get #open(): Harness {
    if (this.#harness === undefined) {
      throw new Error('nothing was opened');
    }
    return this.#harness;
  }
}

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const out: T[] = [];
  for await (const item of list) {
    out.push(item);
  }
  return out;
}

/** A page of events, of those that are there. */
async function eventsOf(session: Session, { after = 0, limit = 100 }: { after?: number; limit?: number }): Promise<object> {
  const { lastEvent } = await session.state();
  const events: Event[] = [];
  if (lastEvent > after) {
    for await (const event of session.events({ after })) {
      if ('number' in event && event.number !== undefined) {
        events.push(event);
        if (events.length === limit || event.number >= lastEvent) {
          break;
        }
      }
    }
  }
  return { events, ...(after + events.length < lastEvent ? { more: true } : {}) };
}

function attachmentOf(file: JsonObject): Attachment {
  const { name, mediaType, data } = file as { name: string; mediaType?: string; data: string };
  return Attachment.fromBytes({ name, ...(mediaType === undefined ? {} : { mediaType }), data: Buffer.from(data, 'base64') });
}

/** A message as an application sends it: a text with options, or with parts behind it, or content alone. */
function messageOf(given: JsonObject): [text: string, parts: ContentPart[], options: TurnOptions] {
  const { text = '', content = [], attach = [], options = {} } = given as { text?: string; content?: ContentPart[]; attach?: JsonObject[]; options?: TurnOptions };
  const parts = [...content, ...attach.map(attachmentOf)];
  if ('content' in given && content.length === 0 && attach.length === 0) {
    return [{ content } as unknown as string, options as unknown as ContentPart[], undefined as unknown as TurnOptions];
  }
  return parts.length === 0 ? [text, options as unknown as ContentPart[], undefined as unknown as TurnOptions] : [text, parts, options];
}

/** What a model is sent, as one text. */
function textsOf({ instructions, items }: ModelRequest): string {
  const out = [instructions ?? ''];
  for (const item of items) {
    out.push(item.text ?? '', item.arguments === undefined ? '' : JSON.stringify(item.arguments), item.output ?? '', ...(item.parts ?? []).map(({ text }) => text ?? ''));
  }
  return out.join('\n');
}

/** An error in the form that steps expect. */
export function errorOf(error: unknown): Json {
  const { code, message, details } = error as { code?: string; message?: string; details?: object };
  if (code === undefined) {
    throw new Error(`the step failed otherwise: ${brief(message)}`, { cause: error });
  }
  return json({ code, message, ...(details === undefined || Object.keys(details).length === 0 ? {} : { details }) });
}
