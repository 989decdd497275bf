//! Claude Code's tool calls and their results as items.

use switchboard_event::{
    Call, CallKind, Change, ChangeKind, Command, Content, Details, FileChange, FileOp, Item, Location, Mcp, Plan,
    PlanEntry, PlanStatus, Status, Subagent, Team, Tool, WebSearch,
};

use super::{errors, messages::parse_content_block};
use crate::{JsonObject, JsonView, RunRecorder, diff};

/// The maximum number of tasks in the list.
const MAX_TODO_TASKS: usize = 500;

/// The beginning of Claude Code's message for a tool that is unknown, disabled, or called with invalid input.
const TOOL_USE_ERROR_TAG: &str = "<tool_use_error>";

pub fn tool_item(name: &str, input: Option<JsonView<'_>>, todos: &TodoList, recorder: &RunRecorder) -> Item {
    let args = input.map(JsonView::as_object).unwrap_or_default();
    let (kind, op) = classify_tool(name);
    let call = Call {
        name: name.to_owned(),
        title: args.get_non_empty("description"),
        kind,
        op,
        input: input.map(JsonView::to_raw),
        locations: tool_location(name, &args, recorder).into_iter().collect(),
        team: classify_team_call(name, &args),
        is_block: true,
        ..Call::default()
    };
    Item::new(item_details(name, &args, todos, recorder)).with_call(call)
}

fn tool_location(name: &str, args: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Location> {
    let keys = match name {
        "NotebookEdit" | "NotebookRead" => ["notebook_path", "file_path", "path"],
        _ => ["file_path", "notebook_path", "path"],
    };
    let path = keys.into_iter().find_map(|key| args.get_str(key))?;
    Some(Location { path: recorder.absolute_path(&path), line: args.get_u64("offset") })
}

fn classify_tool(name: &str) -> (CallKind, Option<FileOp>) {
    match name {
        "Bash" | "PowerShell" | "BashOutput" | "KillShell" | "TaskOutput" | "TaskStop" => (CallKind::Execute, None),
        "Write" => (CallKind::Edit, Some(FileOp::Write)),
        "Edit" | "MultiEdit" | "NotebookEdit" => (CallKind::Edit, Some(FileOp::Modify)),
        "Read" | "NotebookRead" | "LS" => (CallKind::Read, Some(FileOp::Read)),
        "Glob" | "Grep" | "WebSearch" | "web_search" | "ToolSearch" => (CallKind::Search, None),
        "WebFetch" | "web_fetch" => (CallKind::Fetch, None),
        "TodoWrite" | "TaskCreate" | "TaskUpdate" | "TaskGet" | "TaskList" => (CallKind::Think, None),
        "EnterPlanMode" | "ExitPlanMode" => (CallKind::Mode, None),
        _ => (CallKind::Other, None),
    }
}

fn classify_team_call(name: &str, args: &JsonObject<'_>) -> Option<Team> {
    match name {
        // Other agents can write to a subagent with a name: since 2.1 every session has a team by default.
        "Task" | "Agent" if args.get_non_empty("name").is_some() => Some(Team::State),
        "SendMessage" => Some(Team::Message),
        "TaskCreate" | "TaskUpdate" | "TaskGet" | "TaskList" => Some(Team::Task),
        "TeamCreate" | "TeamDelete" => Some(Team::State),
        _ => None,
    }
}

fn item_details(name: &str, args: &JsonObject<'_>, todos: &TodoList, recorder: &RunRecorder) -> Details {
    match name {
        "Bash" | "PowerShell" => Command {
            command: args.get_string("command").unwrap_or_default(),
            cwd: recorder.working_directory().map(str::to_owned),
            background: args.is_true("run_in_background"),
            ..Command::default()
        }
        .into(),
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => {
            let changes = tool_location(name, args, recorder)
                .map(|at| requested_change(name, at.path, args))
                .into_iter()
                .collect();
            FileChange { changes, output: None }.into()
        }
        "WebSearch" | "web_search" => {
            WebSearch { queries: args.get_string("query").into_iter().collect(), results: None }.into()
        }
        "TodoWrite" => Plan { entries: todo_list(args), ..Plan::default() }.into(),
        "TaskCreate" | "TaskUpdate" => todos.plan_after_call(name, args).into(),
        "ExitPlanMode" => Plan { text: args.get_non_empty("plan"), ..Plan::default() }.into(),
        "Agent" | "Task" => Subagent {
            name: args.get_string("subagent_type").unwrap_or_default(),
            label: args.get_string("description").unwrap_or_default(),
            prompt: args.get_non_empty("prompt"),
            background: args.is_true("run_in_background"),
            ..Subagent::default()
        }
        .into(),
        _ => parse_mcp_tool(name).map_or_else(|| Tool::default().into(), Details::from),
    }
}

/// The change as far as the call describes it; the result has more details.
fn requested_change(name: &str, path: String, args: &JsonObject<'_>) -> Change {
    match name {
        "Write" => diff::change_from_sides(path, None, Some(args.get_string("content").unwrap_or_default())),
        "NotebookEdit" => {
            let diff = diff::fragment_hunks("", &args.get_str("new_source").unwrap_or_default());
            Change { path, diff, ..Change::default() }
        }
        _ => {
            let edits = args.get_array("edits").into_iter().map(JsonView::as_object);
            let diff = match args.contains_key("edits") {
                true => edits.map(|edit| edit_fragment(&edit)).collect(),
                false => edit_fragment(args),
            };
            Change { path, diff, ..Change::default() }
        }
    }
}

fn edit_fragment(edit: &JsonObject<'_>) -> String {
    diff::fragment_hunks(
        &edit.get_str("old_string").unwrap_or_default(),
        &edit.get_str("new_string").unwrap_or_default(),
    )
}

/// MCP tools are named `mcp__SERVER__TOOL`.
fn parse_mcp_tool(name: &str) -> Option<Mcp> {
    let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
    Some(Mcp { server: server.to_owned(), tool: tool.to_owned(), ..Mcp::default() })
}

fn todo_list(args: &JsonObject<'_>) -> Vec<PlanEntry> {
    let todos = args.get_array("todos").into_iter().map(JsonView::as_object);
    todos.map(|t| PlanEntry { step: t.get_string("content").unwrap_or_default(), status: plan_status(&t) }).collect()
}

fn plan_status(fields: &JsonObject<'_>) -> PlanStatus {
    match fields.get_str("status").as_deref() {
        Some("in_progress") => PlanStatus::InProgress,
        Some("completed") => PlanStatus::Completed,
        Some("cancelled" | "deleted" | "failed") => PlanStatus::Failed,
        _ => PlanStatus::Pending,
    }
}

/// The to-do list that `TaskCreate` and `TaskUpdate` change task by task.
#[derive(Default)]
pub struct TodoList(Vec<(String, PlanEntry)>);

impl TodoList {
    /// Returns the list as it will be after the call.
    fn plan_after_call(&self, name: &str, args: &JsonObject<'_>) -> Plan {
        let mut entries: Vec<_> = self.0.iter().map(|(_, entry)| entry.clone()).collect();
        let task = args.get_str("taskId").unwrap_or_default();
        let known = self.0.iter().position(|(id, _)| *id == task);
        match (name, known.and_then(|index| entries.get_mut(index))) {
            ("TaskUpdate", Some(entry)) => {
                if args.contains_key("status") {
                    entry.status = plan_status(args);
                }
                if let Some(subject) = args.get_non_empty("subject") {
                    entry.step = subject;
                }
            }
            ("TaskUpdate", None) => {}
            _ => {
                entries.push(PlanEntry { step: args.get_string("subject").unwrap_or_default(), ..PlanEntry::default() })
            }
        }
        Plan { entries, ..Plan::default() }
    }

    /// Applies a completed call to the list.
    pub fn apply_result(&mut self, call: Option<&Call>, structured: Option<JsonView<'_>>, plan: &Plan) {
        let created = structured.map(JsonView::as_object).unwrap_or_default().get_object("task").get_string("id");
        match (call.map(|call| call.name.as_str()), created) {
            (Some("TaskCreate"), Some(id)) => {
                if let Some(entry) = plan.entries.last().filter(|_| self.0.len() < MAX_TODO_TASKS) {
                    self.0.push((id, entry.clone()));
                }
            }
            (Some("TaskUpdate"), _) => {
                for ((_, known), new) in self.0.iter_mut().zip(&plan.entries) {
                    known.clone_from(new);
                }
            }
            _ => {}
        }
    }
}

/// Applies a `tool_result` block and the structured result of the same record, which subagents' results do not have.
/// `refused` comes from the record's fields; if they do not tell, the text decides.
pub fn apply_tool_result(
    mut item: Item,
    block: &JsonObject<'_>,
    structured: Option<JsonView<'_>>,
    refused: Option<bool>,
    recorder: &RunRecorder,
) -> Item {
    let content = result_contents(block.get("content"));
    let text = contents_text(&content);
    let failed = block.is_true("is_error");
    let refused = refused.unwrap_or_else(|| errors::is_denial(&text));
    item.status = result_status(failed, refused, recorder.is_interrupted());
    match &mut item.details {
        // A denied command did not run and printed nothing; the call has the reason.
        Details::Command(_) if matches!(item.status, Status::Declined | Status::Interrupted) => {}
        // A command that Claude Code rejected did not run either.
        Details::Command(_) if failed && text.starts_with(TOOL_USE_ERROR_TAG) => {}
        Details::Command(command) => finish_command(command, &text, failed, structured),
        Details::FileChange(change) => {
            change.output = Some(text.clone());
            if let Some(done) = structured.and_then(|s| structured_change(&s.as_object(), recorder)).filter(|_| !failed)
            {
                change.changes = vec![done];
            }
        }
        Details::Mcp(mcp) if failed => mcp.error = Some(text.clone()),
        Details::Mcp(mcp) => mcp.result = structured.or(block.get("content")).map(JsonView::to_raw),
        Details::WebSearch(search) => search.results = structured.or(block.get("content")).map(JsonView::to_raw),
        Details::Subagent(subagent) => {
            let fields = structured.map(JsonView::as_object).unwrap_or_default();
            subagent.background |= fields.str_equals("status", "async_launched") || fields.is_true("isAsync");
            let answer = contents_text(&result_contents(fields.get("content")));
            subagent.result = Some(if answer.is_empty() { text.clone() } else { answer });
        }
        Details::Tool(tool) => tool.output.clone_from(&text),
        Details::Plan(plan) => plan.output = Some(text.clone()),
        _ => {}
    }
    let is_command = matches!(item.details, Details::Command(_));
    if let Some(call) = &mut item.call {
        call.exit_code = exit_code(&text, failed, structured).filter(|_| !is_command);
        call.error = failed.then(|| strip_error_tags(&text).to_owned());
        call.content = content.into_iter().filter(|c| c.text.is_none()).collect();
    }
    if structured.is_some_and(|structured| structured.as_object().is_true("interrupted")) {
        // The command printed this output but did not finish.
        item.status = Status::Interrupted;
    }
    item
}

/// Applies the result of a tool that the provider runs itself.
pub fn apply_server_result(mut item: Item, content: Option<JsonView<'_>>) -> Item {
    match &mut item.details {
        Details::WebSearch(search) => search.results = content.map(JsonView::to_raw),
        Details::Tool(tool) => tool.result = content.map(JsonView::to_raw),
        Details::Mcp(mcp) => mcp.result = content.map(JsonView::to_raw),
        _ => {}
    }
    item.with_status(Status::Completed)
}

fn result_status(failed: bool, refused: bool, interrupted: bool) -> Status {
    match (failed, refused) {
        (true, true) if interrupted => Status::Interrupted,
        (true, true) => Status::Declined,
        (true, false) => Status::Failed,
        _ => Status::Completed,
    }
}

fn result_contents(content: Option<JsonView<'_>>) -> Vec<Content> {
    if let Some(text) = content.and_then(JsonView::as_str) {
        return vec![Content::text(text)];
    }
    let blocks = content.map(JsonView::as_array).unwrap_or_default();
    blocks.into_iter().filter_map(|block| parse_content_block(&block.as_object())).collect()
}

fn contents_text(content: &[Content]) -> String {
    content.iter().filter_map(|c| c.text.as_deref()).collect::<Vec<_>>().join("\n")
}

/// Removes the tags that Claude Code puts around its own messages to the model.
fn strip_error_tags(text: &str) -> &str {
    text.strip_prefix(TOOL_USE_ERROR_TAG).and_then(|t| t.strip_suffix("</tool_use_error>")).unwrap_or(text)
}

/// The exit code that a tool other than a shell reports, for example of a background task that it waited for.
fn exit_code(text: &str, failed: bool, structured: Option<JsonView<'_>>) -> Option<i32> {
    let fields = structured.map(JsonView::as_object).unwrap_or_default();
    let reported = [&fields, &fields.get_object("task")].into_iter().find_map(|fields| fields.get_i32("exitCode"));
    let tagged = || text.split_once("<exit_code>").and_then(|(_, rest)| rest.split_once("</exit_code>"));
    let failure = || text.strip_prefix("Exit code ").filter(|_| failed).and_then(|rest| rest.lines().next());
    reported.or_else(|| tagged().map(|(code, _)| code).or_else(failure)?.trim().parse().ok())
}

/// Claude Code 2.1.197 has no field for an exit code: the text of a failure begins with `Exit code 3`.
fn finish_command(command: &mut Command, text: &str, failed: bool, structured: Option<JsonView<'_>>) {
    let fields = structured.map(JsonView::as_object).unwrap_or_default();
    let (code, rest) = match text.strip_prefix("Exit code ").filter(|_| failed) {
        Some(after) => {
            let (code, rest) = after.split_once('\n').unwrap_or((after, ""));
            (code.trim().parse().ok(), rest)
        }
        None => (None, text),
    };
    command.background |= fields.contains_key("backgroundTaskId");
    command.exit_code = code.or((!failed && !command.background && !fields.is_true("interrupted")).then_some(0));
    command.truncated = rest.starts_with("<persisted-output>");
    command.output = match (fields.get_str("stdout"), fields.get_str("stderr")) {
        // The text tells where the output of a background command goes.
        _ if command.background => rest.to_owned(),
        (Some(out), Some(err)) if !err.is_empty() && !out.is_empty() => format!("{out}\n{err}"),
        (Some(out), err) if out.is_empty() => err.unwrap_or_default().into_owned(),
        (Some(out), _) => out.into_owned(),
        (None, _) if rest == "(Bash completed with no output)" => String::new(),
        (None, _) => rest.to_owned(),
    };
}

/// Parses the structured result of `Write` and `Edit`: the original file and the patch.
fn structured_change(fields: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Change> {
    let path = recorder.absolute_path(&fields.get_str("filePath")?);
    let before = fields.get_string("originalFile");
    let after = match fields.get_string("content") {
        Some(content) => Some(content),
        None => before.as_deref().map(|before| apply_edit(before, fields)),
    };
    let patch: String = fields.get_array("structuredPatch").into_iter().map(format_hunk).collect();
    let mut change = diff::change_from_sides(path, before, after);
    if !patch.is_empty() {
        change.diff = patch;
    }
    Some(change)
}

/// Parses `bashEditDiff` of 2.1.326: the files that a command changed.
pub fn changes_by_command(structured: Option<JsonView<'_>>, recorder: &RunRecorder) -> Vec<Change> {
    let diff = structured.map(JsonView::as_object).unwrap_or_default().get_object("bashEditDiff");
    let files: Vec<_> = diff.get_array("files").into_iter().map(JsonView::as_object).collect();
    let change = |file: &JsonObject<'_>| {
        let kind = match (file.is_true("created"), file.is_true("deleted")) {
            (true, _) => ChangeKind::Add,
            (_, true) => ChangeKind::Delete,
            _ => ChangeKind::Modify,
        };
        let diff = file.get_array("hunks").into_iter().map(format_hunk).collect();
        Some(Change { path: recorder.absolute_path(&file.get_non_empty("filePath")?), kind, diff, ..Change::default() })
    };
    let mut changes: Vec<_> = files.iter().filter_map(change).collect();
    // There may be more changed files than shown ones.
    for path in diff.get_strings("changedFiles").iter().map(|path| recorder.absolute_path(path)) {
        if !changes.iter().any(|known| known.path == path) {
            changes.push(Change { path, ..Change::default() });
        }
    }
    changes
}

fn apply_edit(before: &str, fields: &JsonObject<'_>) -> String {
    let (old, new) = (fields.get_str("oldString").unwrap_or_default(), fields.get_str("newString").unwrap_or_default());
    if old.is_empty() {
        return new.into_owned();
    }
    match fields.is_true("replaceAll") {
        true => before.replace(&*old, &new),
        false => before.replacen(&*old, &new, 1),
    }
}

fn format_hunk(hunk: JsonView<'_>) -> String {
    let hunk = hunk.as_object();
    let range = |start: &str, lines: &str| format!("{},{}", hunk.get_count(start), hunk.get_count(lines));
    let (old, new) = (range("oldStart", "oldLines"), range("newStart", "newLines"));
    let lines: String = hunk.get_strings("lines").into_iter().map(|line| line + "\n").collect();
    format!("@@ -{old} +{new} @@\n{lines}")
}

#[cfg(test)]
mod tests {

    use switchboard_event::{Command, Details, SessionConfig};

    use super::{TodoList, finish_command, tool_item};
    use crate::{JsonView, RunRecorder, SessionContext};

    #[test]
    fn a_path_that_claude_expands_is_not_taken_for_a_relative_one() {
        let config = SessionConfig { working_directory: Some("/srv".to_owned()), ..SessionConfig::default() };
        let recorder = RunRecorder::new("claude", 1, 1, 0, SessionContext { config, ..SessionContext::default() });
        for (tool, input, path) in [
            ("Write", r#"{"file_path":"~/.bashrc"}"#, "~/.bashrc"),
            ("Edit", r#"{"file_path":"~/.bashrc"}"#, "~/.bashrc"),
            ("MultiEdit", r#"{"file_path":" ~/.bashrc"}"#, " ~/.bashrc"),
            ("NotebookEdit", r#"{"notebook_path":"~/.bashrc"}"#, "~/.bashrc"),
            ("NotebookEdit", r#"{"file_path":"a","notebook_path":"~/.bashrc"}"#, "~/.bashrc"),
            ("Write", r#"{"file_path":"a"}"#, "/srv/a"),
        ] {
            let item = tool_item(tool, JsonView::parse(input), &TodoList::default(), &recorder);
            let Details::FileChange(change) = &item.details else { panic!("{tool}: {item:?}") };
            assert_eq!(change.changes[0].path, path, "{tool} {input}");
            assert_eq!(item.call.unwrap().locations[0].path, path, "{tool} {input}");
        }
    }

    #[track_caller]
    fn check_finished(text: &str, failed: bool, exit_code: Option<i32>, output: &str) {
        let mut command = Command::default();
        finish_command(&mut command, text, failed, None);
        assert_eq!((command.exit_code, command.output.as_str()), (exit_code, output));
    }

    #[test]
    fn exit_codes_are_in_the_text() {
        check_finished("made", false, Some(0), "made");
        check_finished("Exit code 3\nno such file", true, Some(3), "no such file");
        check_finished("Exit code 143\nCommand timed out after 1s", true, Some(143), "Command timed out after 1s");
        check_finished("the user said no", true, None, "the user said no");
        check_finished("(Bash completed with no output)", false, Some(0), "");
    }
}
