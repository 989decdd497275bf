//! Tool results of the stream.

use switchboard_event::{Denied, Details, Id, Item, Notice, Status, Topic};

use super::{items, live::GeminiStreamReader};
use crate::{JsonObject, RunRecorder, acp::Shown};

impl GeminiStreamReader {
    /// Reads `tool_result`.
    pub(super) fn read_tool_result(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let id = fields.get_str("tool_id").unwrap_or_default();
        let Some(item) = recorder.open_item(&id).cloned() else {
            return recorder.write_notice(Notice::new(Topic::Late).with_name("tool_result"));
        };
        let id = Id::from(id);
        let item = complete_item(item, fields);
        if let (Status::Declined, Some(call)) = (item.status, &item.call) {
            self.record_denied(Denied { tool: call.name.clone(), item: Some(id.clone()), input: call.input.clone() });
        }
        self.numbered.mark_tool_result();
        recorder.item_completed(&id, item);
    }
}

/// The only status of a successful tool.
const SUCCESS_STATUS: &str = "success";

pub fn is_cancelled_status(status: &str) -> bool {
    matches!(status, "cancelled" | "canceled")
}

/// Completes the item of a call.
fn complete_item(mut item: Item, fields: &JsonObject<'_>) -> Item {
    let error = fields.get_object("error");
    let status = fields
        .get_non_empty("status")
        .unwrap_or_else(|| if error.is_empty() { SUCCESS_STATUS } else { "error" }.to_owned());
    let failed = status != SUCCESS_STATUS;
    let unknown = || Some(format!("the tool ended with the status {status:?}")).filter(|_| status != "error");
    let said = || error.get_non_empty("message").or_else(|| fields.get_non_empty("output")).or_else(unknown);
    let mut reason = if failed { said() } else { None };
    item.status = match (failed, error.get_str("type").as_deref()) {
        (true, Some(kind)) if is_refused(kind, &item) => Status::Declined,
        (true, _) if is_cancelled_status(&status) => Status::Interrupted,
        (true, _) => Status::Failed,
        (false, _) => Status::Completed,
    };
    // A failed tool repeats its error as output.
    let output = fields.get_string("output").filter(|output| reason.as_ref() != Some(output)).unwrap_or_default();
    match &mut item.details {
        Details::Command(command) => {
            let mut shown = parse_display(&output);
            shown.exit_code = shown.exit_code.filter(|_| !failed);
            if item.status == Status::Completed {
                item.status = shown.status();
            }
            reason = reason.or_else(|| shown.remark.take());
            shown.tell(command);
        }
        Details::Tool(tool) => tool.output = output,
        Details::FileChange(change) => change.output = Some(output).filter(|output| !output.is_empty()),
        Details::Subagent(subagent) => subagent.result = Some(output),
        Details::Mcp(mcp) => {
            mcp.error.clone_from(&reason);
            mcp.result = fields.get_raw("output");
        }
        Details::WebSearch(search) => search.results = fields.get_raw("output"),
        _ => {}
    }
    if let Some(call) = &mut item.call {
        call.error = reason;
    }
    item
}

/// A tool that needs approval is not offered where Gemini CLI cannot ask; calling it is reported as if it did not exist
/// (Gemini CLI 0.61.0).
fn is_refused(kind: &str, item: &Item) -> bool {
    let built_in = item.call.as_ref().is_some_and(|call| items::is_built_in(&call.name));
    kind == "policy_violation" || kind == "tool_not_registered" && built_in
}

/// Parses the display of the shell tool: the output, or a remark if there is none. The exit code of a command with
/// output is not displayed.
fn parse_display(display: &str) -> Shown {
    let output = || Shown { output: display.to_owned(), exit_code: parse_exit_code(display), ..Shown::default() };
    match display {
        "" => Shown { exit_code: Some(0), ..Shown::default() },
        display => Shown::remark(display).unwrap_or_else(output),
    }
}

/// In debug mode the display is the model's input, with a line `Exit Code: 3` if the code is not zero.
pub fn parse_exit_code(display: &str) -> Option<i32> {
    display.lines().rev().find_map(|line| line.strip_prefix("Exit Code: ")).and_then(|code| code.trim().parse().ok())
}

#[cfg(test)]
mod tests {

    use switchboard_event::Status;

    use super::{complete_item, parse_display};
    use crate::JsonView;

    #[test]
    fn only_a_known_success_is_one() {
        use switchboard_event::{Call, Item, Tool};
        for (result, status, error) in [
            (r#"{"status":"success","output":"x"}"#, Status::Completed, None),
            (r#"{"output":"x"}"#, Status::Completed, None),
            (r#"{"status":"error","output":"no"}"#, Status::Failed, Some("no")),
            (r#"{"error":{"message":"no"}}"#, Status::Failed, Some("no")),
            (r#"{"status":"cancelled"}"#, Status::Interrupted, Some("the tool ended with the status \"cancelled\"")),
            (r#"{"status":"timed_out"}"#, Status::Failed, Some("the tool ended with the status \"timed_out\"")),
        ] {
            let item = Item::new(Tool::default()).with_call(Call::default());
            let item = complete_item(item, &JsonView::parse(result).unwrap().as_object());
            assert_eq!((item.status, item.call.unwrap().error.as_deref()), (status, error), "{result}");
        }
    }

    fn check_display(display: &str, output: &str, exit_code: Option<i32>, status: Status) {
        let shown = parse_display(display);
        assert_eq!((shown.output.as_str(), shown.exit_code, shown.status()), (output, exit_code, status), "{display}");
    }

    #[test]
    fn a_display_is_output_or_a_remark() {
        check_display("hi", "hi", None, Status::Completed);
        check_display("", "", Some(0), Status::Completed);
        check_display("Command exited with code: 3", "", Some(3), Status::Failed);
        check_display("Command terminated by signal: 9", "", None, Status::Failed);
        let moved = "Command moved to background (PID: 7). Output hidden.";
        check_display(moved, moved, None, Status::Completed);
        check_display("Command cancelled by user.", "", None, Status::Interrupted);
        check_display(
            "Command cancelled by user.\n\nOutput before cancellation:\nhalf",
            "half",
            None,
            Status::Interrupted,
        );
        check_display(
            "Output: x\nExit Code: 2\nProcess Group PGID: 1",
            "Output: x\nExit Code: 2\nProcess Group PGID: 1",
            Some(2),
            Status::Failed,
        );
    }
}
