//! The beginning of a record: enough to know what it is, without looking at the rest. Most of a file is what tools gave
//! back, and that is never looked at for tokens.

use crate::plain;

/// How far into what a record says its role or its item's type is looked for.
const NEAR: usize = 400;

/// What a record is, as far as its beginning says.
#[derive(Debug, PartialEq, Eq)]
pub struct Head<'a> {
    /// The kind of record; that of a bare item is the item's.
    pub kind: &'a [u8],
    /// The kind of what it says, if that comes first, as Codex writes it.
    pub what: Option<&'a [u8]>,
    /// The beginning of what it says.
    pub near: &'a [u8],
}

/// Looks at the beginning of a record, with or without spaces. Nothing if it begins otherwise than Codex's do.
pub fn head(record: &[u8]) -> Option<Head<'_>> {
    let mut at = Cursor { bytes: record, at: 0 };
    at.token(b'{')?;
    let mut kind = None;
    loop {
        let key = at.string()?;
        at.token(b':')?;
        match key {
            b"type" => kind = Some(at.string()?),
            b"payload" => return Some(payload(kind?, at)),
            _ => at.scalar()?,
        }
        match at.token(b',') {
            // A bare item says what it is first.
            Some(()) if key == b"type" && !at.has_payload() => {
                return kind.map(|kind| Head { kind, what: None, near: near(record) });
            }
            Some(()) => {}
            None => return None,
        }
    }
}

fn payload<'a>(kind: &'a [u8], mut at: Cursor<'a>) -> Head<'a> {
    let near = near(at.bytes.get(at.at..).unwrap_or_default());
    let mut what = || {
        at.token(b'{')?;
        let key = at.string()?;
        at.token(b':')?;
        if key == b"type" { at.string() } else { None }
    };
    Head { kind, what: what(), near }
}

fn near(bytes: &[u8]) -> &[u8] {
    bytes.get(..NEAR).unwrap_or(bytes)
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn blank(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn token(&mut self, token: u8) -> Option<()> {
        self.blank();
        (self.bytes.get(self.at) == Some(&token)).then(|| self.at += 1)
    }

    /// A short string without escapes: names and times have none.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.token(b'"')?;
        let rest = self.bytes.get(self.at..)?;
        let end = plain::end(near(rest), 0);
        self.at += end + 1;
        rest.get(..end).filter(|_| rest.get(end) == Some(&b'"'))
    }

    /// Moves over a string, a number or a word.
    fn scalar(&mut self) -> Option<()> {
        self.blank();
        match self.bytes.get(self.at)? {
            b'"' => self.string().map(drop),
            b'{' | b'[' => None,
            _ => {
                let rest = self.bytes.get(self.at..)?;
                self.at += rest.iter().take(NEAR).position(|byte| matches!(byte, b',' | b'}'))?;
                Some(())
            }
        }
    }

    /// A payload follows soon, most often at once.
    fn has_payload(&self) -> bool {
        let rest = near(self.bytes.get(self.at..).unwrap_or_default());
        rest.starts_with(b"\"payload\"") || memchr::memmem::find(rest, b"\"payload\"").is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::head;

    fn check(record: &str, kind: &str, what: Option<&str>) {
        let head = head(record.as_bytes()).unwrap_or_else(|| panic!("{record}"));
        assert_eq!((head.kind, head.what), (kind.as_bytes(), what.map(str::as_bytes)), "{record}");
    }

    #[test]
    fn a_record_is_known_by_its_beginning() {
        check(
            r#"{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":"#,
            "event_msg",
            Some("token_count"),
        );
        check(
            r#"{"timestamp":"t","ordinal":7,"type":"token_usage_record","payload":{"thread_id":1}}"#,
            "token_usage_record",
            None,
        );
        check(
            "{ \"timestamp\" : \"t\" ,\t\"type\": \"response_item\", \"payload\": { \"type\": \"message\"",
            "response_item",
            Some("message"),
        );
        check(
            r#"{"type":"event_msg","timestamp":"t","payload":{"type":"token_count"}}"#,
            "event_msg",
            Some("token_count"),
        );
        check(r#"{"type":"message","role":"user","content":[]}"#, "message", None);
    }

    #[test]
    fn what_begins_otherwise_is_left_open() {
        for record in ["", "{", "[]", r#"{"payload":{},"type":"event_msg"}"#, r#"{"id":"s","timestamp":"t"}"#, "\0\0\0"]
        {
            assert_eq!(head(record.as_bytes()), None, "{record}");
        }
    }
}
