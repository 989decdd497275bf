-- Format 4: a checksum for every event, so that bytes that the disk changed are noticed.

-- Over the session, the seq, the kind and the body (`checksum.rs`). NULL for events of earlier formats.
ALTER TABLE events ADD COLUMN checksum INTEGER;
