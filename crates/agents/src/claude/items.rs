//! Claude Code's tool calls as items.

use switchboard_event::{
    Call, CallKind, Change, Command, Details, FileChange, FileOp, Item, Location, Mcp, Plan, PlanEntry, PlanStatus,
    Subagent, Team, Tool, WebSearch,
};

use crate::{JsonObject, JsonView, RunRecorder, diff};

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

/// The maximum number of tasks in the list.
const MAX_TODO_TASKS: usize = 500;

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

#[cfg(test)]
mod tests {

    use switchboard_event::{Details, SessionConfig};

    use super::{TodoList, tool_item};
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
}
