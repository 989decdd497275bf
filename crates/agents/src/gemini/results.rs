//! What a tool gave back.

use switchboard_event::{Denied, Details, Id, Item, Notice, Status, Topic};

use super::{items, live::Live};
use crate::{Object, Scribe, acp::Shown};

impl Live {
    /// `tool_result`.
    pub(super) fn tool_result(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let id = fields.str("tool_id").unwrap_or_default();
        let Some(item) = scribe.item(&id).cloned() else {
            return scribe.notice(Notice::new(Topic::Late).with_name("tool_result"));
        };
        let id = Id::from(id);
        let item = ended(item, fields);
        if let (Status::Declined, Some(call)) = (item.status, &item.call) {
            self.deny(Denied { tool: call.name.clone(), item: Some(id.clone()), input: call.input.clone() });
        }
        self.numbered.acted();
        scribe.item_completed(&id, item);
    }
}

/// The one status of a tool that did its work.
const SUCCESS: &str = "success";

/// The tool was stopped before it was done.
pub fn is_cancelled(status: &str) -> bool {
    matches!(status, "cancelled" | "canceled")
}

/// The item of a call that is over.
fn ended(mut item: Item, fields: &Object<'_>) -> Item {
    let error = fields.object("error");
    let status = fields.filled("status").unwrap_or_else(|| if error.is_empty() { SUCCESS } else { "error" }.to_owned());
    let failed = status != SUCCESS;
    let unknown = || Some(format!("the tool ended with the status {status:?}")).filter(|_| status != "error");
    let said = || error.filled("message").or_else(|| fields.filled("output")).or_else(unknown);
    let mut reason = if failed { said() } else { None };
    item.status = match (failed, error.str("type").as_deref()) {
        (true, Some(kind)) if is_refused(kind, &item) => Status::Declined,
        (true, _) if is_cancelled(&status) => Status::Interrupted,
        (true, _) => Status::Failed,
        (false, _) => Status::Completed,
    };
    // What did not work gives back its error once more.
    let output = fields.string("output").filter(|output| reason.as_ref() != Some(output)).unwrap_or_default();
    match &mut item.details {
        Details::Command(command) => {
            let mut shown = shown(&output);
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
            mcp.result = fields.raw("output");
        }
        Details::WebSearch(search) => search.results = fields.raw("output"),
        _ => {}
    }
    if let Some(call) = &mut item.call {
        call.error = reason;
    }
    item
}

/// A tool that would have to ask is not offered where nobody can be asked; calling it is reported as if it did not
/// exist (Gemini CLI 0.61.0).
fn is_refused(kind: &str, item: &Item) -> bool {
    let built_in = item.call.as_ref().is_some_and(|call| items::is_built_in(&call.name));
    kind == "policy_violation" || kind == "tool_not_registered" && built_in
}

/// What the shell tool shows: the output, or a remark where there is none. The exit code of a command that printed
/// something is not shown.
fn shown(display: &str) -> Shown {
    let output = || Shown { output: display.to_owned(), exit_code: exit_code(display), ..Shown::default() };
    match display {
        "" => Shown { exit_code: Some(0), ..Shown::default() },
        display => Shown::remark(display).unwrap_or_else(output),
    }
}

/// In debug mode the display is what the model sees, with a line `Exit Code: 3` if it is not zero.
pub fn exit_code(display: &str) -> Option<i32> {
    display.lines().rev().find_map(|line| line.strip_prefix("Exit Code: ")).and_then(|code| code.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use switchboard_event::Status;

    use super::{ended, shown};
    use crate::Json;

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
            let item = ended(item, &Json::parse(result).unwrap().object());
            assert_eq!((item.status, item.call.unwrap().error.as_deref()), (status, error), "{result}");
        }
    }

    fn check(display: &str, output: &str, exit_code: Option<i32>, status: Status) {
        let shown = shown(display);
        assert_eq!((shown.output.as_str(), shown.exit_code, shown.status()), (output, exit_code, status), "{display}");
    }

    #[test]
    fn a_display_is_output_or_a_remark() {
        check("hi", "hi", None, Status::Completed);
        check("", "", Some(0), Status::Completed);
        check("Command exited with code: 3", "", Some(3), Status::Failed);
        check("Command terminated by signal: 9", "", None, Status::Failed);
        let moved = "Command moved to background (PID: 7). Output hidden.";
        check(moved, moved, None, Status::Completed);
        check("Command cancelled by user.", "", None, Status::Interrupted);
        check("Command cancelled by user.\n\nOutput before cancellation:\nhalf", "half", None, Status::Interrupted);
        check(
            "Output: x\nExit Code: 2\nProcess Group PGID: 1",
            "Output: x\nExit Code: 2\nProcess Group PGID: 1",
            Some(2),
            Status::Failed,
        );
    }
}
