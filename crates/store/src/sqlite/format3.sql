-- Format 3: sessions that are put away, so that lists need not show them.

ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
