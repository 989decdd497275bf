//! Converts Gemini's tool calls and their results to items.

use switchboard_event::{
    Call, CallKind, Change, ChangeKind, Command, Denied, Details, FileChange, FileOp, Id, Item, Location, Mcp, Notice,
    Plan, PlanEntry, PlanStatus, Status, Subagent, Tool, Topic, WebSearch,
};

use super::GeminiStreamReader;
use crate::{JsonObject, JsonView, RunRecorder, acp::ShellDisplay, diff};

/// The only status of a successful tool.
const SUCCESS_STATUS: &str = "success";

pub fn parse_tool_item(name: &str, parameters: Option<JsonView<'_>>, recorder: &RunRecorder) -> Item {
    let args = parameters.map(JsonView::as_object).unwrap_or_default();
    let (kind, op) = tool_kind(name);
    let call = Call {
        name: name.to_owned(),
        title: args.get_non_empty("description").or_else(|| args.get_non_empty("title")),
        kind,
        op,
        input: parameters.map(JsonView::to_raw),
        locations: parse_location(&args, recorder).into_iter().collect(),
        ..Call::default()
    };
    Item::new(parse_details(name, &args, recorder)).with_call(call)
}

fn is_built_in(name: &str) -> bool {
    tool_kind(name).0 != CallKind::Other || matches!(name, "ask_user" | "invoke_agent" | "complete_task")
}

fn tool_kind(name: &str) -> (CallKind, Option<FileOp>) {
    match name {
        "run_shell_command" => (CallKind::Execute, None),
        "write_file" => (CallKind::Edit, Some(FileOp::Write)),
        "replace" | "edit" => (CallKind::Edit, Some(FileOp::Modify)),
        "read_file" | "read_many_files" | "list_directory" => (CallKind::Read, Some(FileOp::Read)),
        "activate_skill" | "get_internal_docs" | "read_mcp_resource" | "list_mcp_resources" => (CallKind::Read, None),
        "glob" | "grep_search" | "search_file_content" | "google_web_search" => (CallKind::Search, None),
        "web_fetch" => (CallKind::Fetch, None),
        "write_todos" | "save_memory" | "update_topic" => (CallKind::Think, None),
        "enter_plan_mode" | "exit_plan_mode" => (CallKind::Mode, None),
        _ if name.starts_with("tracker_") => (CallKind::Think, None),
        _ => (CallKind::Other, None),
    }
}

fn parse_location(args: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Location> {
    let keys = ["file_path", "absolute_path", "dir_path", "path"];
    let path = keys.into_iter().find_map(|key| args.get_str(key))?;
    let line = args.get_u64("start_line").or_else(|| args.get_u64("offset"));
    Some(Location { path: recorder.absolute_path(&path), line })
}

fn parse_details(name: &str, args: &JsonObject<'_>, recorder: &RunRecorder) -> Details {
    match name {
        "run_shell_command" => parse_command(args, recorder).into(),
        "write_file" => file_change_details(written_change(args, recorder)),
        "replace" | "edit" => file_change_details(replaced_change(args, recorder)),
        "google_web_search" => {
            WebSearch { queries: args.get_string("query").into_iter().collect(), results: None }.into()
        }
        "write_todos" => parse_plan(args).into(),
        "invoke_agent" | "delegate_to_agent" => Subagent {
            name: args.get_string("agent_name").unwrap_or_default(),
            label: args.get_non_empty("objective").or_else(|| args.get_non_empty("agent_name")).unwrap_or_default(),
            prompt: args.get_non_empty("prompt"),
            ..Subagent::default()
        }
        .into(),
        _ => parse_mcp_name(name).map_or_else(|| Tool::default().into(), Details::from),
    }
}

fn parse_command(args: &JsonObject<'_>, recorder: &RunRecorder) -> Command {
    let folder =
        args.get_str("dir_path").or_else(|| args.get_str("directory")).map(|folder| recorder.absolute_path(&folder));
    Command {
        command: args.get_string("command").unwrap_or_default(),
        cwd: folder.or_else(|| recorder.working_directory().map(str::to_owned)),
        background: args.is_true("is_background"),
        ..Command::default()
    }
}

fn file_change_details(change: Option<Change>) -> Details {
    FileChange { changes: change.into_iter().collect(), output: None }.into()
}

/// The stream has neither a diff nor the previous content, so the written file is shown as new.
fn written_change(args: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Change> {
    let path = recorder.absolute_path(&args.get_str("file_path")?);
    Some(diff::change_from_sides(path, None, Some(args.get_string("content").unwrap_or_default())))
}

/// Only the fragment is known, so line numbers of the hunk are relative to it. An empty old string creates a file.
fn replaced_change(args: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Change> {
    let path = recorder.absolute_path(&args.get_str("file_path")?);
    let (old, new) = (args.get_str("old_string").unwrap_or_default(), args.get_str("new_string").unwrap_or_default());
    let kind = if old.is_empty() { ChangeKind::Add } else { ChangeKind::Modify };
    Some(Change { path, kind, diff: diff::fragment_hunks(&old, &new), ..Change::default() })
}

fn parse_plan(args: &JsonObject<'_>) -> Plan {
    let entries = args.get_array("todos").into_iter().map(JsonView::as_object).map(|todo| PlanEntry {
        step: todo.get_string("description").unwrap_or_default(),
        status: match todo.get_str("status").as_deref() {
            Some("in_progress") => PlanStatus::InProgress,
            Some("completed") => PlanStatus::Completed,
            Some("cancelled" | "blocked") => PlanStatus::Failed,
            _ => PlanStatus::Pending,
        },
    });
    Plan { entries: entries.collect(), ..Plan::default() }
}

/// MCP tools are named `mcp_SERVER_TOOL`; server names contain no `_`.
fn parse_mcp_name(name: &str) -> Option<Mcp> {
    let (server, tool) = name.strip_prefix("mcp_")?.split_once('_')?;
    Some(Mcp { server: server.to_owned(), tool: tool.to_owned(), ..Mcp::default() })
}

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
    let built_in = item.call.as_ref().is_some_and(|call| is_built_in(&call.name));
    kind == "policy_violation" || kind == "tool_not_registered" && built_in
}

/// Parses the display of the shell tool: the output, or a remark if there is none. The exit code of a command with
/// output is not displayed.
fn parse_display(display: &str) -> ShellDisplay {
    let output =
        || ShellDisplay { output: display.to_owned(), exit_code: parse_exit_code(display), ..ShellDisplay::default() };
    match display {
        "" => ShellDisplay { exit_code: Some(0), ..ShellDisplay::default() },
        display => ShellDisplay::remark(display).unwrap_or_else(output),
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
