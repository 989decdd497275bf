-- Format 1. A later format is another file of changes to the one before; this one never changes.

-- Processes that run sessions. Each holds the lock of owners/NUMBER.lock while it lives.
CREATE TABLE owners (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    pid INTEGER NOT NULL,
    start INTEGER NOT NULL,
    boot TEXT NOT NULL
) STRICT;

-- Short columns first: a list does not read the long ones behind them from their own pages.
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT CHECK (number < 8388608),
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    agent_session TEXT,
    state TEXT NOT NULL,
    open INTEGER NOT NULL,
    owner INTEGER,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    ended INTEGER,
    head INTEGER NOT NULL DEFAULT 0,
    runs INTEGER NOT NULL DEFAULT 0,
    turns INTEGER NOT NULL DEFAULT 0,
    project TEXT,
    cwd TEXT NOT NULL,
    title TEXT,
    prompt TEXT NOT NULL,
    config TEXT NOT NULL,
    carry TEXT,
    ending TEXT
) STRICT;

CREATE INDEX open_sessions ON sessions (owner) WHERE open = 1;

-- `place` is the session's number and the event's seq in one: number * 2^40 + seq. So the events of a session lie
-- together and in order without an index beside the table.
CREATE TABLE events (
    place INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE runs (
    session INTEGER NOT NULL,
    run INTEGER NOT NULL,
    boot TEXT NOT NULL,
    supervisor_pid INTEGER,
    supervisor_start INTEGER,
    agent_pid INTEGER,
    agent_start INTEGER,
    started INTEGER NOT NULL,
    ended INTEGER,
    PRIMARY KEY (session, run)
) STRICT, WITHOUT ROWID;

-- Sessions that were deleted, while their events are still being removed.
CREATE TABLE garbage (session INTEGER PRIMARY KEY) STRICT;
