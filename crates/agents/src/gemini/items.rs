//! Gemini's tools as items.

use switchboard_event::{
    Call, CallKind, Change, ChangeKind, Command, Details, FileChange, FileOp, Item, Location, Mcp, Plan, PlanEntry,
    PlanStatus, Subagent, Tool, WebSearch,
};

use crate::{Json, Object, Scribe, diff};

/// The item for a call of a tool.
pub fn item(name: &str, parameters: Option<Json<'_>>, scribe: &Scribe) -> Item {
    let args = parameters.map(Json::object).unwrap_or_default();
    let (kind, op) = nature(name);
    let call = Call {
        name: name.to_owned(),
        title: args.filled("description").or_else(|| args.filled("title")),
        kind,
        op,
        input: parameters.map(Json::to_raw),
        locations: location(&args, scribe).into_iter().collect(),
        ..Call::default()
    };
    Item::new(details(name, &args, scribe)).with_call(call)
}

/// The tool is one of Gemini's own.
pub fn is_built_in(name: &str) -> bool {
    nature(name).0 != CallKind::Other || matches!(name, "ask_user" | "invoke_agent" | "complete_task")
}

fn nature(name: &str) -> (CallKind, Option<FileOp>) {
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

fn location(args: &Object<'_>, scribe: &Scribe) -> Option<Location> {
    let keys = ["file_path", "absolute_path", "dir_path", "path"];
    let path = keys.into_iter().find_map(|key| args.str(key))?;
    let line = args.u64("start_line").or_else(|| args.u64("offset"));
    Some(Location { path: scribe.absolute(&path), line })
}

fn details(name: &str, args: &Object<'_>, scribe: &Scribe) -> Details {
    match name {
        "run_shell_command" => command(args, scribe).into(),
        "write_file" => changed(written(args, scribe)),
        "replace" | "edit" => changed(replaced(args, scribe)),
        "google_web_search" => WebSearch { queries: args.string("query").into_iter().collect(), results: None }.into(),
        "write_todos" => plan(args).into(),
        "invoke_agent" | "delegate_to_agent" => Subagent {
            name: args.string("agent_name").unwrap_or_default(),
            label: args.filled("objective").or_else(|| args.filled("agent_name")).unwrap_or_default(),
            prompt: args.filled("prompt"),
            ..Subagent::default()
        }
        .into(),
        _ => mcp(name).map_or_else(|| Tool::default().into(), Details::from),
    }
}

fn command(args: &Object<'_>, scribe: &Scribe) -> Command {
    let folder = args.str("dir_path").or_else(|| args.str("directory")).map(|folder| scribe.absolute(&folder));
    Command {
        command: args.string("command").unwrap_or_default(),
        cwd: folder.or_else(|| scribe.cwd().map(str::to_owned)),
        background: args.is_true("is_background"),
        ..Command::default()
    }
}

fn changed(change: Option<Change>) -> Details {
    FileChange { changes: change.into_iter().collect(), output: None }.into()
}

/// The stream never says whether the file was there before, and never shows a diff: what was written is shown as new.
fn written(args: &Object<'_>, scribe: &Scribe) -> Option<Change> {
    let path = scribe.absolute(&args.str("file_path")?);
    Some(diff::change(path, None, Some(args.string("content").unwrap_or_default())))
}

/// Only the fragment is known, so the line numbers of the hunk count within it. Replacing nothing makes a new file.
fn replaced(args: &Object<'_>, scribe: &Scribe) -> Option<Change> {
    let path = scribe.absolute(&args.str("file_path")?);
    let (old, new) = (args.str("old_string").unwrap_or_default(), args.str("new_string").unwrap_or_default());
    let kind = if old.is_empty() { ChangeKind::Add } else { ChangeKind::Modify };
    Some(Change { path, kind, diff: diff::fragment(&old, &new), ..Change::default() })
}

fn plan(args: &Object<'_>) -> Plan {
    let entries = args.array("todos").into_iter().map(Json::object).map(|todo| PlanEntry {
        step: todo.string("description").unwrap_or_default(),
        status: match todo.str("status").as_deref() {
            Some("in_progress") => PlanStatus::InProgress,
            Some("completed") => PlanStatus::Completed,
            Some("cancelled" | "blocked") => PlanStatus::Failed,
            _ => PlanStatus::Pending,
        },
    });
    Plan { entries: entries.collect(), ..Plan::default() }
}

/// MCP tools are called `mcp_SERVER_TOOL`, and no server has a `_` in its name.
fn mcp(name: &str) -> Option<Mcp> {
    let (server, tool) = name.strip_prefix("mcp_")?.split_once('_')?;
    Some(Mcp { server: server.to_owned(), tool: tool.to_owned(), ..Mcp::default() })
}
