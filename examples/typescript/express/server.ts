import { randomUUID } from 'node:crypto';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { Attachment, type Agent, type Answer, type ContentBlock, type Session } from '@openworkerai/harness-sdk';
import type { Store } from './database.js';
import { absent, answerErrors, RequestError } from './errors.js';
import { streamEvents } from './events.js';

/** A file has at most 8 MiB. Ask for less here if your users need less. */
const maxFileBytes = 8 << 20;

/** The routes. Nothing is held between requests: a conversation stands in the database, and its session in the journal. */
export function serverOf(agent: Agent, store: Store): Express {
  const server = express();
  server.disable('x-powered-by');
  server.use(authenticate(store));

  server.post('/conversations', async (request, response) => {
    const owner = ownerOf(response);
    // With the same key a repeated request finds what the first one made, whichever of the two steps it came to.
    const key = request.get('Idempotency-Key') ?? randomUUID();
    const session = await agent.newSession({ owner, idempotencyKey: `${owner}/${key}` });
    const { id } = store.add(owner, key, session.reference());
    response.status(201).json({ id });
  });

  server.get('/conversations', (_request, response) => {
    response.json(store.list(ownerOf(response)).map(({ id }) => ({ id })));
  });

  server.get('/conversations/:id', async (request, response) => {
    const session = await sessionOf(request, response);
    const { activity, run, interactions = [], waitingFor = [], lastEvent } = await session.state();
    response.json({ activity, run, interactions, waitingFor, lastEvent });
  });

  // Answered as soon as the message is durable; what becomes of it is in the events.
  server.post('/conversations/:id/messages', express.json({ limit: '2mb' }), async (request, response) => {
    const session = await sessionOf(request, response);
    const { text, files } = messageOf(request.body);
    const submissionId = request.get('Idempotency-Key');
    const run = await session.send(text, files, submissionId === undefined ? {} : { submissionId });
    response.status(202).json({ run: run.id, accepted: run.accepted, repeated: run.repeated });
  });

  server.get('/conversations/:id/events', async (request, response) => {
    await streamEvents(await sessionOf(request, response), request, response);
  });

  server.post('/conversations/:id/interactions/:interaction', express.json({ limit: '2mb' }), async (request, response) => {
    const session = await sessionOf(request, response);
    // The runtime checks the answer. Who gave it is not the client's to say.
    const answer = { ...objectOf(request.body), by: ownerOf(response) } as Answer;
    await session.resolve(request.params.interaction, answer);
    response.status(204).end();
  });

  server.post('/conversations/:id/cancel', async (request, response) => {
    await (await sessionOf(request, response)).cancel();
    response.status(204).end();
  });

  // The body is the file. It is named in a later message by the ID that comes back, in this conversation alone.
  server.post(
    '/conversations/:id/files',
    mine, // before anything of the body is read
    express.raw({ type: () => true, limit: maxFileBytes }),
    async (request, response) => {
      const session = await sessionOf(request, response);
      const { name } = request.query;
      if (typeof name !== 'string') throw new RequestError(400, 'invalid_request', 'name the file: ?name=report.pdf');
      const data: unknown = request.body;
      const type = request.get('Content-Type')?.split(';')[0]?.trim();
      const file = Attachment.fromBytes({
        name,
        mediaType: type === 'application/octet-stream' ? undefined : type, // which browsers say of what they do not know
        data: data instanceof Uint8Array ? data : new Uint8Array(),
      });
      const { id, mediaType, size } = await session.upload(file);
      response.status(201).json({ id, name, mediaType, size });
    },
  );

  server.use((request) => {
    throw new RequestError(404, 'not_found', `there is no ${request.method} ${request.path}`);
  });
  server.use(answerErrors);
  return server;

  /** The session of a request, for the user who owns it. To everybody else it is not there. */
  async function sessionOf(request: Request<{ id: string }>, response: Response): Promise<Session> {
    const conversation = store.find(ownerOf(response), request.params.id);
    if (conversation === undefined) throw absent(request.params.id);
    return agent.resumeSession(conversation.reference); // a look at the store; it starts nothing
  }

  function mine(request: Request<{ id: string }>, response: Response, next: () => void): void {
    if (store.find(ownerOf(response), request.params.id) === undefined) throw absent(request.params.id);
    next();
  }
}

/** Finds the user of a request by its token. Put what your users log in with in its place. */
function authenticate(store: Store): RequestHandler {
  return (request, response, next) => {
    const token = /^Bearer (\S+)$/.exec(request.get('Authorization') ?? '')?.[1];
    const owner = token === undefined ? undefined : store.user(token);
    if (owner === undefined) throw new RequestError(401, 'unauthorized', 'send Authorization: Bearer TOKEN');
    response.locals['owner'] = owner;
    next();
  };
}

function ownerOf(response: Response): string {
  return response.locals['owner'] as string;
}

/** A message: a text, and the files of this conversation that belong to it. */
function messageOf(body: unknown): { text: string; files: ContentBlock[] } {
  const { text, files = [] } = objectOf(body);
  if (typeof text !== 'string' || !Array.isArray(files)) {
    throw new RequestError(400, 'invalid_request', 'the body is { "text": "…", "files": [{ "id": "…", "name": "…", "mediaType": "…" }] }, files being optional');
  }
  return { text, files: files.map(blockOf) };
}

function blockOf(file: unknown): ContentBlock {
  const { id, name, mediaType } = objectOf(file);
  if (typeof id !== 'string' || typeof name !== 'string' || typeof mediaType !== 'string') {
    throw new RequestError(400, 'invalid_request', 'a file is what its upload has answered: { "id", "name", "mediaType" }');
  }
  return { type: mediaType.startsWith('image/') ? 'image' : 'document', name, source: { type: 'attachment', id } };
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RequestError(400, 'invalid_request', 'the body is a JSON object, with Content-Type: application/json');
  }
  return value as Record<string, unknown>;
}
