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

-- What is gone and has left bytes behind: chunks, which go step by step, and what the log has. A row stays until the
-- log was emptied behind it, and a key is never given twice: so whoever empties the log knows how far it got.
CREATE TABLE removed (
  key  INTEGER PRIMARY KEY AUTOINCREMENT,
  file INTEGER NOT NULL -- of files; 0 for the log alone
);

-- Triggers, since processes of schema 1 may be at work still: they delete and clean sessions, and know of no files.
CREATE TRIGGER file_removed AFTER DELETE ON files BEGIN
  INSERT INTO removed (file) VALUES (OLD.key);
END;
CREATE TRIGGER session_deleted AFTER UPDATE OF state ON sessions WHEN NEW.state > OLD.state BEGIN
  DELETE FROM files WHERE session = NEW.key;
  INSERT INTO removed (file) VALUES (0);
END;
INSERT INTO removed (file) SELECT 0 FROM sessions LIMIT 1; -- what schema 1 left in the log

UPDATE meta SET value = '2' WHERE key = 'oldest_build_that_may_run';
