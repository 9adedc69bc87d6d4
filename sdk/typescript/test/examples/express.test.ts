import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import Database from 'libsql';
import { type Program, Project } from './project.js';

interface ServerEvent {
  readonly id: number | undefined;
  readonly type: string;
  readonly data: { readonly data?: Record<string, unknown> };
}

/** A server of the example, as one of its users sees it. */
class Server {
  readonly program: Program;
  readonly base: string;

  private constructor(program: Program, base: string) {
    this.program = program;
    this.base = base;
  }

  static async start(t: TestContext, project: Project, env: Record<string, string> = {}): Promise<Server> {
    const program = project.start('main.ts', ['--dir', 'kept', '--port', '0', '--user', 'ann:anns', '--user', 'ben:bens'], env);
    t.after(() => program.kill());
    const [, base = ''] = await program.until(/listening on (http:\S+)/);
    return new Server(program, base);
  }

  /** Makes a request as ann, unless another token is given, and checks its status. */
  async ask(status: number, method: string, where: string, body?: unknown, headers: Record<string, string> = {}): Promise<Record<string, unknown>> {
    const bytes = body instanceof Uint8Array;
    const response = await fetch(this.base + where, {
      method,
      headers: { Authorization: 'Bearer anns', ...(body === undefined || bytes ? {} : { 'Content-Type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: bytes ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    assert.equal(response.status, status, `${method} ${where}: ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  }

  async conversation(): Promise<string> {
    const { id } = await this.ask(201, 'POST', '/conversations');
    return `/conversations/${String(id)}`;
  }

  /** Reads events up to one of a type, from behind the one with a number. */
  async events(conversation: string, until: string, lastEventId?: number): Promise<ServerEvent[]> {
    const stop = new AbortController();
    const response = await fetch(`${this.base}${conversation}/events`, {
      signal: stop.signal,
      headers: { Authorization: 'Bearer anns', ...(lastEventId === undefined ? {} : { 'Last-Event-ID': String(lastEventId) }) },
    });
    assert.equal(response.headers.get('Content-Type'), 'text/event-stream');
    const events: ServerEvent[] = [];
    let text = '';
    for await (const piece of (response.body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream())) {
      const blocks = (text += piece).split('\n\n');
      text = blocks.pop() ?? '';
      events.push(...blocks.filter((block) => !block.startsWith(':')).map(eventOf));
      const last = events.findIndex(({ type }) => type === until);
      if (last !== -1) {
        stop.abort();
        return events.slice(0, last + 1);
      }
    }
    throw new Error(`the stream ended before ${until}: ${events.map(({ type }) => type).join(', ')}`);
  }
}

function eventOf(block: string): ServerEvent {
  const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
  const id = field('id');
  return { id: id === undefined ? undefined : Number(id), type: field('event') ?? '', data: JSON.parse(field('data') ?? '{}') as ServerEvent['data'] };
}

function example(t: TestContext): Project {
  const project = Project.ofExample('express');
  t.after(() => project.remove());
  return project;
}

function withoutIDs(answer: object): string {
  return JSON.stringify(answer).replaceAll(/[0-9a-f-]{36}/g, 'ID');
}

/** The parcels that were sent back, as the application's database has them. */
function returned(project: Project): number[] {
  const db = new Database(path.join(project.directory, 'kept/application.db'), { readonly: true });
  try {
    return (db.prepare('select parcel from returns order by parcel').all() as { parcel: number }[]).map(({ parcel }) => parcel);
  } finally {
    db.close();
  }
}

const sendBack = { text: 'use parcels.return with {"number": 42}' };

describe('the Express example', { concurrency: true }, () => {
  it('compiles under strict', async (t) => {
    assert.equal(await example(t).compile(), '');
  });

  it('answers messages, asks for approvals, and does the action', async (t) => {
    const project = example(t);
    const server = await Server.start(t, project);
    const chat = await server.conversation();
    const sent = await server.ask(202, 'POST', `${chat}/messages`, sendBack, { 'Idempotency-Key': 'm1' });
    assert.equal(sent['repeated'], false);
    const asked = (await server.events(chat, 'interaction_required')).at(-1)?.data.data;
    assert.equal(asked?.['kind'], 'approval');
    assert.deepEqual(returned(project), []);

    const again = await server.ask(202, 'POST', `${chat}/messages`, sendBack, { 'Idempotency-Key': 'm1' });
    assert.deepEqual([again['run'], again['repeated']], [sent['run'], true]);
    const other = await server.ask(409, 'POST', `${chat}/messages`, { text: 'something else' }, { 'Idempotency-Key': 'm1' });
    assert.equal(other['code'], 'submission_conflict');
    assert.equal((await server.ask(409, 'POST', `${chat}/messages`, { text: 'hello' }))['code'], 'session_busy');

    const interaction = `${chat}/interactions/${String(asked?.['id'])}`;
    assert.equal((await server.ask(400, 'POST', interaction, { decision: 'answered', answers: ['yes'] }))['code'], 'invalid_request');
    await server.ask(204, 'POST', interaction, { decision: 'allow', by: 'somebody else' });
    const events = await server.events(chat, 'turn_ended');
    assert.equal(events.find(({ type }) => type === 'interaction_resolved')?.data.data?.['by'], 'ann');
    assert.equal(events.at(-1)?.data.data?.['status'], 'completed');
    assert.deepEqual(returned(project), [42]);
    assert.equal((await server.ask(409, 'POST', interaction, { decision: 'deny' }))['code'], 'already_resolved');
    assert.equal((await server.ask(200, 'GET', chat))['activity'], 'idle');

    server.program.signal('SIGTERM');
    assert.equal(await server.program.ended, 0, server.program.errors);
  });

  it('a conversation of somebody else is answered as one that is not there', async (t) => {
    const server = await Server.start(t, example(t));
    const chat = await server.conversation();
    await server.ask(202, 'POST', `${chat}/messages`, sendBack);
    const asked = (await server.events(chat, 'interaction_required')).at(-1)?.data.data;
    const ben = { Authorization: 'Bearer bens' };
    const nowhere = '/conversations/00000000-0000-4000-8000-000000000000';
    const requests: [string, string, unknown?][] = [
      ['GET', ''],
      ['GET', '/events'],
      ['POST', '/messages', { text: 'hello' }],
      ['POST', `/interactions/${String(asked?.['id'])}`, { decision: 'allow' }],
      ['POST', '/files?name=a.txt', Buffer.from('a text')],
      ['POST', '/cancel'],
    ];
    for (const [method, where, body] of requests) {
      const foreign = await server.ask(404, method, chat + where, body, ben);
      const absent = await server.ask(404, method, nowhere + where, body, ben);
      assert.equal(withoutIDs(foreign), withoutIDs(absent), `${method} ${where}`);
    }
    assert.deepEqual(await server.ask(200, 'GET', '/conversations', undefined, ben), []);
    assert.equal((await server.ask(401, 'GET', chat, undefined, { Authorization: 'Bearer nobodys' }))['code'], 'unauthorized');
    assert.equal((await server.ask(200, 'GET', chat))['activity'], 'waiting', 'nothing that ben did reached it');
  });

  it('files are bounded, checked, and seen by the model in their conversation alone', async (t) => {
    const server = await Server.start(t, example(t));
    const chat = await server.conversation();
    const notes = await server.ask(201, 'POST', `${chat}/files?name=notes.txt`, Buffer.from('ten bytes.'), { 'Content-Type': 'text/plain; charset=utf-8' });
    await server.ask(202, 'POST', `${chat}/messages`, { text: 'Look.', files: [notes] });
    const answer = (await server.events(chat, 'model_call_finished')).at(-1)?.data.data?.['text'];
    assert.match(String(answer), /notes\.txt \(text\/plain, 10 bytes\)/);
    await server.events(chat, 'turn_ended');

    const other = await server.conversation();
    assert.equal((await server.ask(404, 'POST', `${other}/messages`, { text: 'Look.', files: [notes] }))['code'], 'attachment_not_found');
    assert.equal((await server.ask(415, 'POST', `${chat}/files?name=a.png`, Buffer.from('no image'), { 'Content-Type': 'image/png' }))['code'], 'unsupported_media');
    assert.equal((await server.ask(413, 'POST', `${chat}/files?name=big.txt`, Buffer.alloc((8 << 20) + 1, 'a')))['code'], 'request_too_large');
    assert.equal((await server.ask(400, 'POST', `${chat}/files`, Buffer.from('a')))['code'], 'invalid_request');
    assert.equal((await server.ask(400, 'POST', `${chat}/messages`, { text: 7 }))['code'], 'invalid_request');
  });

  it('killed while a person is asked, and again right behind the answer, it sends the parcel back once', async (t) => {
    const project = example(t);
    const first = await Server.start(t, project);
    const key = { 'Idempotency-Key': 'c1' };
    const { id } = await first.ask(201, 'POST', '/conversations', undefined, key);
    const chat = `/conversations/${String(id)}`;
    await first.ask(202, 'POST', `${chat}/messages`, sendBack, { 'Idempotency-Key': 'm1' });
    const before = await first.events(chat, 'interaction_required');
    await first.program.kill();

    const second = await Server.start(t, project);
    assert.deepEqual(await second.ask(201, 'POST', '/conversations', undefined, key), { id }, 'the same request makes the same conversation');
    const { interactions } = await second.ask(200, 'GET', chat);
    const [open] = interactions as { id: string }[];
    await second.ask(204, 'POST', `${chat}/interactions/${open?.id}`, { decision: 'allow' });
    await second.program.kill(); // before, inside or after the action

    const third = await Server.start(t, project);
    assert.equal((await third.ask(202, 'POST', `${chat}/messages`, sendBack, { 'Idempotency-Key': 'm1' }))['repeated'], true);
    const last = before.at(-1)?.id ?? 0;
    const later = await third.events(chat, 'turn_ended', last);
    assert.deepEqual(
      later.filter((event) => event.id !== undefined).map((event) => event.id),
      Array.from({ length: (later.at(-1)?.id ?? 0) - last }, (_, i) => last + 1 + i),
      'every event behind the last one that was seen, once and in order',
    );
    assert.equal(later.at(-1)?.data.data?.['status'], 'completed');
    assert.deepEqual(returned(project), [42]);
    await third.ask(400, 'GET', `${chat}/events`, undefined, { 'Last-Event-ID': '4711' });
  });

  it('killed while a model answers, it asks the model again and ends the turn', async (t) => {
    const model = await GatedModel.start(t);
    const project = example(t);
    const env = { OPENAI_API_KEY: 'sk-of-a-test', OPENAI_BASE_URL: model.url, OPENAI_MODEL: 'tiny' };
    const first = await Server.start(t, project, env);
    const chat = await first.conversation();
    await first.ask(202, 'POST', `${chat}/messages`, { text: 'hello' });
    await model.arrived(1);
    await first.program.kill();

    const second = await Server.start(t, project, env);
    await model.arrived(2);
    assert.equal((await second.ask(200, 'GET', chat))['activity'], 'running');
    model.answer('It is in Oslo.');
    const events = await second.events(chat, 'turn_ended');
    assert.equal(events.at(-1)?.data.data?.['status'], 'completed');
    assert.equal(events.findLast(({ type }) => type === 'model_call_finished')?.data.data?.['text'], 'It is in Oslo.');
  });
});

/** A server of Chat Completions that answers when it is told to. */
class GatedModel {
  readonly #server = createServer((request, response) => {
    request.resume();
    this.#waiting.push(response);
    this.#server.emit('arrived');
  });
  readonly #waiting: ServerResponse[] = [];

  static async start(t: TestContext): Promise<GatedModel> {
    const model = new GatedModel();
    model.#server.listen(0, '127.0.0.1');
    await once(model.#server, 'listening');
    t.after(() => {
      model.#server.close();
      model.#server.closeAllConnections();
    });
    return model;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Waits until so many requests have come. */
  async arrived(requests: number): Promise<void> {
    if (this.#waiting.length >= requests) return;
    await once(this.#server, 'arrived');
    await this.arrived(requests);
  }

  /** Answers all requests that have come. */
  answer(text: string): void {
    for (const response of this.#waiting) {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' });
      response.end(`${chunk({ delta: { role: 'assistant', content: text } })}${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`);
    }
  }
}

function chunk(choice: object): string {
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'tiny', choices: [{ index: 0, ...choice }] })}\n\n`;
}
