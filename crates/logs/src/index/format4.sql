-- Rows begin with the keys of their replies. The column has another name, so that an earlier version that is still running
-- fails and writes nothing wrong.
ALTER TABLE spent RENAME COLUMN replies TO packed;
