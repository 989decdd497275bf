//! A parser for server-sent events: bytes in, payloads out, however the bytes are split. Independent of connections.

/// Parses a stream of server-sent events.
pub struct SseParser {
    limit: usize,
    /// The incomplete line.
    line: Vec<u8>,
    /// The payload of the incomplete event; each of its lines ends with a line feed.
    data: Vec<u8>,
    /// The last byte was a carriage return: a line feed after it belongs to the same line end.
    returned: bool,
    /// A line was read: only the first may begin with a byte order mark.
    begun: bool,
}

/// An event exceeds the size limit.
#[derive(Debug, PartialEq, Eq)]
pub struct SseEventTooLarge;

impl SseParser {
    /// Creates a parser with a size limit for one event.
    pub fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new(), data: Vec::new(), returned: false, begun: false }
    }

    /// Parses more bytes and appends the payloads that they complete.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Vec<u8>>) -> Result<(), SseEventTooLarge> {
        let Some(first) = bytes.first() else { return Ok(()) };
        if std::mem::take(&mut self.returned) && *first == b'\n' {
            bytes = bytes.get(1..).unwrap_or_default();
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, rest) = bytes.split_at(end);
            self.append_line(line)?;
            self.finish_line(out);
            self.returned = rest == b"\r";
            bytes = rest.strip_prefix(b"\r\n").or_else(|| rest.get(1..)).unwrap_or_default();
        }
        self.append_line(bytes)
    }

    fn append_line(&mut self, bytes: &[u8]) -> Result<(), SseEventTooLarge> {
        if self.line.len() + self.data.len() + bytes.len() > self.limit {
            return Err(SseEventTooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Handles a complete line.
    fn finish_line(&mut self, out: &mut Vec<Vec<u8>>) {
        let line = std::mem::take(&mut self.line);
        let first = !std::mem::replace(&mut self.begun, true);
        let line = line.strip_prefix(b"\xef\xbb\xbf").filter(|_| first).unwrap_or(&line);
        if line.is_empty() {
            return self.dispatch_event(out);
        }
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(colon) => (line.get(..colon), line.get(colon + 1..)),
            None => (Some(line), None),
        };
        let value = value.unwrap_or_default();
        // The agents' payloads repeat event names and ids, and retry times are not used.
        if name == Some(b"data") {
            self.data.extend_from_slice(value.strip_prefix(b" ").unwrap_or(value));
            self.data.push(b'\n');
        }
    }

    fn dispatch_event(&mut self, out: &mut Vec<Vec<u8>>) {
        let mut data = std::mem::take(&mut self.data);
        if data.pop().is_some() {
            out.push(data);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SseEventTooLarge, SseParser};

    /// Asserts the payloads for every way to split the bytes.
    fn assert_payloads(stream: &str, expected: &[&str]) {
        for size in 1..=stream.len().max(1) {
            let (mut events, mut out) = (SseParser::new(1 << 10), Vec::new());
            for piece in stream.as_bytes().chunks(size) {
                events.push(piece, &mut out).unwrap();
            }
            let out: Vec<_> = out.iter().map(|data| str::from_utf8(data).unwrap()).collect();
            assert_eq!(out, expected, "{stream:?} in pieces of {size}");
        }
    }

    #[test]
    fn an_event_ends_with_an_empty_line() {
        assert_payloads("data: {\"a\":1}\n\ndata:{\"a\":2}\n\n", &["{\"a\":1}", "{\"a\":2}"]);
        assert_payloads("data: not complete", &[]);
        assert_payloads("data: not complete\n", &[]);
        assert_payloads("\n\n\n", &[]);
        assert_payloads("data: a\n\n\n\ndata: b\n\n", &["a", "b"]);
    }

    #[test]
    fn lines_end_in_three_ways() {
        assert_payloads("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &["a", "b", "c"]);
        assert_payloads("data: a\r\ndata: b\r\n\r\n", &["a\nb"]);
        assert_payloads("data: a\r\rdata: b\r\n\ndata: c\n\r\n", &["a", "b", "c"]);
    }

    #[test]
    fn several_lines_of_data_are_one_payload() {
        assert_payloads("data: a\ndata:  b\ndata\ndata:\n\n", &["a\n b\n\n"]);
        assert_payloads("data\n\n", &[""]);
    }

    #[test]
    fn comments_and_other_fields_are_passed_over() {
        assert_payloads(": heartbeat\n\n", &[]);
        assert_payloads("id: 7\nevent: message\nretry: 10\n: why\ndata: a\ndatum: b\n\n", &["a"]);
        assert_payloads("event: only\n\n", &[]);
    }

    #[test]
    fn text_is_not_taken_apart() {
        assert_payloads("\u{feff}data: é 漢\u{feff}\n\n", &["é 漢\u{feff}"]);
    }

    #[test]
    fn an_event_that_is_too_large_ends_the_stream() {
        let push = |text: &str| SseParser::new(16).push(text.as_bytes(), &mut Vec::new());
        assert_eq!(push("data: 1234567890\n\ndata: 1234567890\n\n"), Ok(()));
        assert_eq!(push("data: 12345678901\n\n"), Err(SseEventTooLarge));
        assert_eq!(push("data: 1234\ndata: 123456\n\n"), Err(SseEventTooLarge));
        assert_eq!(push(&"x".repeat(17)), Err(SseEventTooLarge));
    }
}
