//! What a tool gave back, as the model sees it: a text, parts of one, or JSON in a text; with a head that says how it went.

use std::borrow::Cow;

use switchboard_event::Status;

use super::said;
use crate::{Json, Object};

/// How many lines the head has at most.
const HEAD: usize = 8;

/// A tool's answer.
#[derive(Debug, Default, PartialEq)]
pub struct Output<'a> {
    /// What the tool printed or said.
    pub text: Cow<'a, str>,
    pub exit_code: Option<i32>,
    pub duration_ms: Option<u64>,
    /// How it ended, where the answer tells.
    pub status: Option<Status>,
}

impl<'a> Output<'a> {
    /// Reads the `output` of a `*_output` item.
    pub fn of(native: &Object<'a>) -> Self {
        let Some(output) = native.get("output") else { return Self::default() };
        if output.is_object() {
            let fields = output.object();
            let status = fields.get("success").and_then(Json::bool).map(worked);
            return Self { status, ..Self::read(said::text(&fields)) };
        }
        if let Some(text) = output.str() {
            return Self::read(text);
        }
        let texts = said::texts(&output.array());
        if texts.is_empty() { Self::read(output.display()) } else { Self::read(texts.concat().into()) }
    }

    fn read(text: Cow<'a, str>) -> Self {
        let read = Self::in_json(&text).or_else(|| Self::with_head(&text));
        let mut read = read.unwrap_or_else(|| Self { status: refused(&text), ..Self::default() });
        if read.text.is_empty() && read.exit_code.is_none() && read.duration_ms.is_none() {
            read.text = text;
        }
        read
    }

    /// `{"output":…,"metadata":{"exit_code":…,"duration_seconds":…}}`.
    fn in_json(text: &str) -> Option<Self> {
        let fields = Json::parse(text.trim()).filter(|json| json.is_object())?.object();
        let about = fields.get("metadata")?.object();
        let exit_code = about.i32("exit_code");
        Some(Self {
            text: fields.string("output")?.into(),
            exit_code,
            duration_ms: about.f64("duration_seconds").and_then(millis),
            status: exit_code.map(|code| worked(code == 0)),
        })
    }

    /// `Exit code: 0`, `Wall time: 0.1 seconds`, `Process exited with code 0`, `Output:`, and then what was printed.
    fn with_head(text: &str) -> Option<Self> {
        let mut read = Self::default();
        let mut rest = text;
        for _ in 0..HEAD {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            if let Some(code) = strip(line, &["Exit code: ", "Process exited with code "]) {
                read.exit_code = Some(code.trim().parse().ok()?);
            } else if let Some(time) = strip(line, &["Wall time: ", "Wall time "]) {
                read.duration_ms = time.strip_suffix(" seconds").and_then(|time| time.parse().ok()).and_then(millis);
            } else if line == "Output:" {
                read.text = after.to_owned().into();
                read.status = read.exit_code.map(|code| worked(code == 0));
                return Some(read);
            }
            rest = after;
        }
        // Without an output, what the head says is all there is.
        let told = read.exit_code.is_some() || read.duration_ms.is_some();
        let status = read.exit_code.map(|code| worked(code == 0)).or_else(|| refused(text));
        told.then(|| Self { text: text.to_owned().into(), status, ..read })
    }
}

fn strip<'a>(line: &'a str, beginnings: &[&str]) -> Option<&'a str> {
    beginnings.iter().find_map(|beginning| line.strip_prefix(beginning))
}

fn worked(well: bool) -> Status {
    if well { Status::Completed } else { Status::Failed }
}

/// A tool that did not run is only known by these words.
fn refused(text: &str) -> Option<Status> {
    match text.trim_end() {
        text if text.ends_with("aborted by user") || text == "aborted" => Some(Status::Interrupted),
        text if text.ends_with("rejected by user") => Some(Status::Declined),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate, and that is wanted")]
fn millis(seconds: f64) -> Option<u64> {
    (seconds >= 0.0).then(|| (seconds * 1000.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use switchboard_event::Status;

    use super::Output;
    use crate::Json;

    fn check(native: &str, text: &str, exit_code: Option<i32>, duration_ms: Option<u64>, status: Option<Status>) {
        let object = Json::parse(native).unwrap().object();
        let output = Output::of(&object);
        assert_eq!((&*output.text, output.exit_code, output.duration_ms), (text, exit_code, duration_ms), "{native}");
        assert_eq!(output.status, status, "{native}");
    }

    #[test]
    fn all_shapes_of_an_answer() {
        let unified = r#"{"output":"Chunk ID: 1e31b1\nWall time: 0.25 seconds\nProcess exited with code 3\nOriginal token count: 2\nOutput:\nhi\nOutput:\n"}"#;
        check(unified, "hi\nOutput:\n", Some(3), Some(250), Some(Status::Failed));
        let json = r#"{"output":"{\"output\":\"hi\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.5}}"}"#;
        check(json, "hi\n", Some(0), Some(500), Some(Status::Completed));
        let parts = r#"{"output":[{"type":"input_text","text":"Script completed\nWall time 0.3 seconds\nOutput:\n"},{"type":"input_text","text":"hi"}]}"#;
        check(parts, "hi", None, Some(300), None);
        check(
            r#"{"output":{"content":"no such tool","success":false}}"#,
            "no such tool",
            None,
            None,
            Some(Status::Failed),
        );
        check(r#"{"output":"Plan updated"}"#, "Plan updated", None, None, None);
        check(r#"{"output":"patch rejected by user"}"#, "patch rejected by user", None, None, Some(Status::Declined));
        let cut = "Wall time: 2.2 seconds\naborted by user";
        check(&format!("{{\"output\":{cut:?}}}"), cut, None, Some(2200), Some(Status::Interrupted));
        check(r#"{"output":"{\"agent_id\":\"x\"}"}"#, r#"{"agent_id":"x"}"#, None, None, None);
        check(r#"{"output":[]}"#, "[]", None, None, None);
        check(r#"{"output":null}"#, "", None, None, None);
    }
}
