-- Format 2: saved projections, and sessions by their end.

-- A row is written once and never changed. There may be many for a session, and they may be large, so they are removed
-- in portions.
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

CREATE INDEX ended_sessions ON sessions (ended) WHERE open = 0;
