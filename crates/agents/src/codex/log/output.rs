//! Tool results as the model sees them: a text, parts of one, or JSON in a string; with a header about the outcome.

use std::borrow::Cow;

use switchboard_event::Status;

use super::said;
use crate::{JsonObject, JsonView};

const MAX_HEADER_LINES: usize = 8;

#[derive(Debug, Default, PartialEq)]
pub struct RolloutToolOutput<'a> {
    /// Printed or returned text.
    pub text: Cow<'a, str>,
    pub exit_code: Option<i32>,
    pub duration_ms: Option<u64>,
    /// How the tool ended, if the result has it.
    pub status: Option<Status>,
}

impl<'a> RolloutToolOutput<'a> {
    /// Parses the `output` field of a `*_output` item.
    pub fn parse(native: &JsonObject<'a>) -> Self {
        let Some(output) = native.get("output") else { return Self::default() };
        if output.is_object() {
            let fields = output.as_object();
            let status = fields.get("success").and_then(JsonView::as_bool).map(status_of_success);
            return Self { status, ..Self::parse_text(said::message_text(&fields)) };
        }
        if let Some(text) = output.as_str() {
            return Self::parse_text(text);
        }
        let texts = said::part_texts(&output.as_array());
        if texts.is_empty() { Self::parse_text(output.display_text()) } else { Self::parse_text(texts.concat().into()) }
    }

    fn parse_text(text: Cow<'a, str>) -> Self {
        let read = Self::parse_json(&text).or_else(|| Self::parse_header(&text));
        let mut read = read.unwrap_or_else(|| Self { status: refusal_status(&text), ..Self::default() });
        if read.text.is_empty() && read.exit_code.is_none() && read.duration_ms.is_none() {
            read.text = text;
        }
        read
    }

    /// Parses `{"output":…,"metadata":{"exit_code":…,"duration_seconds":…}}`.
    fn parse_json(text: &str) -> Option<Self> {
        let fields = JsonView::parse(text.trim()).filter(|json| json.is_object())?.as_object();
        let about = fields.get("metadata")?.as_object();
        let exit_code = about.get_i32("exit_code");
        Some(Self {
            text: fields.get_string("output")?.into(),
            exit_code,
            duration_ms: about.get_f64("duration_seconds").and_then(seconds_to_millis),
            status: exit_code.map(|code| status_of_success(code == 0)),
        })
    }

    /// Parses a header of lines such as "Exit code: 0", "Wall time: 0.1 seconds" and "Process exited with code 0",
    /// which ends with "Output:".
    fn parse_header(text: &str) -> Option<Self> {
        let mut read = Self::default();
        let mut rest = text;
        for _ in 0..MAX_HEADER_LINES {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            if let Some(code) = strip_any_prefix(line, &["Exit code: ", "Process exited with code "]) {
                read.exit_code = Some(code.trim().parse().ok()?);
            } else if let Some(time) = strip_any_prefix(line, &["Wall time: ", "Wall time "]) {
                read.duration_ms =
                    time.strip_suffix(" seconds").and_then(|time| time.parse().ok()).and_then(seconds_to_millis);
            } else if line == "Output:" {
                read.text = after.to_owned().into();
                read.status = read.exit_code.map(|code| status_of_success(code == 0));
                return Some(read);
            }
            rest = after;
        }
        // Without output, the header is all there is.
        let told = read.exit_code.is_some() || read.duration_ms.is_some();
        let status = read.exit_code.map(|code| status_of_success(code == 0)).or_else(|| refusal_status(text));
        told.then(|| Self { text: text.to_owned().into(), status, ..read })
    }
}

fn strip_any_prefix<'a>(line: &'a str, beginnings: &[&str]) -> Option<&'a str> {
    beginnings.iter().find_map(|beginning| line.strip_prefix(beginning))
}

fn status_of_success(well: bool) -> Status {
    if well { Status::Completed } else { Status::Failed }
}

/// A tool that did not run is recognizable only by these words.
fn refusal_status(text: &str) -> Option<Status> {
    match text.trim_end() {
        text if text.ends_with("aborted by user") || text == "aborted" => Some(Status::Interrupted),
        text if text.ends_with("rejected by user") => Some(Status::Declined),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate, and that is wanted")]
fn seconds_to_millis(seconds: f64) -> Option<u64> {
    (seconds >= 0.0).then(|| (seconds * 1000.0).round() as u64)
}

#[cfg(test)]
mod tests {

    use switchboard_event::Status;

    use super::RolloutToolOutput;
    use crate::JsonView;

    fn check_output(
        native: &str,
        text: &str,
        exit_code: Option<i32>,
        duration_ms: Option<u64>,
        status: Option<Status>,
    ) {
        let object = JsonView::parse(native).unwrap().as_object();
        let output = RolloutToolOutput::parse(&object);
        assert_eq!((&*output.text, output.exit_code, output.duration_ms), (text, exit_code, duration_ms), "{native}");
        assert_eq!(output.status, status, "{native}");
    }

    #[test]
    fn all_shapes_of_an_answer() {
        let unified = r#"{"output":"Chunk ID: 1e31b1\nWall time: 0.25 seconds\nProcess exited with code 3\nOriginal token count: 2\nOutput:\nhi\nOutput:\n"}"#;
        check_output(unified, "hi\nOutput:\n", Some(3), Some(250), Some(Status::Failed));
        let json = r#"{"output":"{\"output\":\"hi\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.5}}"}"#;
        check_output(json, "hi\n", Some(0), Some(500), Some(Status::Completed));
        let parts = r#"{"output":[{"type":"input_text","text":"Script completed\nWall time 0.3 seconds\nOutput:\n"},{"type":"input_text","text":"hi"}]}"#;
        check_output(parts, "hi", None, Some(300), None);
        check_output(
            r#"{"output":{"content":"no such tool","success":false}}"#,
            "no such tool",
            None,
            None,
            Some(Status::Failed),
        );
        check_output(r#"{"output":"Plan updated"}"#, "Plan updated", None, None, None);
        check_output(
            r#"{"output":"patch rejected by user"}"#,
            "patch rejected by user",
            None,
            None,
            Some(Status::Declined),
        );
        let cut = "Wall time: 2.2 seconds\naborted by user";
        check_output(&format!("{{\"output\":{cut:?}}}"), cut, None, Some(2200), Some(Status::Interrupted));
        check_output(r#"{"output":"{\"agent_id\":\"x\"}"}"#, r#"{"agent_id":"x"}"#, None, None, None);
        check_output(r#"{"output":[]}"#, "[]", None, None, None);
        check_output(r#"{"output":null}"#, "", None, None, None);
    }
}
