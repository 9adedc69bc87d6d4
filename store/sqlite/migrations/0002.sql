-- Schema 2: what users attach. A build that knows no files would clean a session and leave them behind, so it keeps
-- off from here on.

-- A key is never given twice: chunks outlive their file for a moment.
CREATE TABLE files (
  key        INTEGER PRIMARY KEY AUTOINCREMENT,
  session    INTEGER NOT NULL, -- of sessions
  id         TEXT NOT NULL,    -- as a run in events
  state      TEXT NOT NULL,    -- 'open', 'sealed' or 'accepted'
  expires    INTEGER NOT NULL,
  size       INTEGER NOT NULL,
  sha256     TEXT NOT NULL,
  name       TEXT NOT NULL,
  announced  TEXT NOT NULL,
  media_type TEXT NOT NULL,
  width      INTEGER NOT NULL,
  height     INTEGER NOT NULL,
  UNIQUE (session, id)
);

-- The bytes, in rows that are written once. They are found through the index, which has no byte of them: a search
-- within their own tree reads whole rows wherever it compares.
CREATE TABLE chunks (
  file   INTEGER NOT NULL, -- of files
  number INTEGER NOT NULL,
  data   BLOB NOT NULL,
  UNIQUE (file, number)
);

-- Files that are gone and whose chunks go step by step.
CREATE TABLE removed (
  file INTEGER PRIMARY KEY -- as in files
);

UPDATE meta SET value = '2' WHERE key = 'oldest_build_that_may_run';
