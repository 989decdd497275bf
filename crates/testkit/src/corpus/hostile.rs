//! Malformed lines that occur in logs after a crash, on a full disk, by another program or by a future version. They
//! fit between the lines of any log.

#[derive(Clone, Debug)]
pub struct JunkLine {
    /// The defect.
    pub name: &'static str,
    /// The line, without its end.
    pub bytes: Vec<u8>,
    /// It must be reported; lines that are merely unusual need not be.
    pub is_bad: bool,
}

#[must_use]
pub fn junk_lines() -> Vec<JunkLine> {
    let bad = |name, bytes: &[u8]| JunkLine { name, bytes: bytes.to_owned(), is_bad: true };
    let strange = |name, bytes: &[u8]| JunkLine { name, bytes: bytes.to_owned(), is_bad: false };
    let deep = |open: &str, close: &str, levels: usize| [open.repeat(levels), close.repeat(levels)].concat();
    let nested = format!("{{\"type\":\"user\",\"message\":{}}}", deep("[", "]", 5_000));
    vec![
        bad("torn", br#"{"type":"assistant","timestamp":"2026-10-21T10:00:00.000Z","message":{"id":"msg_torn","usage":{"input_tokens":12,"outp"#),
        bad("torn in an escape", br#"{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1},"text":"\u00"#),
        bad("zeros", &[0; 4_096]),
        bad("not UTF-8", b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"caf\xe9 \xff\xfe\"}}"),
        bad("bytes", &(128..=255).cycle().filter(|byte| *byte != b'\n').take(999).collect::<Vec<u8>>()),
        bad("two records in one line", br#"{"type":"user"}{"type":"user"}"#),
        bad("a word", b"Killed"),
        bad("markup", b"<html><body>502 Bad Gateway</body></html>"),
        bad("a kind that nobody knows", br#"{"type":"from-the-future","timestamp":"2026-10-21T10:00:00.000Z","payload":{"type":"hologram","usage":{"input_tokens":5}}}"#),
        bad("an end without a beginning", br#"put_tokens":12}}}"#),
        bad("brackets without an end", "[".repeat(200_000).as_bytes()),
        strange("nested deeply", nested.as_bytes()),
        strange("nothing", b""),
        strange("blanks", b"   \t "),
        strange("a number", b"42"),
        strange("a text", b"\"assistant\""),
        strange("no value", b"null"),
        strange("a list", b"[]"),
        strange("an object without anything", b"{}"),
        strange("everything of another type", br#"{"type":7,"timestamp":{},"message":[1],"payload":"x","sessionId":[],"uuid":null,"id":{},"tokens":"many","usage":[]}"#),
        strange("no numbers", br#"{"type":"assistant","timestamp":null,"message":{"id":null,"model":null,"content":null,"usage":{"input_tokens":null,"output_tokens":"7","cache_read_input_tokens":{},"cache_creation_input_tokens":[]}}}"#),
        strange("half a character", br#"{"type":"user","message":{"role":"user","content":"\ud83d and \udc00"}}"#),
        strange("a name twice", br#"{"type":"user","type":"user","message":{"role":"user","content":"a","content":"b"}}"#),
        strange("numbers that are none", br#"{"type":"system","subtype":"x","level":1e999,"n":-0.0,"m":123456789012345678901234567890}"#),
    ]
}

/// Inserts a malformed line after every line.
#[must_use]
pub fn insert_junk(log: &[u8]) -> Vec<u8> {
    let junk = junk_lines();
    let mut out = Vec::with_capacity(log.len() * 2);
    for (line, junk) in log.split_inclusive(|byte| *byte == b'\n').zip(junk.iter().cycle()) {
        out.extend_from_slice(line);
        out.extend_from_slice(&junk.bytes);
        out.push(b'\n');
    }
    out
}
