//! Parses the beginning of a record, which is enough to classify it. Tool results, which make up most of a file, are
//! skipped when only tokens are counted.

use crate::split;

/// Number of bytes that are searched for a role or an item type.
const MAX_HEAD_BYTES: usize = 400;

/// Classification of a record by its beginning.
#[derive(Debug, PartialEq, Eq)]
pub struct RecordHead<'a> {
    /// Kind of the record; for a bare item, the item's type.
    pub kind: &'a [u8],
    /// Type of the payload, if it is the first field, as Codex writes it.
    pub what: Option<&'a [u8]>,
    /// Beginning of the payload.
    pub near: &'a [u8],
}

/// Parses the beginning of a record, with or without whitespace. Returns `None` if it does not begin as Codex's records
/// do.
pub fn parse_head(record: &[u8]) -> Option<RecordHead<'_>> {
    let mut at = RecordHeadScanner { bytes: record, at: 0 };
    at.take_token(b'{')?;
    let mut kind = None;
    loop {
        let key = at.read_string()?;
        at.take_token(b':')?;
        match key {
            b"type" => kind = Some(at.read_string()?),
            b"payload" => return Some(parse_payload_head(kind?, at)),
            _ => at.skip_scalar()?,
        }
        match at.take_token(b',') {
            // The first field of a bare item is its type.
            Some(()) if key == b"type" && !at.has_payload() => {
                return kind.map(|kind| RecordHead { kind, what: None, near: first_bytes(record) });
            }
            Some(()) => {}
            None => return None,
        }
    }
}

fn parse_payload_head<'a>(kind: &'a [u8], mut at: RecordHeadScanner<'a>) -> RecordHead<'a> {
    let near = first_bytes(at.bytes.get(at.at..).unwrap_or_default());
    let mut what = || {
        at.take_token(b'{')?;
        let key = at.read_string()?;
        at.take_token(b':')?;
        if key == b"type" { at.read_string() } else { None }
    };
    RecordHead { kind, what: what(), near }
}

fn first_bytes(bytes: &[u8]) -> &[u8] {
    bytes.get(..MAX_HEAD_BYTES).unwrap_or(bytes)
}

struct RecordHeadScanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> RecordHeadScanner<'a> {
    fn skip_whitespace(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn take_token(&mut self, token: u8) -> Option<()> {
        self.skip_whitespace();
        (self.bytes.get(self.at) == Some(&token)).then(|| self.at += 1)
    }

    /// Reads a short string without escapes: names and times have none.
    fn read_string(&mut self) -> Option<&'a [u8]> {
        self.take_token(b'"')?;
        let rest = self.bytes.get(self.at..)?;
        let end = split::find_mark(first_bytes(rest), 0);
        self.at += end + 1;
        rest.get(..end).filter(|_| rest.get(end) == Some(&b'"'))
    }

    /// Skips a string, a number or a literal.
    fn skip_scalar(&mut self) -> Option<()> {
        self.skip_whitespace();
        match self.bytes.get(self.at)? {
            b'"' => self.read_string().map(drop),
            b'{' | b'[' => None,
            _ => {
                let rest = self.bytes.get(self.at..)?;
                self.at += rest.iter().take(MAX_HEAD_BYTES).position(|byte| matches!(byte, b',' | b'}'))?;
                Some(())
            }
        }
    }

    /// Returns whether a payload follows soon, usually immediately.
    fn has_payload(&self) -> bool {
        let rest = first_bytes(self.bytes.get(self.at..).unwrap_or_default());
        rest.starts_with(b"\"payload\"") || memchr::memmem::find(rest, b"\"payload\"").is_some()
    }
}

#[cfg(test)]
mod tests {

    use super::parse_head;

    fn check_head(record: &str, kind: &str, what: Option<&str>) {
        let head = parse_head(record.as_bytes()).unwrap_or_else(|| panic!("{record}"));
        assert_eq!((head.kind, head.what), (kind.as_bytes(), what.map(str::as_bytes)), "{record}");
    }

    #[test]
    fn a_record_is_known_by_its_beginning() {
        check_head(
            r#"{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":"#,
            "event_msg",
            Some("token_count"),
        );
        check_head(
            r#"{"timestamp":"t","ordinal":7,"type":"token_usage_record","payload":{"thread_id":1}}"#,
            "token_usage_record",
            None,
        );
        check_head(
            "{ \"timestamp\" : \"t\" ,\t\"type\": \"response_item\", \"payload\": { \"type\": \"message\"",
            "response_item",
            Some("message"),
        );
        check_head(
            r#"{"type":"event_msg","timestamp":"t","payload":{"type":"token_count"}}"#,
            "event_msg",
            Some("token_count"),
        );
        check_head(r#"{"type":"message","role":"user","content":[]}"#, "message", None);
    }

    #[test]
    fn what_begins_otherwise_is_left_open() {
        for record in ["", "{", "[]", r#"{"payload":{},"type":"event_msg"}"#, r#"{"id":"s","timestamp":"t"}"#, "\0\0\0"]
        {
            assert_eq!(parse_head(record.as_bytes()), None, "{record}");
        }
    }
}
