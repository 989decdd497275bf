//! The native records of a stream, parsed in a simple way: one record per line, and the message of a transcript line.
//! Written independently of the code that it checks.

use serde_json::value::RawValue;
use switchboard_agents::split_joined_records;
use switchboard_event::{Dir, NativeBody, NativeRecord};

/// A native record as an event must carry it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedRecord {
    /// The direction.
    pub dir: Dir,
    pub form: RecordForm,
    /// The exact bytes.
    pub bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordForm {
    Json,
    /// UTF-8 that is not JSON.
    Text,
    /// Not UTF-8.
    Bytes,
}

impl From<&NativeRecord> for ExpectedRecord {
    fn from(native: &NativeRecord) -> Self {
        let (form, bytes) = match &native.body {
            NativeBody::Json(raw) => (RecordForm::Json, raw.get().as_bytes()),
            NativeBody::Text(text) => (RecordForm::Text, text.as_bytes()),
            NativeBody::Bytes(bytes) => (RecordForm::Bytes, bytes.as_slice()),
        };
        Self { dir: native.dir, form, bytes: bytes.to_vec() }
    }
}

/// Returns all records of a stream.
#[must_use]
pub fn expected_records(stream: &[u8]) -> Vec<ExpectedRecord> {
    stream.split(|byte| *byte == b'\n').flat_map(line_records).collect()
}

/// Returns the records of a line. A torn line may be joined with the one appended to it.
fn line_records(text: &[u8]) -> Vec<ExpectedRecord> {
    let Some(said) = parse_line(text) else { return Vec::new() };
    let pieces = if said.form == RecordForm::Json { Vec::new() } else { split_joined_records(text) };
    if pieces.is_empty() { vec![said] } else { pieces.into_iter().filter_map(parse_line).collect() }
}

fn parse_line(line: &[u8]) -> Option<ExpectedRecord> {
    let Ok(text) = str::from_utf8(line) else {
        return Some(ExpectedRecord { dir: Dir::In, form: RecordForm::Bytes, bytes: line.to_vec() });
    };
    if text.trim().is_empty() {
        return None;
    }
    if serde_json::from_str::<&RawValue>(text).is_err() {
        return Some(ExpectedRecord { dir: Dir::In, form: RecordForm::Text, bytes: line.to_vec() });
    }
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    let (dir, text) = parse_transcript(text).unwrap_or((Dir::In, text));
    Some(ExpectedRecord { dir, form: RecordForm::Json, bytes: text.as_bytes().to_vec() })
}

/// `{"dir":"in"|"out","msg":…}`
fn parse_transcript(text: &str) -> Option<(Dir, &str)> {
    let fields = switchboard_agents::JsonView::parse(text)?.as_object();
    let dir = match fields.get_str("dir")?.as_ref() {
        "in" => Dir::In,
        "out" => Dir::Out,
        _ => return None,
    };
    let (_, message) = fields.iter().find(|(key, _)| *key == "msg")?;
    Some((dir, message.raw_text()))
}

#[cfg(test)]
mod tests {
    use switchboard_event::Dir;

    use super::{RecordForm, expected_records};

    #[test]
    fn one_record_a_line() {
        let stream = b"{\"a\": 1 }\r\n\n  \nnot json\n\xff\n{\"dir\":\"out\",\"t\":1,\"msg\":[ 1]}\n{\"torn\":";
        let said = expected_records(stream);
        let shown: Vec<_> = said.iter().map(|s| (s.dir, s.form, s.bytes.as_slice())).collect();
        assert_eq!(
            shown,
            [
                (Dir::In, RecordForm::Json, &b"{\"a\": 1 }"[..]),
                (Dir::In, RecordForm::Text, b"not json"),
                (Dir::In, RecordForm::Bytes, b"\xff"),
                (Dir::Out, RecordForm::Json, b"[ 1]"),
                (Dir::In, RecordForm::Text, b"{\"torn\":"),
            ]
        );
    }
}
