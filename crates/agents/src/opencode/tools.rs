//! OpenCode's tools as items.

use switchboard_event::{
    Call, CallKind, Command, Details, Field, FileChange, FileOp, Id, Item, Location, Mcp, Plan, PlanEntry, PlanStatus,
    Status, Subagent, Tool, WebSearch, raw, raw_string,
};

use super::{
    changes, shell,
    state::{Phase, State},
};
use crate::{Json, Object, Scribe};

/// The item for a call, as far as it got. What a command prints is not in it until the end.
pub fn item(state: &State<'_>, shown: Option<&str>, servers: &[String], scribe: &Scribe) -> Item {
    let input = state.input.map(Json::object).unwrap_or_default();
    let (kind, op) = nature(&state.tool);
    let call = Call {
        name: state.tool.to_string(),
        title: state.title.clone(),
        kind,
        op,
        input: state.input.map(Json::to_raw),
        locations: location(&input, op, scribe).into_iter().collect(),
        content: state.files.clone(),
        ..Call::default()
    };
    Item::new(details(state, &input, shown, servers, scribe)).with_call(call)
}

/// What sort of tool it is, and what it does to a file.
pub fn nature(tool: &str) -> (CallKind, Option<FileOp>) {
    match tool {
        "bash" | "shell" | "execute" => (CallKind::Execute, None),
        "write" => (CallKind::Edit, Some(FileOp::Write)),
        "edit" | "multiedit" | "patch" | "apply_patch" => (CallKind::Edit, Some(FileOp::Modify)),
        "read" => (CallKind::Read, Some(FileOp::Read)),
        "list" | "lsp" | "skill" | "read_mcp_resource" => (CallKind::Read, None),
        "glob" | "grep" | "websearch" | "codesearch" => (CallKind::Search, None),
        "webfetch" => (CallKind::Fetch, None),
        "todowrite" | "todoread" => (CallKind::Think, None),
        "plan_enter" | "plan_exit" => (CallKind::Mode, None),
        _ => (CallKind::Other, None),
    }
}

fn location(input: &Object<'_>, op: Option<FileOp>, scribe: &Scribe) -> Option<Location> {
    let path = input.str("filePath").or_else(|| input.str("path"))?;
    let line = input.u64("offset").filter(|_| op == Some(FileOp::Read));
    Some(Location { path: scribe.absolute(&path), line })
}

fn details(state: &State<'_>, input: &Object<'_>, shown: Option<&str>, servers: &[String], scribe: &Scribe) -> Details {
    match &*state.tool {
        "bash" | "shell" => command(input, &state.meta, scribe).into(),
        "write" | "edit" | "multiedit" | "patch" | "apply_patch" => {
            FileChange { changes: changes::of_tool(state, shown, scribe), output: None }.into()
        }
        "websearch" => WebSearch { queries: input.string("query").into_iter().collect(), results: None }.into(),
        "todowrite" => plan(input).into(),
        "task" => subagent(input, &state.meta).into(),
        "read_mcp_resource" | "list_mcp_resources" | "list_mcp_resource_templates" => {
            let server = input.string("server").unwrap_or_default();
            Mcp { server, tool: state.tool.to_string(), ..Mcp::default() }.into()
        }
        "plan_enter" | "plan_exit" => Tool::default().into(),
        tool => mcp(tool, servers).map_or_else(|| Tool::default().into(), Details::from),
    }
}

fn command(input: &Object<'_>, meta: &Object<'_>, scribe: &Scribe) -> Command {
    let folder = input.str("workdir").map(|folder| scribe.absolute(&folder));
    Command {
        command: input.string("command").unwrap_or_default(),
        cwd: folder.or_else(|| scribe.cwd().map(str::to_owned)),
        exit_code: meta.i32("exit"),
        ..Command::default()
    }
}

fn plan(input: &Object<'_>) -> Plan {
    let entries = input.array("todos").into_iter().map(Json::object).map(|todo| PlanEntry {
        step: todo.string("content").unwrap_or_default(),
        status: match todo.str("status").as_deref() {
            Some("in_progress") => PlanStatus::InProgress,
            Some("completed") => PlanStatus::Completed,
            Some("cancelled") => PlanStatus::Failed,
            _ => PlanStatus::Pending,
        },
    });
    Plan { entries: entries.collect(), ..Plan::default() }
}

fn subagent(input: &Object<'_>, meta: &Object<'_>) -> Subagent {
    Subagent {
        thread: meta.filled("sessionId").or_else(|| meta.filled("sessionID")).map(Id::from),
        name: input.string("subagent_type").unwrap_or_default(),
        label: input.string("description").unwrap_or_default(),
        prompt: input.filled("prompt"),
        result: None,
        background: meta.is_true("background") || input.is_true("background"),
    }
}

/// MCP tools are called `SERVER_TOOL`, and servers may have a `_` in their name. A tool of a plugin may be called
/// like that too, but then it is seldom split into several.
fn mcp(tool: &str, servers: &[String]) -> Option<Mcp> {
    let known = servers.iter().filter_map(|server| {
        let rest = tool.strip_prefix(server.as_str())?.strip_prefix('_')?;
        Some((server.as_str(), rest))
    });
    let (server, tool) = known.max_by_key(|(server, _)| server.len()).or_else(|| tool.split_once('_'))?;
    Some(Mcp { server: server.to_owned(), tool: tool.to_owned(), ..Mcp::default() })
}

/// There is news of a call that is going on.
pub fn progress(id: &Id, item: Item, state: &State<'_>, scribe: &mut Scribe) {
    if let Details::Command(_) | Details::Tool(_) = item.details {
        if let (Some(open), Some(call)) = (scribe.item_mut(id), item.call) {
            open.call = Some(call);
        }
        return print(id, state, scribe);
    }
    let changed = scribe.item(id).is_some_and(|open| raw(open).get() != raw(&item).get());
    if changed {
        scribe.item_set(id, item);
    }
}

/// What a command has printed by now, as far as it was not said.
pub fn print(id: &Id, state: &State<'_>, scribe: &mut Scribe) {
    let shown = state.meta.str("output").unwrap_or_else(|| state.output.clone());
    let known = match scribe.item(id).map(|item| &item.details) {
        Some(Details::Command(command)) if !command.truncated => command.output.as_str(),
        Some(Details::Tool(tool)) => tool.output.as_str(),
        _ => return,
    };
    let news = shell::news(known, &shown).to_owned();
    if !news.is_empty() {
        scribe.item_append(id, Field::Output, 0, &news);
    }
}

/// The item of a call that is over: with what it gave back, and how it ended.
pub fn ended(mut item: Item, state: &State<'_>) -> Item {
    let mut error = state.error.clone();
    let mut status = if state.phase == Phase::Failed { failure(state) } else { Status::Completed };
    let output = || Some(state.output.to_string()).filter(|output| !output.is_empty());
    match &mut item.details {
        Details::Command(command) => {
            let printed = printed(state);
            (command.output, command.truncated) = (printed.output, printed.truncated);
            status = match (status, command.exit_code, &printed.remark) {
                (Status::Completed, _, Some(remark)) if remark.contains("aborted") => Status::Interrupted,
                (Status::Completed, None, Some(_)) => Status::Failed,
                (Status::Completed, Some(code), _) if code != 0 => Status::Failed,
                (status, ..) => status,
            };
            error = error.or(printed.remark);
        }
        Details::FileChange(change) => change.output = output(),
        Details::WebSearch(search) => search.results = output().map(|text| raw_string(&text)),
        Details::Subagent(subagent) => subagent.result = output().map(|text| answer(&text)),
        Details::Mcp(mcp) => {
            mcp.result = output().map(|text| raw_string(&text));
            mcp.error.clone_from(&error);
        }
        // What the model called does not exist, or not like that; this tool only tells it so.
        Details::Tool(tool) if state.tool == "invalid" => {
            status = Status::Failed;
            error = output();
            tool.output = state.output.to_string();
        }
        Details::Tool(tool) => tool.output = state.output.to_string(),
        _ => {}
    }
    if let Some(call) = &mut item.call {
        call.error = error;
    }
    (item.status, item.duration_ms) = (status, state.took);
    item
}

/// What a command printed; one that was stopped may only have been heard while it ran.
fn printed(state: &State<'_>) -> shell::Printed {
    let shown = || state.meta.str("output").unwrap_or_default();
    let output = if state.output.is_empty() { shown() } else { state.output.clone() };
    shell::printed(&output, &state.meta)
}

/// Why a call ended badly can only be told by its words.
fn failure(state: &State<'_>) -> Status {
    let error = state.error.as_deref().unwrap_or_default();
    let refusals =
        ["The user rejected permission", "The user has specified a rule", "The user dismissed this question"];
    if refusals.iter().any(|refusal| error.starts_with(refusal)) {
        return Status::Declined;
    }
    let stopped = ["Tool execution aborted", "Task cancelled"];
    if state.meta.is_true("interrupted") || stopped.contains(&error) { Status::Interrupted } else { Status::Failed }
}

/// A subagent's answer without the tags around it.
fn answer(output: &str) -> String {
    let inner = |tag: &str| {
        let (_, rest) = output.split_once(&format!("<{tag}>\n"))?;
        rest.rsplit_once(&format!("\n</{tag}>")).map(|(inner, _)| inner.to_owned())
    };
    inner("task_result").or_else(|| inner("task_error")).unwrap_or_else(|| output.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{answer, mcp};

    #[test]
    fn a_subagents_answer_is_taken_out_of_its_tags() {
        assert_eq!(answer("<task id=\"s\" state=\"completed\">\n<task_result>\nHi.\n</task_result>\n</task>"), "Hi.");
        assert_eq!(answer("plain"), "plain");
    }

    #[test]
    fn the_longest_server_has_the_tool() {
        let check = |tool: &str, expected: Option<(&str, &str)>| {
            let servers = ["my".to_owned(), "my_files".to_owned()];
            let found = mcp(tool, &servers);
            assert_eq!(found.as_ref().map(|mcp| (mcp.server.as_str(), mcp.tool.as_str())), expected);
        };
        check("my_files_read", Some(("my_files", "read")));
        check("docs_search_all", Some(("docs", "search_all")));
        check("custom", None);
    }
}
