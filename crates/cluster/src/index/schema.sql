-- The index of a node: a copy of what lists and readers need, made of the frames of the log. It can be deleted at any
-- time.

-- Short columns first: a list does not read the long ones behind them from their own pages.
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    agent_session TEXT,
    state TEXT NOT NULL,
    open INTEGER NOT NULL,
    archived INTEGER NOT NULL,
    created INTEGER NOT NULL,
    ended INTEGER,
    head INTEGER NOT NULL,
    incarnation TEXT NOT NULL,
    node TEXT NOT NULL,
    -- The stream sequence and the hash of the last applied frame.
    sequence INTEGER NOT NULL,
    hash TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    project TEXT,
    cwd TEXT NOT NULL,
    title TEXT,
    prompt TEXT NOT NULL,
    -- The summary in the last frame, with all texts.
    record TEXT NOT NULL
) STRICT;

CREATE INDEX open_sessions ON sessions (incarnation) WHERE open = 1;
CREATE INDEX ended_sessions ON sessions (ended) WHERE open = 0;

-- Frames with events.
CREATE TABLE frames (
    session INTEGER NOT NULL,
    last INTEGER NOT NULL,
    first INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    kinds INTEGER NOT NULL,
    PRIMARY KEY (session, last)
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    session INTEGER NOT NULL,
    run INTEGER NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (session, run)
) STRICT, WITHOUT ROWID;

-- The objects of a session's frames.
CREATE TABLE objects (
    session INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (session, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE tombstones (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

-- Deleted sessions whose frames and objects may remain, and the process that deleted them, as in frames.
CREATE TABLE garbage (id TEXT PRIMARY KEY, objects TEXT NOT NULL, owner TEXT NOT NULL) STRICT;

CREATE TABLE checkpoints (
    session INTEGER NOT NULL,
    dialect TEXT NOT NULL,
    version TEXT NOT NULL,
    seq INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    state BLOB NOT NULL,
    UNIQUE (session, dialect, version, seq)
) STRICT;

CREATE INDEX checkpoints_by_message ON checkpoints (session, dialect, version, messages, seq);

-- The stream and the sequence up to which all of its frames are applied.
CREATE TABLE progress (stream TEXT NOT NULL, sequence INTEGER NOT NULL) STRICT;
