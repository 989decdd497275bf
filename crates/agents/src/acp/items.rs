//! Converts tool calls to items, by their kind and the structure of their input, and their content to file changes.
//! Tool names are not standardized.

use switchboard_event::{
    Call, CallKind, Change, ChangeKind, Command, Content, ContentType, Details, FileChange, FileOp, Item, Location,
    Mcp, Plan, PlanEntry, Subagent, Tool, WebSearch,
};

use super::{
    tool_call::{ToolCall, parsed},
    tool_names,
    updates::plan_status,
};
use crate::{JsonObject, JsonView, RunRecorder, diff};

/// Returns the item of a call in its known state.
pub fn item(call: &ToolCall, recorder: &RunRecorder) -> Item {
    let kind = kind(call);
    let name = call.name.clone().unwrap_or_else(|| tool_names::kind_name(kind).to_owned());
    let locations = locations(call, recorder);
    let details = details(call, &name, &locations, recorder);
    let others = |content: &Content| content.kind != ContentType::Text;
    let op = op(kind, &details);
    let item = Item { reply: call.reply.clone(), ..Item::new(details) };
    item.with_call(Call {
        op,
        name,
        title: call.title.clone(),
        kind,
        input: call.input.clone(),
        locations,
        content: call.pieces().into_iter().filter(others).collect(),
        ..Call::default()
    })
}

/// Returns the kind of a tool. A web search is not a file search: it leaves the machine.
fn kind(call: &ToolCall) -> CallKind {
    let web = || call.name.as_deref().is_some_and(|name| name.to_lowercase().contains("web"));
    match call.kind.unwrap_or_default() {
        CallKind::Search if web() => CallKind::Fetch,
        kind => kind,
    }
}

fn op(kind: CallKind, details: &Details) -> Option<FileOp> {
    let new = |edit: &FileChange| {
        !edit.changes.is_empty() && edit.changes.iter().all(|change| change.kind == ChangeKind::Add)
    };
    match (kind, details) {
        (CallKind::Read, _) => Some(FileOp::Read),
        (CallKind::Edit, Details::FileChange(change)) if new(change) => Some(FileOp::Create),
        (CallKind::Edit, _) => Some(FileOp::Modify),
        (CallKind::Delete, _) => Some(FileOp::Delete),
        (CallKind::Move, _) => Some(FileOp::Move),
        _ => None,
    }
}

fn locations(call: &ToolCall, recorder: &RunRecorder) -> Vec<Location> {
    let list = parsed(call.locations.as_deref()).map(JsonView::as_array).unwrap_or_default();
    let location = |entry: JsonView<'_>| {
        let entry = entry.as_object();
        Some(Location { path: recorder.absolute_path(&entry.get_str("path")?), line: entry.get_u64("line") })
    };
    list.into_iter().filter_map(location).collect()
}

fn details(call: &ToolCall, name: &str, places: &[Location], recorder: &RunRecorder) -> Details {
    let input = parsed(call.input.as_deref()).map(JsonView::as_object).unwrap_or_default();
    let kind = call.kind.unwrap_or_default();
    if let Some(details) = by_shape(call, name, &input, recorder) {
        return details;
    }
    if kind == CallKind::Execute {
        return command(call, &input, recorder).into();
    }
    let changes = of(call, places, &input, recorder);
    let edits = matches!(kind, CallKind::Edit | CallKind::Delete | CallKind::Move) || !changes.is_empty();
    if !edits {
        return tool(call, recorder).into();
    }
    let output = Some(call.text(recorder)).filter(|text| !text.is_empty());
    FileChange { changes, output }.into()
}

/// Recognizes tools by the structure of their input, whatever the agent calls them.
fn by_shape(call: &ToolCall, name: &str, input: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Details> {
    let kind = kind(call);
    let titled = || call.title.as_deref().and_then(tool_names::mcp_title);
    if let Some((server, tool)) = tool_names::mcp(name).or_else(titled) {
        let result = call.output.clone().or_else(|| call.content.clone());
        return Some(Mcp { server: server.to_owned(), tool: tool.to_owned(), result, error: None }.into());
    }
    let todos = input.get_array("todos");
    if !todos.is_empty() {
        let entry = |todo: JsonView<'_>| {
            let todo = todo.as_object();
            PlanEntry { step: todo.get_string("content").unwrap_or_default(), status: plan_status(&todo) }
        };
        return Some(Plan { entries: todos.into_iter().map(entry).collect(), ..Plan::default() }.into());
    }
    if let (Some(prompt), Some(label)) = (input.get_non_empty("prompt"), input.get_non_empty("description")) {
        let name = input.get_non_empty("subagent_type").unwrap_or_default();
        let result = Some(call.text(recorder)).filter(|text| !text.is_empty());
        return Some(Subagent { name, label, prompt: Some(prompt), result, ..Subagent::default() }.into());
    }
    let query = input.get_non_empty("query").filter(|_| kind == CallKind::Fetch)?;
    Some(WebSearch { queries: vec![query], results: call.output.clone() }.into())
}

fn command(call: &ToolCall, input: &JsonObject<'_>, recorder: &RunRecorder) -> Command {
    let given = input.get("command").or_else(|| input.get("cmd")).and_then(tool_names::command_line);
    // Without an input, the title is the command.
    let titled = || call.title.as_deref().map(|title| title.trim_matches('`').to_owned());
    let cwd = input.get_str("cwd").or_else(|| input.get_str("workdir")).map(|cwd| recorder.absolute_path(&cwd));
    let output = parsed(call.output.as_deref()).map(JsonView::as_object).unwrap_or_default();
    let more = output.get_object("metadata");
    let code =
        |fields: &JsonObject<'_>| ["exit_code", "exitCode", "exit"].into_iter().find_map(|key| fields.get_i32(key));
    Command {
        command: given.or_else(|| call.run.clone()).or_else(titled).unwrap_or_default(),
        cwd: cwd.or_else(|| recorder.working_directory().map(str::to_owned)),
        exit_code: call.exit.or_else(|| code(&output)).or_else(|| code(&more)),
        output: call.text(recorder),
        truncated: call.is_cut(recorder) || output.is_true("truncated") || more.is_true("truncated"),
        background: false,
    }
}

fn tool(call: &ToolCall, recorder: &RunRecorder) -> Tool {
    let output = call.text(recorder);
    let result = call.output.clone().filter(|raw| output.is_empty() && !raw.get().starts_with('"'));
    Tool { output, result }
}

/// Returns the changes of a call: from its content, otherwise from its input, otherwise only the file names.
pub fn of(call: &ToolCall, places: &[Location], input: &JsonObject<'_>, recorder: &RunRecorder) -> Vec<Change> {
    if !call.changes.is_empty() {
        return call.changes.clone();
    }
    let named = |kind: ChangeKind| {
        let change = |place: &Location| Change { path: place.path.clone(), kind, ..Change::default() };
        places.iter().map(change).collect()
    };
    match call.kind.unwrap_or_default() {
        CallKind::Edit => given(input, recorder).map_or_else(|| named(ChangeKind::Modify), |change| vec![change]),
        CallKind::Delete => named(ChangeKind::Delete),
        CallKind::Move => moved(input, recorder).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn first(input: &JsonObject<'_>, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| input.get_string(key))
}

/// Returns the change described by an edit's input: a whole file, a replaced text, or a diff. The position of a
/// replaced text is unknown, so line numbers count within it.
fn given(input: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Change> {
    let path = first(input, &["file_path", "filePath", "filepath", "path", "absolute_path", "abs_path"])?;
    let path = recorder.absolute_path(&path);
    if let Some(patch) = input.get_non_empty("diff") {
        return Some(Change { path, diff: hunks_of(&patch).to_owned(), ..Change::default() });
    }
    let old = first(input, &["old_string", "oldString", "old_str"]);
    let new = first(input, &["new_string", "newString", "new_str"]);
    if old.is_some() || new.is_some() {
        let diff = diff::fragment_hunks(&old.unwrap_or_default(), &new.unwrap_or_default());
        return Some(Change { path, diff, ..Change::default() });
    }
    let content = first(input, &["content", "contents"])?;
    Some(diff::change_from_sides(path, None, Some(content)))
}

fn moved(input: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Change> {
    let from = first(input, &["source", "from", "old_path", "oldPath"])?;
    let to = first(input, &["destination", "to", "new_path", "newPath"])?;
    let (path, to) = (recorder.absolute_path(&from), Some(recorder.absolute_path(&to)));
    Some(Change { path, kind: ChangeKind::Move, to, ..Change::default() })
}

/// Returns the diffs in the content of a call, with whole files before and after.
pub fn diffs(content: JsonView<'_>, recorder: &RunRecorder) -> Vec<Change> {
    let change = |block: JsonView<'_>| {
        let block = block.as_object();
        let path = recorder.absolute_path(&block.get_str("path").filter(|_| block.str_equals("type", "diff"))?);
        // A new file has no old text, or an empty one.
        let before = block.get_non_empty("oldText");
        let mut change = diff::change_from_sides(path, before, Some(block.get_string("newText").unwrap_or_default()));
        match block.get_object("_meta").get_str("kind").as_deref() {
            Some("add") => change.kind = ChangeKind::Add,
            Some("modify") => {
                change.kind = ChangeKind::Modify;
                change.before.get_or_insert_default();
            }
            Some("delete") => (change.kind, change.after) = (ChangeKind::Delete, None),
            _ => {}
        }
        Some(change)
    };
    content.as_array().into_iter().filter_map(change).collect()
}

/// Returns the fuller of two descriptions of the same change: some agents show the whole file when they ask, and only
/// the replaced text at the end.
pub fn better(known: &[Change], new: Change) -> Change {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let shows_more = |old: &&Change| {
        let (before, after) = (text(&old.before), text(&old.after));
        let (part_before, part_after) = (text(&new.before), text(&new.after));
        old.path == new.path
            && before.contains(&part_before)
            && after.contains(&part_after)
            && before.len() + after.len() > part_before.len() + part_after.len()
    };
    known.iter().find(shows_more).cloned().unwrap_or(new)
}

/// Applies the agent's own diff of a single change, if the result contains one.
pub fn own_diff(change: &mut Change, result: &JsonObject<'_>) {
    let more = result.get_object("metadata");
    let patch = more
        .get_object("filediff")
        .get_non_empty("patch")
        .or_else(|| more.get_non_empty("diff"))
        .or_else(|| result.get_non_empty("diff"));
    let Some(patch) = patch else { return };
    let hunks = hunks_of(&patch);
    if hunks.is_empty() {
        return;
    }
    // The old and new text may be only parts of the file. The diff shows this.
    let part = |sign: char, text: &Option<String>| {
        let line = hunks.lines().find_map(|line| line.strip_prefix(sign));
        line.is_some_and(|line| text.as_deref().is_some_and(|text| !text.lines().any(|l| l == line)))
    };
    if part('-', &change.before) || part('+', &change.after) {
        (change.before, change.after) = (None, None);
    }
    hunks.clone_into(&mut change.diff);
}

/// Returns a patch without its file names.
fn hunks_of(patch: &str) -> &str {
    let start = if patch.starts_with("@@") { Some(0) } else { patch.find("\n@@").map(|at| at + 1) };
    start.and_then(|start| patch.get(start..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {

    use switchboard_event::Change;

    use super::{better, hunks_of, own_diff};
    use crate::{JsonView, diff};

    fn change(before: &str, after: &str) -> Change {
        diff::change_from_sides("f", Some(before.to_owned()), Some(after.to_owned()))
    }

    #[test]
    fn a_part_of_a_file_does_not_replace_the_file() {
        let whole = change("new text\n", "newer text\n");
        assert_eq!(better(std::slice::from_ref(&whole), change("new", "newer")), whole);
        assert_eq!(better(std::slice::from_ref(&whole), change("other", "text")), change("other", "text"));
    }

    #[test]
    fn the_agents_own_diff_shows_that_only_a_part_was_given() {
        let result =
            JsonView::parse(r#"{"metadata":{"diff":"--- f\n+++ f\n@@ -1,1 +1,1 @@\n-new text\n+newer text\n"}}"#)
                .unwrap();
        let mut part = change("new", "newer");
        own_diff(&mut part, &result.as_object());
        assert_eq!((part.diff.as_str(), part.before), ("@@ -1,1 +1,1 @@\n-new text\n+newer text\n", None));
    }

    #[test]
    fn a_patch_begins_at_its_first_hunk() {
        assert_eq!(hunks_of("Index: f\n====\n--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n"), "@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!(hunks_of("no hunk"), "");
    }
}
