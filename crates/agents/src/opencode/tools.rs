//! Converts OpenCode's tool calls and the output of commands to items.

use switchboard_event::{
    Call, CallKind, Command, Details, Field, FileChange, FileOp, Id, Item, Location, Mcp, Plan, PlanEntry, PlanStatus,
    Status, Subagent, Tool, WebSearch, to_raw_json, to_raw_string,
};

use super::{
    calls::{CallPhase, CallState},
    file_changes,
};
use crate::{JsonObject, JsonView, RunRecorder};

/// Maximum number of positions tried when the shown end of an output is aligned with the known output.
const TRIES: usize = 64;

/// Returns the item of a call in its current state. The output of a command is added only at the end.
pub fn item(state: &CallState<'_>, shown: Option<&str>, servers: &[String], recorder: &RunRecorder) -> Item {
    let input = state.input.map(JsonView::as_object).unwrap_or_default();
    let (kind, op) = tool_kind(&state.tool);
    let call = Call {
        name: state.tool.to_string(),
        title: state.title.clone(),
        kind,
        op,
        input: state.input.map(JsonView::to_raw),
        locations: location(&input, op, recorder).into_iter().collect(),
        content: state.files.clone(),
        ..Call::default()
    };
    Item::new(details(state, &input, shown, servers, recorder)).with_call(call)
}

/// Returns the kind of a tool and its file operation.
pub fn tool_kind(tool: &str) -> (CallKind, Option<FileOp>) {
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

fn location(input: &JsonObject<'_>, op: Option<FileOp>, recorder: &RunRecorder) -> Option<Location> {
    let path = input.get_str("filePath").or_else(|| input.get_str("path"))?;
    let line = input.get_u64("offset").filter(|_| op == Some(FileOp::Read));
    Some(Location { path: recorder.absolute_path(&path), line })
}

fn details(
    state: &CallState<'_>,
    input: &JsonObject<'_>,
    shown: Option<&str>,
    servers: &[String],
    recorder: &RunRecorder,
) -> Details {
    match &*state.tool {
        "bash" | "shell" => command(input, &state.meta, recorder).into(),
        "write" | "edit" | "multiedit" | "patch" | "apply_patch" => {
            FileChange { changes: file_changes::changes_of_tool(state, shown, recorder), output: None }.into()
        }
        "websearch" => WebSearch { queries: input.get_string("query").into_iter().collect(), results: None }.into(),
        "todowrite" => plan(input).into(),
        "task" => subagent(input, &state.meta).into(),
        "read_mcp_resource" | "list_mcp_resources" | "list_mcp_resource_templates" => {
            let server = input.get_string("server").unwrap_or_default();
            Mcp { server, tool: state.tool.to_string(), ..Mcp::default() }.into()
        }
        "plan_enter" | "plan_exit" => Tool::default().into(),
        tool => mcp(tool, servers).map_or_else(|| Tool::default().into(), Details::from),
    }
}

fn command(input: &JsonObject<'_>, meta: &JsonObject<'_>, recorder: &RunRecorder) -> Command {
    let folder = input.get_str("workdir").map(|folder| recorder.absolute_path(&folder));
    Command {
        command: input.get_string("command").unwrap_or_default(),
        cwd: folder.or_else(|| recorder.working_directory().map(str::to_owned)),
        exit_code: meta.get_i32("exit"),
        ..Command::default()
    }
}

fn plan(input: &JsonObject<'_>) -> Plan {
    let entries = input.get_array("todos").into_iter().map(JsonView::as_object).map(|todo| PlanEntry {
        step: todo.get_string("content").unwrap_or_default(),
        status: match todo.get_str("status").as_deref() {
            Some("in_progress") => PlanStatus::InProgress,
            Some("completed") => PlanStatus::Completed,
            Some("cancelled") => PlanStatus::Failed,
            _ => PlanStatus::Pending,
        },
    });
    Plan { entries: entries.collect(), ..Plan::default() }
}

fn subagent(input: &JsonObject<'_>, meta: &JsonObject<'_>) -> Subagent {
    Subagent {
        thread: meta.get_non_empty("sessionId").or_else(|| meta.get_non_empty("sessionID")).map(Id::from),
        name: input.get_string("subagent_type").unwrap_or_default(),
        label: input.get_string("description").unwrap_or_default(),
        prompt: input.get_non_empty("prompt"),
        result: None,
        background: meta.is_true("background") || input.is_true("background"),
    }
}

/// MCP tools are named `SERVER_TOOL`, and a server name may contain `_`. A plugin's tool may have such a name too, but
/// plugins rarely do.
fn mcp(tool: &str, servers: &[String]) -> Option<Mcp> {
    let known = servers.iter().filter_map(|server| {
        let rest = tool.strip_prefix(server.as_str())?.strip_prefix('_')?;
        Some((server.as_str(), rest))
    });
    let (server, tool) = known.max_by_key(|(server, _)| server.len()).or_else(|| tool.split_once('_'))?;
    Some(Mcp { server: server.to_owned(), tool: tool.to_owned(), ..Mcp::default() })
}

/// Updates the item of a running call.
pub fn progress(id: &Id, item: Item, state: &CallState<'_>, recorder: &mut RunRecorder) {
    if let Details::Command(_) | Details::Tool(_) = item.details {
        if let (Some(open), Some(call)) = (recorder.item_mut(id), item.call) {
            open.call = Some(call);
        }
        return append_output(id, state, recorder);
    }
    let changed = recorder.open_item(id).is_some_and(|open| to_raw_json(open).get() != to_raw_json(&item).get());
    if changed {
        recorder.item_set(id, item);
    }
}

/// Appends the new output of a command.
pub fn append_output(id: &Id, state: &CallState<'_>, recorder: &mut RunRecorder) {
    let shown = state.meta.get_str("output").unwrap_or_else(|| state.output.clone());
    let known = match recorder.open_item(id).map(|item| &item.details) {
        Some(Details::Command(command)) if !command.truncated => command.output.as_str(),
        Some(Details::Tool(tool)) => tool.output.as_str(),
        _ => return,
    };
    let news = new_output(known, &shown).to_owned();
    if !news.is_empty() {
        recorder.item_append(id, Field::Output, 0, &news);
    }
}

/// Returns the item of a finished call, with its result and status.
pub fn completed_item(mut item: Item, state: &CallState<'_>) -> Item {
    let mut error = state.error.clone();
    let mut status = if state.phase == CallPhase::Failed { failure(state) } else { Status::Completed };
    let output = || Some(state.output.to_string()).filter(|output| !output.is_empty());
    match &mut item.details {
        Details::Command(command) => {
            let printed = command_output(state);
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
        Details::WebSearch(search) => search.results = output().map(|text| to_raw_string(&text)),
        Details::Subagent(subagent) => subagent.result = output().map(|text| answer(&text)),
        Details::Mcp(mcp) => {
            mcp.result = output().map(|text| to_raw_string(&text));
            mcp.error.clone_from(&error);
        }
        // The called tool does not exist or has other parameters. OpenCode reports this to the model through the tool
        // `invalid`.
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

/// Returns the output of a command. For a stopped command, only the output shown while it ran may be known.
fn command_output(state: &CallState<'_>) -> CommandOutput {
    let shown = || state.meta.get_str("output").unwrap_or_default();
    let output = if state.output.is_empty() { shown() } else { state.output.clone() };
    parse_printed(&output, &state.meta)
}

/// Only the error message says why a call failed.
fn failure(state: &CallState<'_>) -> Status {
    let error = state.error.as_deref().unwrap_or_default();
    let refusals =
        ["The user rejected permission", "The user has specified a rule", "The user dismissed this question"];
    if refusals.iter().any(|refusal| error.starts_with(refusal)) {
        return Status::Declined;
    }
    let stopped = ["Tool execution aborted", "Task cancelled"];
    if state.meta.is_true("interrupted") || stopped.contains(&error) { Status::Interrupted } else { Status::Failed }
}

/// Returns a subagent's answer without the surrounding tags.
fn answer(output: &str) -> String {
    let inner = |tag: &str| {
        let (_, rest) = output.split_once(&format!("<{tag}>\n"))?;
        rest.rsplit_once(&format!("\n</{tag}>")).map(|(inner, _)| inner.to_owned())
    };
    inner("task_result").or_else(|| inner("task_error")).unwrap_or_else(|| output.to_owned())
}

/// The final output of a command.
#[derive(Debug, Default, PartialEq, Eq)]
struct CommandOutput {
    /// The output without remarks.
    pub output: String,
    /// Part of the output is missing.
    pub truncated: bool,
    /// OpenCode's remark, such as why the command was stopped.
    pub remark: Option<String>,
}

/// Separates an output from OpenCode's remarks.
fn parse_printed(output: &str, meta: &JsonObject<'_>) -> CommandOutput {
    let (output, remark) = remark(output);
    let cut = output.strip_prefix("...output truncated...\n\n");
    let body = cut.map_or(output, |rest| rest.split_once("\n\n").map_or(rest, |(_, body)| body));
    let body = if body == "(no output)" { "" } else { body };
    CommandOutput {
        output: body.to_owned(),
        truncated: cut.is_some() || meta.is_true("truncated"),
        remark: remark.map(str::to_owned),
    }
}

fn remark(output: &str) -> (&str, Option<&str>) {
    for (open, close) in
        [("\n\n<shell_metadata>\n", "\n</shell_metadata>"), ("\n\n<bash_metadata>\n", "\n</bash_metadata>")]
    {
        if let Some((before, rest)) = output.rsplit_once(open) {
            return (before, Some(rest.strip_suffix(close).unwrap_or(rest)));
        }
    }
    // Newer sessions put the remark on a line of its own.
    let (before, last) = output.rsplit_once('\n').unwrap_or(("", output));
    match last {
        "Command timed out before completion." => (before, Some(last)),
        _ if last.starts_with("Command exited with code ") => (before, None),
        _ => (output, None),
    }
}

/// Returns the part of `shown` that is not in `known`. OpenCode shows only the end of an output that is longer than
/// 30,000 characters.
fn new_output<'a>(known: &str, shown: &'a str) -> &'a str {
    if let Some(rest) = shown.strip_prefix(known) {
        return rest;
    }
    let Some(end) = shown.strip_prefix("...\n\n") else { return "" };
    let sign = first(end, 16);
    let mut rest = last(known, end.len());
    for _ in 0..TRIES {
        // More was printed at once than is shown, so there is no overlap with the known output.
        let Some(overlap) = rest.find(sign).and_then(|at| rest.get(at..)) else { return end };
        if let Some(news) = end.strip_prefix(overlap) {
            return news;
        }
        let mut chars = overlap.chars();
        chars.next();
        rest = chars.as_str();
    }
    ""
}

fn first(text: &str, bytes: usize) -> &str {
    (0..=bytes.min(text.len())).rev().find_map(|end| text.get(..end)).unwrap_or_default()
}

fn last(text: &str, bytes: usize) -> &str {
    (text.len().saturating_sub(bytes)..=text.len()).find_map(|start| text.get(start..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {

    use super::{CommandOutput, answer, mcp, new_output, parse_printed};
    use crate::JsonView;

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

    fn check(output: &str, expected: &str, truncated: bool, remark: Option<&str>) {
        let meta = JsonView::parse("{}").unwrap().as_object();
        let expected = CommandOutput { output: expected.to_owned(), truncated, remark: remark.map(str::to_owned) };
        assert_eq!(parse_printed(output, &meta), expected);
    }

    #[test]
    fn remarks_are_not_output() {
        check("hi\n", "hi\n", false, None);
        check("(no output)", "", false, None);
        let aborted = "(no output)\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>";
        check(aborted, "", false, Some("User aborted the command"));
        check("...output truncated...\n\nFull output saved to: /f\n\nend\n", "end\n", true, None);
        check("hi\n\nCommand exited with code 0.", "hi\n", false, None);
    }

    #[test]
    fn only_what_is_new_is_added() {
        assert_eq!(new_output("", "one\n"), "one\n");
        assert_eq!(new_output("one\n", "one\ntwo\n"), "two\n");
        assert_eq!(new_output("one\ntwo\n", "other\n"), "");
        assert_eq!(new_output("one\ntwo\nthree and some more\n", "...\n\ntwo\nthree and some more\nfour\n"), "four\n");
        assert_eq!(new_output("one\n", "...\n\nlater\n"), "later\n");
        assert_eq!(new_output("ä\nöööööööööö\n", "...\n\nöööööööö\nü\n"), "ü\n");
        assert_eq!(new_output("", "...\n\nx"), "...\n\nx");
    }
}
