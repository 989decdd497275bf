-- The index of logs. Everything in it but `raw` can be made again while the logs are there; afterwards it is all that is
-- left of them.
CREATE TABLE unit (
    id INTEGER PRIMARY KEY,
    -- Machine, agent and log: a log that moves keeps its name.
    name TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    machine TEXT,
    path TEXT NOT NULL,
    -- The session in a database.
    part TEXT,
    session TEXT NOT NULL,
    parent TEXT,
    archived INTEGER NOT NULL,
    gone INTEGER NOT NULL DEFAULT 0,
    bytes INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    -- What the bytes that were read began and ended with.
    mark BLOB,
    facts TEXT NOT NULL,
    -- Grows with every change: whoever read an older state writes nothing.
    version INTEGER NOT NULL DEFAULT 0,
    -- How far it was read for tokens and for text, what the file was then, and what to go on with.
    tokens_at INTEGER NOT NULL DEFAULT 0,
    tokens_seen TEXT,
    tokens_state BLOB,
    text_at INTEGER NOT NULL DEFAULT 0,
    text_seen TEXT,
    text_state BLOB,
    -- Bytes at the end that are not a whole record.
    torn INTEGER NOT NULL DEFAULT 0,
    records INTEGER NOT NULL DEFAULT 0,
    time INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX unit_session ON unit (session);

CREATE TABLE spent (id INTEGER PRIMARY KEY, unit INTEGER NOT NULL, replies BLOB NOT NULL) STRICT;
CREATE INDEX spent_unit ON spent (unit);

-- Two tables, so that looking for a word reads no text.
CREATE TABLE words (block INTEGER PRIMARY KEY, unit INTEGER NOT NULL, filter BLOB NOT NULL) STRICT;
CREATE INDEX words_unit ON words (unit);
CREATE TABLE text (block INTEGER PRIMARY KEY, passages BLOB NOT NULL) STRICT;

-- Copies of records, for when the log is gone.
CREATE TABLE raw (id INTEGER PRIMARY KEY, unit INTEGER NOT NULL, begin INTEGER NOT NULL, records BLOB NOT NULL) STRICT;
CREATE INDEX raw_unit ON raw (unit);

CREATE TABLE trouble (unit INTEGER NOT NULL, what TEXT NOT NULL, place INTEGER, times INTEGER NOT NULL, PRIMARY KEY (unit, what)) STRICT, WITHOUT ROWID;
