import { createHash, randomUUID } from 'node:crypto';
import type { SessionReference } from '@openworkerai/harness-sdk';
import Database from 'libsql';

/** A user's conversation: what this application keeps of a session. */
export interface Conversation {
  readonly id: string;
  readonly owner: string;
  readonly reference: SessionReference;
}

/**
 * The application's own database. Who may use which session stands here: a reference is no permission.
 *
 * libsql is SQLite, with a build for each platform in the registry: nothing is compiled when it is installed.
 */
export class Store {
  readonly #db: Database.Database;

  constructor(file: string) {
    this.#db = new Database(file);
    this.#db.exec(`
      pragma journal_mode = wal;
      create table if not exists users (token_hash text primary key, name text not null) strict;
      create table if not exists conversations (
        id text primary key, owner text not null, request text not null, reference text not null,
        unique (owner, request)
      ) strict;
      create table if not exists returns (call_id text primary key, parcel integer not null) strict;
    `);
  }

  /** Lets a token stand for a user. The token itself is not stored. */
  addUser(name: string, token: string): void {
    this.#db.prepare('insert into users values (?, ?) on conflict do update set name = excluded.name').run(hash(token), name);
  }

  /** The user of a token. */
  user(token: string): string | undefined {
    return (this.#db.prepare('select name from users where token_hash = ?').get(hash(token)) as { name: string } | undefined)?.name;
  }

  /** Keeps a conversation, or finds the one that the same request has made before. */
  add(owner: string, request: string, reference: SessionReference): Conversation {
    this.#db.prepare('insert into conversations values (?, ?, ?, ?) on conflict do nothing').run(randomUUID(), owner, request, JSON.stringify(reference));
    return conversationOf(this.#db.prepare('select * from conversations where owner = ? and request = ?').get(owner, request) as Row);
  }

  /** A user's conversation. That of somebody else is not there. */
  find(owner: string, id: string): Conversation | undefined {
    const row = this.#db.prepare('select * from conversations where id = ? and owner = ?').get(id, owner) as Row | undefined;
    return row === undefined ? undefined : conversationOf(row);
  }

  /** A user's conversations. */
  list(owner: string): Conversation[] {
    return (this.#db.prepare('select * from conversations where owner = ? order by rowid').all(owner) as Row[]).map(conversationOf);
  }

  /** Sends a parcel back, once for each call however often it is asked. False: it was sent back for this call before. */
  sendBack(callId: string, parcel: number): boolean {
    return this.#db.prepare('insert into returns values (?, ?) on conflict do nothing').run(callId, parcel).changes > 0;
  }

  /** The parcel that a call has sent back. */
  sentBack(callId: string): number | undefined {
    return (this.#db.prepare('select parcel from returns where call_id = ?').get(callId) as { parcel: number } | undefined)?.parcel;
  }

  close(): void {
    this.#db.close();
  }
}

interface Row {
  readonly id: string;
  readonly owner: string;
  readonly reference: string;
}

function conversationOf({ id, owner, reference }: Row): Conversation {
  return { id, owner, reference: JSON.parse(reference) as SessionReference };
}

function hash(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
