//! Claude's tools as items.

use switchboard_event::{
    Call, CallKind, Change, Command, Details, FileChange, FileOp, Item, Location, Mcp, Plan, PlanEntry, PlanStatus,
    Subagent, Team, Tool, WebSearch,
};

use crate::{Json, Object, Scribe, diff};

/// The item for a call of a tool.
pub fn item(name: &str, input: Option<Json<'_>>, todos: &Todos, scribe: &Scribe) -> Item {
    let args = input.map(Json::object).unwrap_or_default();
    let (kind, op) = nature(name);
    let call = Call {
        name: name.to_owned(),
        title: args.filled("description"),
        kind,
        op,
        input: input.map(Json::to_raw),
        locations: location(name, &args, scribe).into_iter().collect(),
        team: team(name, &args),
        is_block: true,
        ..Call::default()
    };
    Item::new(details(name, &args, todos, scribe)).with_call(call)
}

fn location(name: &str, args: &Object<'_>, scribe: &Scribe) -> Option<Location> {
    let keys = match name {
        "NotebookEdit" | "NotebookRead" => ["notebook_path", "file_path", "path"],
        _ => ["file_path", "notebook_path", "path"],
    };
    let path = keys.into_iter().find_map(|key| args.str(key))?;
    Some(Location { path: scribe.absolute(&path), line: args.u64("offset") })
}

fn nature(name: &str) -> (CallKind, Option<FileOp>) {
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

fn team(name: &str, args: &Object<'_>) -> Option<Team> {
    match name {
        // A subagent with a name is one that others can write to: since 2.1 every session has a team without asking.
        "Task" | "Agent" if args.filled("name").is_some() => Some(Team::State),
        "SendMessage" => Some(Team::Message),
        "TaskCreate" | "TaskUpdate" | "TaskGet" | "TaskList" => Some(Team::Task),
        "TeamCreate" | "TeamDelete" => Some(Team::State),
        _ => None,
    }
}

fn details(name: &str, args: &Object<'_>, todos: &Todos, scribe: &Scribe) -> Details {
    match name {
        "Bash" | "PowerShell" => Command {
            command: args.string("command").unwrap_or_default(),
            cwd: scribe.cwd().map(str::to_owned),
            background: args.is_true("run_in_background"),
            ..Command::default()
        }
        .into(),
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => {
            let changes = location(name, args, scribe).map(|at| change(name, at.path, args)).into_iter().collect();
            FileChange { changes, output: None }.into()
        }
        "WebSearch" | "web_search" => {
            WebSearch { queries: args.string("query").into_iter().collect(), results: None }.into()
        }
        "TodoWrite" => Plan { entries: todo_list(args), ..Plan::default() }.into(),
        "TaskCreate" | "TaskUpdate" => todos.planned(name, args).into(),
        "ExitPlanMode" => Plan { text: args.filled("plan"), ..Plan::default() }.into(),
        "Agent" | "Task" => Subagent {
            name: args.string("subagent_type").unwrap_or_default(),
            label: args.string("description").unwrap_or_default(),
            prompt: args.filled("prompt"),
            background: args.is_true("run_in_background"),
            ..Subagent::default()
        }
        .into(),
        _ => mcp(name).map_or_else(|| Tool::default().into(), Details::from),
    }
}

/// What the call alone says about the change; its result says more.
fn change(name: &str, path: String, args: &Object<'_>) -> Change {
    match name {
        "Write" => diff::change(path, None, Some(args.string("content").unwrap_or_default())),
        "NotebookEdit" => {
            let diff = diff::fragment("", &args.str("new_source").unwrap_or_default());
            Change { path, diff, ..Change::default() }
        }
        _ => {
            let edits = args.array("edits").into_iter().map(Json::object);
            let diff = match args.has("edits") {
                true => edits.map(|edit| fragment(&edit)).collect(),
                false => fragment(args),
            };
            Change { path, diff, ..Change::default() }
        }
    }
}

fn fragment(edit: &Object<'_>) -> String {
    diff::fragment(&edit.str("old_string").unwrap_or_default(), &edit.str("new_string").unwrap_or_default())
}

/// MCP tools are called `mcp__SERVER__TOOL`.
fn mcp(name: &str) -> Option<Mcp> {
    let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
    Some(Mcp { server: server.to_owned(), tool: tool.to_owned(), ..Mcp::default() })
}

fn todo_list(args: &Object<'_>) -> Vec<PlanEntry> {
    let todos = args.array("todos").into_iter().map(Json::object);
    todos.map(|t| PlanEntry { step: t.string("content").unwrap_or_default(), status: plan_status(&t) }).collect()
}

fn plan_status(fields: &Object<'_>) -> PlanStatus {
    match fields.str("status").as_deref() {
        Some("in_progress") => PlanStatus::InProgress,
        Some("completed") => PlanStatus::Completed,
        Some("cancelled" | "deleted" | "failed") => PlanStatus::Failed,
        _ => PlanStatus::Pending,
    }
}

/// How many tasks the list keeps.
const TASKS: usize = 500;

/// The to-do list that `TaskCreate` and `TaskUpdate` change task by task.
#[derive(Default)]
pub struct Todos(Vec<(String, PlanEntry)>);

impl Todos {
    /// The list as it will be after the call.
    fn planned(&self, name: &str, args: &Object<'_>) -> Plan {
        let mut entries: Vec<_> = self.0.iter().map(|(_, entry)| entry.clone()).collect();
        let task = args.str("taskId").unwrap_or_default();
        let known = self.0.iter().position(|(id, _)| *id == task);
        match (name, known.and_then(|index| entries.get_mut(index))) {
            ("TaskUpdate", Some(entry)) => {
                if args.has("status") {
                    entry.status = plan_status(args);
                }
                if let Some(subject) = args.filled("subject") {
                    entry.step = subject;
                }
            }
            ("TaskUpdate", None) => {}
            _ => entries.push(PlanEntry { step: args.string("subject").unwrap_or_default(), ..PlanEntry::default() }),
        }
        Plan { entries, ..Plan::default() }
    }

    /// The call was answered: what it changed is now so.
    pub fn learn(&mut self, call: Option<&Call>, structured: Option<Json<'_>>, plan: &Plan) {
        let created = structured.map(Json::object).unwrap_or_default().object("task").string("id");
        match (call.map(|call| call.name.as_str()), created) {
            (Some("TaskCreate"), Some(id)) => {
                if let Some(entry) = plan.entries.last().filter(|_| self.0.len() < TASKS) {
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

    use super::{Todos, item};
    use crate::{Json, Scribe, Start};

    #[test]
    fn a_path_that_claude_expands_is_not_taken_for_a_relative_one() {
        let config = SessionConfig { working_directory: Some("/srv".to_owned()), ..SessionConfig::default() };
        let scribe = Scribe::new("claude", 1, 1, 0, Start { config, ..Start::default() });
        for (tool, input, path) in [
            ("Write", r#"{"file_path":"~/.bashrc"}"#, "~/.bashrc"),
            ("Edit", r#"{"file_path":"~/.bashrc"}"#, "~/.bashrc"),
            ("MultiEdit", r#"{"file_path":" ~/.bashrc"}"#, " ~/.bashrc"),
            ("NotebookEdit", r#"{"notebook_path":"~/.bashrc"}"#, "~/.bashrc"),
            ("NotebookEdit", r#"{"file_path":"a","notebook_path":"~/.bashrc"}"#, "~/.bashrc"),
            ("Write", r#"{"file_path":"a"}"#, "/srv/a"),
        ] {
            let item = item(tool, Json::parse(input), &Todos::default(), &scribe);
            let Details::FileChange(change) = &item.details else { panic!("{tool}: {item:?}") };
            assert_eq!(change.changes[0].path, path, "{tool} {input}");
            assert_eq!(item.call.unwrap().locations[0].path, path, "{tool} {input}");
        }
    }
}
