//! What a stream of bytes says, read the plain way: one record a line, of a transcript the message. Written apart
//! from the code that it checks.

use serde_json::value::RawValue;
use switchboard_agents::split_joined_records;
use switchboard_event::{Dir, Native, NativeBody};

/// One native record, as an event must carry it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Which way it went.
    pub dir: Dir,
    /// JSON, text or bytes.
    pub form: Form,
    /// Exactly what was said.
    pub bytes: Vec<u8>,
}

/// The form of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Valid JSON.
    Json,
    /// UTF-8 that is not JSON.
    Text,
    /// Not even UTF-8.
    Bytes,
}

impl From<&Native> for Said {
    fn from(native: &Native) -> Self {
        let (form, bytes) = match &native.body {
            NativeBody::Json(raw) => (Form::Json, raw.get().as_bytes()),
            NativeBody::Text(text) => (Form::Text, text.as_bytes()),
            NativeBody::Bytes(bytes) => (Form::Bytes, bytes.as_slice()),
        };
        Self { dir: native.dir, form, bytes: bytes.to_vec() }
    }
}

/// All records of a stream.
#[must_use]
pub fn said(stream: &[u8]) -> Vec<Said> {
    stream.split(|byte| *byte == b'\n').flat_map(records).collect()
}

/// The records of a line, which may have been joined with what was appended to a torn one.
fn records(text: &[u8]) -> Vec<Said> {
    let Some(said) = line(text) else { return Vec::new() };
    let pieces = if said.form == Form::Json { Vec::new() } else { split_joined_records(text) };
    if pieces.is_empty() { vec![said] } else { pieces.into_iter().filter_map(line).collect() }
}

fn line(line: &[u8]) -> Option<Said> {
    let Ok(text) = str::from_utf8(line) else {
        return Some(Said { dir: Dir::In, form: Form::Bytes, bytes: line.to_vec() });
    };
    if text.trim().is_empty() {
        return None;
    }
    if serde_json::from_str::<&RawValue>(text).is_err() {
        return Some(Said { dir: Dir::In, form: Form::Text, bytes: line.to_vec() });
    }
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    let (dir, text) = transcript(text).unwrap_or((Dir::In, text));
    Some(Said { dir, form: Form::Json, bytes: text.as_bytes().to_vec() })
}

/// `{"dir":"in"|"out","msg":…}`
fn transcript(text: &str) -> Option<(Dir, &str)> {
    let fields = switchboard_agents::Json::parse(text)?.object();
    let dir = match fields.str("dir")?.as_ref() {
        "in" => Dir::In,
        "out" => Dir::Out,
        _ => return None,
    };
    let (_, message) = fields.iter().find(|(key, _)| *key == "msg")?;
    Some((dir, message.text()))
}

#[cfg(test)]
mod tests {
    use switchboard_event::Dir;

    use super::{Form, said};

    #[test]
    fn one_record_a_line() {
        let stream = b"{\"a\": 1 }\r\n\n  \nnot json\n\xff\n{\"dir\":\"out\",\"t\":1,\"msg\":[ 1]}\n{\"torn\":";
        let said = said(stream);
        let shown: Vec<_> = said.iter().map(|s| (s.dir, s.form, s.bytes.as_slice())).collect();
        assert_eq!(
            shown,
            [
                (Dir::In, Form::Json, &b"{\"a\": 1 }"[..]),
                (Dir::In, Form::Text, b"not json"),
                (Dir::In, Form::Bytes, b"\xff"),
                (Dir::Out, Form::Json, b"[ 1]"),
                (Dir::In, Form::Text, b"{\"torn\":"),
            ]
        );
    }
}
