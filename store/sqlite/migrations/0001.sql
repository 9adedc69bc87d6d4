-- Schema 1. Times are Unix milliseconds; 0 is "none".

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

-- What does not change with an append. The row outlives its session as the tombstone of the id.
CREATE TABLE sessions (
  key          INTEGER PRIMARY KEY,
  id           TEXT NOT NULL UNIQUE,
  state        INTEGER NOT NULL DEFAULT 0, -- 0 live, 1 deleted, 2 cleaned: a tombstone
  owner        TEXT NOT NULL,
  agent        TEXT NOT NULL,
  digest       TEXT NOT NULL,
  metadata     TEXT NOT NULL,              -- JSON object, '' for none
  creation_key TEXT,
  fingerprint  TEXT NOT NULL,
  created      INTEGER NOT NULL
);
CREATE UNIQUE INDEX sessions_by_creation ON sessions (owner, agent, creation_key) WHERE creation_key IS NOT NULL;
CREATE INDEX sessions_to_clean ON sessions (key) WHERE state = 1;

-- What changes with each append: small rows, so that many sessions share a page.
CREATE TABLE heads (
  key          INTEGER PRIMARY KEY, -- of sessions
  head         INTEGER NOT NULL,
  epoch        INTEGER NOT NULL,
  claim        TEXT NOT NULL,
  holder       INTEGER NOT NULL,    -- of processes, 0 for none
  due          INTEGER NOT NULL,
  updated      INTEGER NOT NULL,
  activity     TEXT NOT NULL,
  needs        TEXT NOT NULL,       -- JSON array, '' for none
  parked       TEXT NOT NULL,
  parked_build TEXT NOT NULL
);
CREATE INDEX heads_by_due ON heads (due) WHERE due > 0;

-- The journal, in order of commits: the records of all sessions that share a commit fill pages one after the
-- other. The records of an append have consecutive ids. Only its first one is in the index, and has its time
-- and its ID.
CREATE TABLE events (
  id      INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  number  INTEGER NOT NULL,
  count   INTEGER NOT NULL, -- of the append's records; 0 but for the first
  time    INTEGER NOT NULL,
  append  TEXT NOT NULL,
  version INTEGER NOT NULL,
  flags   INTEGER NOT NULL, -- 1 item, 2 terminal
  kind    TEXT NOT NULL,
  run     TEXT NOT NULL,    -- '~' and what comes behind the session's id, or '=' and the whole, or ''
  data    BLOB NOT NULL
);
CREATE UNIQUE INDEX events_by_append ON events (session, number) WHERE count > 0;
CREATE INDEX events_terminal ON events (session, run) WHERE flags >= 2;

CREATE TABLE receipts (
  session  INTEGER NOT NULL,
  key      TEXT NOT NULL,
  run      TEXT NOT NULL, -- as in events
  accepted INTEGER NOT NULL,
  fields   TEXT NOT NULL, -- JSON object, '' for none
  PRIMARY KEY (session, key)
) WITHOUT ROWID;

CREATE TABLE snapshots (
  session INTEGER PRIMARY KEY,
  head    INTEGER NOT NULL,
  schema  TEXT NOT NULL,
  data    BLOB NOT NULL
);

-- Open interactions. The number gives their order and is never given twice.
CREATE TABLE interactions (
  number  INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  id      TEXT NOT NULL,
  data    BLOB NOT NULL,
  UNIQUE (session, id)
);

-- Sums; they name no session and outlive all.
CREATE TABLE usage (
  owner     TEXT NOT NULL,
  day       TEXT NOT NULL,
  agent     TEXT NOT NULL,
  turns     INTEGER NOT NULL,
  input     INTEGER NOT NULL,
  cached    INTEGER NOT NULL,
  output    INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  estimated INTEGER NOT NULL,
  PRIMARY KEY (owner, day, agent)
) WITHOUT ROWID;

CREATE TABLE processes (
  key     INTEGER PRIMARY KEY,
  id      TEXT NOT NULL UNIQUE,
  lease   INTEGER NOT NULL,
  fenced  INTEGER NOT NULL,
  host    TEXT NOT NULL,
  pid     INTEGER NOT NULL,
  address TEXT NOT NULL
);

CREATE TABLE agents (
  owner      TEXT NOT NULL,
  name       TEXT NOT NULL,
  digest     TEXT NOT NULL,
  definition BLOB NOT NULL,
  created    INTEGER NOT NULL,
  PRIMARY KEY (owner, name)
);
CREATE INDEX agents_by_digest ON agents (digest);

INSERT INTO meta (key, value) VALUES
  ('oldest_build_that_may_run', '1'), -- a schema number: builds of an older schema keep off
  ('write_format', '1');              -- the newest journal format that builds may write
