-- Filters lie in drawers, by the hashes of their words. Those of many blocks lie on a shelf together, a row for each drawer:
-- looking for a word reads one of them. A block whose `shelf` is empty has its filter in its own row.
-- The column has another name, so that an earlier version that is still running fails and writes nothing wrong.
ALTER TABLE words RENAME COLUMN filter TO drawers;
ALTER TABLE words ADD COLUMN shelf INTEGER;
CREATE INDEX words_loose ON words (block) WHERE shelf IS NULL;

-- `blocks`: each block with its log, packed. Those that are gone stay in it, and `living` says how many do not.
CREATE TABLE shelf (id INTEGER PRIMARY KEY, blocks BLOB NOT NULL, count INTEGER NOT NULL, living INTEGER NOT NULL) STRICT;
-- `at`: the shelf, times the number of drawers, plus that of the drawer.
CREATE TABLE drawer (at INTEGER PRIMARY KEY, filters BLOB NOT NULL) STRICT;

CREATE TRIGGER words_gone AFTER DELETE ON words WHEN old.shelf IS NOT NULL
BEGIN UPDATE shelf SET living = living - 1 WHERE id = old.shelf; END;
