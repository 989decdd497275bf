//! Converts Gemini's tool calls to items.

use switchboard_event::{
    Call, CallKind, Change, ChangeKind, Command, Details, FileChange, FileOp, Item, Location, Mcp, Plan, PlanEntry,
    PlanStatus, Subagent, Tool, WebSearch,
};

use crate::{JsonObject, JsonView, RunRecorder, diff};

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

pub fn is_built_in(name: &str) -> bool {
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
