-- Logs have more content than earlier versions read from them: totals at their end, two records on a line, steps of a reply.
-- All that still exist are read again.
UPDATE unit SET tokens_seen = NULL, text_seen = NULL, mark = NULL, version = version + 1 WHERE NOT gone;
