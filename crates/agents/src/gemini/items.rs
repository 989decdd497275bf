//! Gemini's tools as items.

use switchboard_event::{
    Call, CallKind, Change, Command, Details, FileChange, FileOp, Item, Location, Mcp, Plan, PlanEntry, PlanStatus,
    Subagent, Tool, WebSearch,
};

use crate::{Json, Object, Scribe, diff};

/// The item for a call of a tool.
pub fn item(name: &str, parameters: Option<Json<'_>>, scribe: &Scribe) -> Item {
    let args = parameters.map(Json::object).unwrap_or_default();
    let (kind, op) = nature(name);
    let path = args.str("file_path").or_else(|| args.str("path")).or_else(|| args.str("absolute_path"));
    let call = Call {
        name: name.to_owned(),
        kind,
        op,
        input: parameters.map(Json::to_raw),
        locations: path.iter().map(|path| Location { path: scribe.absolute(path), line: None }).collect(),
        ..Call::default()
    };
    Item::new(details(name, &args, scribe)).with_call(call)
}

fn nature(name: &str) -> (CallKind, Option<FileOp>) {
    match name {
        "run_shell_command" => (CallKind::Execute, None),
        "write_file" => (CallKind::Edit, Some(FileOp::Write)),
        "replace" | "edit" => (CallKind::Edit, Some(FileOp::Modify)),
        "read_file" | "read_many_files" | "list_directory" => (CallKind::Read, Some(FileOp::Read)),
        "glob" | "grep_search" | "search_file_content" | "google_web_search" => (CallKind::Search, None),
        "web_fetch" => (CallKind::Fetch, None),
        "write_todos" | "save_memory" => (CallKind::Think, None),
        "enter_plan_mode" | "exit_plan_mode" => (CallKind::Mode, None),
        _ => (CallKind::Other, None),
    }
}

fn details(name: &str, args: &Object<'_>, scribe: &Scribe) -> Details {
    match name {
        "run_shell_command" => Command {
            command: args.string("command").unwrap_or_default(),
            cwd: args.str("dir_path").or_else(|| args.str("directory")).map(|dir| scribe.absolute(&dir)),
            ..Command::default()
        }
        .into(),
        "write_file" => changed(written(args, scribe)),
        "replace" | "edit" => changed(replaced(args, scribe)),
        "google_web_search" => WebSearch { queries: args.string("query").into_iter().collect(), results: None }.into(),
        "write_todos" => plan(args).into(),
        "delegate_to_agent" => Subagent {
            name: args.string("agent_name").unwrap_or_default(),
            label: args.string("objective").unwrap_or_default(),
            ..Subagent::default()
        }
        .into(),
        _ => mcp(name).map_or_else(|| Tool::default().into(), Details::from),
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

/// Only the fragment is known, so the line numbers of the hunk count within it.
fn replaced(args: &Object<'_>, scribe: &Scribe) -> Option<Change> {
    let path = scribe.absolute(&args.str("file_path")?);
    let (old, new) = (args.str("old_string").unwrap_or_default(), args.str("new_string").unwrap_or_default());
    Some(Change { path, diff: diff::fragment(&old, &new), ..Change::default() })
}

fn plan(args: &Object<'_>) -> Plan {
    let entries = args.array("todos").into_iter().map(Json::object).map(|todo| PlanEntry {
        step: todo.string("description").unwrap_or_default(),
        status: match todo.str("status").as_deref() {
            Some("in_progress") => PlanStatus::InProgress,
            Some("completed") => PlanStatus::Completed,
            Some("cancelled") => PlanStatus::Failed,
            _ => PlanStatus::Pending,
        },
    });
    Plan { entries: entries.collect(), ..Plan::default() }
}

/// MCP tools are called `mcp_SERVER_TOOL`.
fn mcp(name: &str) -> Option<Mcp> {
    let (server, tool) = name.strip_prefix("mcp_")?.split_once('_')?;
    Some(Mcp { server: server.to_owned(), tool: tool.to_owned(), ..Mcp::default() })
}
