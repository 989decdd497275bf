-- The sessions of each database, as they were listed last, and what its files were then: to list them looks at every row
-- of a database.
CREATE TABLE list (path TEXT PRIMARY KEY, mark TEXT NOT NULL, sessions TEXT NOT NULL) STRICT, WITHOUT ROWID;
