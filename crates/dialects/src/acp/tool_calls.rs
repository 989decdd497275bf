//! Items as ACP tool calls: title, kind, locations and content. File changes are diffs with old and new text; if the
//! agent does not report the full file, each hunk of its diff becomes a separate change.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_event::{CallKind, Change, ChangeKind, Details, Event, Field, Id, Item};

use super::project::AcpClientCapabilities;
use super::wire::{
    Content, Diff, Location, Meta, SwitchboardMeta, TerminalExit, TerminalInfo, TerminalOutput, ToolCall, ToolContent,
    ToolFields, ToolKind, ToolStatus, ToolUpdate, Update, text_content,
};
use crate::tools;
use crate::track::TrackedItem;

/// Returns whether the item is shown as a tool call. A to-do list is shown as the plan instead.
pub fn is_tool_call(item: &Item) -> bool {
    match &item.details {
        Details::Plan(plan) => item.call.is_some() && plan.entries.is_empty(),
        _ => tools::is_work(item),
    }
}

/// Returns a one-line title. For a command this is the command itself, so that users approve what actually runs and not
/// a description of it.
pub fn tool_title(item: &Item) -> Cow<'_, str> {
    let said = item.call.as_ref().and_then(|call| call.title.as_deref()).filter(|title| !title.is_empty());
    match &item.details {
        Details::Command(command) if !command.command.is_empty() => Cow::Borrowed(&command.command),
        _ if said.is_some() => Cow::Borrowed(said.unwrap_or_default()),
        Details::FileChange(change) if !change.changes.is_empty() => Cow::Owned(changes_title(&change.changes)),
        Details::Mcp(mcp) if !mcp.server.is_empty() => {
            Cow::Owned(format!("{}: {}", mcp.server, tools::tool_name(item)))
        }
        Details::WebSearch(search) if !search.queries.is_empty() => Cow::Owned(search.queries.join(", ")),
        Details::Subagent(agent) if !agent.label.is_empty() => Cow::Borrowed(&agent.label),
        Details::Subagent(agent) if !agent.name.is_empty() => Cow::Borrowed(&agent.name),
        _ => Cow::Borrowed(tools::tool_name(item)),
    }
}

/// Summarizes file changes in one line.
pub fn changes_title(changes: &[Change]) -> String {
    let Some(first) = changes.first() else { return String::new() };
    let verb = match first.kind {
        ChangeKind::Add => "Write",
        ChangeKind::Modify => "Edit",
        ChangeKind::Delete => "Delete",
        ChangeKind::Move => "Move",
    };
    match changes.len() {
        1 => format!("{verb} {}", first.path),
        many => format!("{verb} {} and {} more", first.path, many - 1),
    }
}

/// Returns the tool kind of an item.
pub fn tool_kind(item: &Item) -> ToolKind {
    match item.call.as_ref().map(|call| call.kind) {
        Some(kind) if kind != CallKind::Other => to_tool_kind(kind),
        _ => match &item.details {
            Details::Command(_) => ToolKind::Execute,
            Details::FileChange(change) => change.changes.first().map_or(ToolKind::Edit, change_tool_kind),
            Details::WebSearch(_) => ToolKind::Search,
            Details::Subagent(_) | Details::Plan(_) => ToolKind::Think,
            _ => ToolKind::Other,
        },
    }
}

fn change_tool_kind(change: &Change) -> ToolKind {
    match change.kind {
        ChangeKind::Add | ChangeKind::Modify => ToolKind::Edit,
        ChangeKind::Delete => ToolKind::Delete,
        ChangeKind::Move => ToolKind::Move,
    }
}

/// Maps the kind of a call to the protocol's tool kind.
pub fn to_tool_kind(kind: CallKind) -> ToolKind {
    match kind {
        CallKind::Read => ToolKind::Read,
        CallKind::Edit => ToolKind::Edit,
        CallKind::Delete => ToolKind::Delete,
        CallKind::Move => ToolKind::Move,
        CallKind::Search => ToolKind::Search,
        CallKind::Execute => ToolKind::Execute,
        CallKind::Think => ToolKind::Think,
        CallKind::Fetch => ToolKind::Fetch,
        CallKind::Mode => ToolKind::SwitchMode,
        CallKind::Other => ToolKind::Other,
    }
}

/// Returns the file locations of a tool call.
fn tool_locations(item: &Item) -> Option<Vec<Location<'_>>> {
    let said = item.call.iter().flat_map(|call| call.locations.iter());
    let mut places: Vec<_> = said
        .map(|place| Location { path: &place.path, line: place.line.and_then(|line| u32::try_from(line).ok()) })
        .collect();
    if let (true, Details::FileChange(change)) = (places.is_empty(), &item.details) {
        places = change_locations(&change.changes);
    }
    places.retain(|place| !place.path.is_empty());
    (!places.is_empty()).then_some(places)
}

/// Returns the locations of changed files.
pub fn change_locations(changes: &[Change]) -> Vec<Location<'_>> {
    let paths = changes.iter().flat_map(|change| [Some(&change.path), change.to.as_ref()]);
    paths.flatten().map(|path| Location { path, line: None }).collect()
}

/// Returns the fields of a tool call that starts.
fn started_fields(item: &Item) -> ToolFields<'_> {
    ToolFields {
        name: Some(tools::tool_name(item)),
        kind: Some(tool_kind(item)),
        status: Some(ToolStatus::InProgress),
        content: non_empty(planned_content(item)),
        locations: tool_locations(item),
        raw_input: Some(tools::tool_arguments(item)),
        ..ToolFields::default()
    }
}

/// Returns the fields of a tool call that has ended.
fn ended_fields(item: &Item) -> ToolFields<'_> {
    let status = if tools::has_succeeded(item) { ToolStatus::Completed } else { ToolStatus::Failed };
    ToolFields {
        status: Some(status),
        content: non_empty(tool_result(item)),
        locations: tool_locations(item),
        raw_output: tools::tool_result(item).filter(|output| output.get() != "\"\""),
        ..ToolFields::default()
    }
}

fn non_empty(content: Vec<ToolContent<'_>>) -> Option<Vec<ToolContent<'_>>> {
    (!content.is_empty()).then_some(content)
}

/// Returns the content known before the tool runs: file changes or the proposed plan.
pub fn planned_content(item: &Item) -> Vec<ToolContent<'_>> {
    match &item.details {
        Details::FileChange(change) => change_content(&change.changes),
        Details::Plan(plan) => {
            plan.text.iter().filter(|plan| !plan.is_empty()).map(|plan| text_block(&**plan)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns file changes as diff content.
pub fn change_content(changes: &[Change]) -> Vec<ToolContent<'_>> {
    changes.iter().flat_map(change_diffs).map(ToolContent::Diff).collect()
}

/// Wraps text as tool content.
pub fn text_block<'a>(said: impl Into<Cow<'a, str>>) -> ToolContent<'a> {
    ToolContent::Content { content: text_content(said) }
}

/// Returns the content of an ended tool call: changes, output, or the error.
fn tool_result(item: &Item) -> Vec<ToolContent<'_>> {
    let mut content = if tools::has_run(item) { planned_content(item) } else { Vec::new() };
    let said = match &item.details {
        // The changes or the plan are sufficient.
        Details::FileChange(_) | Details::Plan(_) if tools::has_succeeded(item) && !content.is_empty() => {
            Cow::Borrowed("")
        }
        _ => tools::output_or_error(item),
    };
    if !said.is_empty() {
        let verbatim = matches!(tool_kind(item), ToolKind::Execute | ToolKind::Read);
        content.push(text_block(if verbatim { Cow::Owned(fence_text(&said, "")) } else { said }));
    }
    let pieces = item.call.iter().flat_map(|call| &call.content);
    content.extend(pieces.filter_map(Content::from_piece).map(|content| ToolContent::Content { content }));
    content
}

/// Wraps text in a Markdown code fence that is longer than any fence in the text.
pub fn fence_text(said: &str, language: &str) -> String {
    let ticks = said.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(ticks.max(2) + 1);
    let end = if said.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{said}{end}{fence}")
}

/// Returns the diffs of one changed file; empty if only its name is known.
fn change_diffs(change: &Change) -> Vec<Diff<'_>> {
    let path = change.to.as_deref().unwrap_or(&change.path);
    if path.is_empty() {
        return Vec::new();
    }
    let known = match (change.before.as_deref(), change.after.as_deref()) {
        (Some(before), Some(after)) => Some((Some(before), after)),
        (None, Some(after)) if change.kind == ChangeKind::Add => Some((None, after)),
        (Some(before), None) if change.kind == ChangeKind::Delete => Some((Some(before), "")),
        _ => None,
    };
    match known {
        Some((before, after)) => vec![Diff { path, old_text: before.map(Cow::Borrowed), new_text: after.into() }],
        None => parse_hunks(&change.diff).into_iter().map(|hunk| hunk.into_diff(path, change.kind)).collect(),
    }
}

/// The old and new text of a hunk.
#[derive(Default)]
struct DiffHunk {
    old: String,
    new: String,
    /// The sides (old, new) that contain the last line.
    last: (bool, bool),
}

impl DiffHunk {
    fn into_diff(self, path: &str, kind: ChangeKind) -> Diff<'_> {
        let old_text = (kind != ChangeKind::Add).then_some(Cow::Owned(self.old));
        Diff { path, old_text, new_text: Cow::Owned(self.new) }
    }

    fn push_line(&mut self, line: &str) -> bool {
        let Some((sign, text)) = line.split_at_checked(1) else {
            // Some agents strip the space from an empty context line.
            self.add_line(true, true, "");
            return true;
        };
        match sign {
            " " => self.add_line(true, true, text),
            "-" => self.add_line(true, false, text),
            "+" => self.add_line(false, true, text),
            "\\" => self.strip_newline(),
            _ => return false,
        }
        true
    }

    fn add_line(&mut self, old: bool, new: bool, line: &str) {
        self.last = (old, new);
        for (side, wanted) in [(&mut self.old, old), (&mut self.new, new)] {
            if wanted {
                side.push_str(line);
                side.push('\n');
            }
        }
    }

    /// Handles `\ No newline at end of file`, which refers to the previous line.
    fn strip_newline(&mut self) {
        for (side, wanted) in [(&mut self.old, self.last.0), (&mut self.new, self.last.1)] {
            if wanted && side.ends_with('\n') {
                side.pop();
            }
        }
    }
}

/// Parses the hunks of a unified diff. Lines before the first hunk, mostly file names, are skipped.
fn parse_hunks(diff: &str) -> Vec<DiffHunk> {
    let mut hunks: Vec<DiffHunk> = Vec::new();
    let mut inside = false;
    for line in diff.split_terminator('\n') {
        if line.starts_with("@@") {
            hunks.push(DiffHunk::default());
            inside = true;
        } else if let (true, Some(hunk)) = (inside, hunks.last_mut()) {
            inside = hunk.push_line(line);
        }
    }
    hunks.retain(|hunk| hunk.old != hunk.new);
    hunks
}

/// Tool calls that have not ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OpenToolCalls {
    open: BTreeMap<Id, ToolCallStage>,
}

/// Progress of an open tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ToolCallStage {
    /// Announced by a request only.
    Asked,
    /// The call has started.
    Begun,
}

impl OpenToolCalls {
    /// Returns whether the client knows the tool call.
    pub fn contains(&self, id: &str) -> bool {
        self.open.contains_key(id)
    }

    /// Records a tool call that a request announced.
    pub fn insert_requested(&mut self, id: &Id) {
        self.open.insert(id.clone(), ToolCallStage::Asked);
    }

    /// Returns whether the call was announced by a request and has not started.
    pub fn is_only_requested(&self, id: &str) -> bool {
        self.open.get(id) == Some(&ToolCallStage::Asked)
    }

    /// Removes an ended call; returns whether it was open.
    pub fn close(&mut self, id: &str) -> bool {
        self.open.remove(id).is_some()
    }

    /// Removes and returns the calls that never started.
    pub fn take_unstarted(&mut self) -> Vec<Id> {
        let asked: Vec<Id> =
            self.open.iter().filter(|(_, stage)| **stage == ToolCallStage::Asked).map(|(id, _)| id.clone()).collect();
        asked.iter().for_each(|id| {
            self.open.remove(id);
        });
        asked
    }

    /// Records the start of a tool call and builds its update.
    pub fn start_call<'a>(
        &mut self,
        event: &'a Event,
        id: &'a Id,
        item: &'a Item,
        client: AcpClientCapabilities,
    ) -> Update<'a> {
        let mut fields = started_fields(item);
        fields.meta = subagent_meta(event);
        if let Details::Command(command) = &item.details {
            if client.streams_output() {
                fields.meta.terminal_info = Some(TerminalInfo { terminal_id: id, cwd: command.cwd.as_deref() });
            }
            if client.terminals {
                fields.content = Some(vec![ToolContent::Terminal { terminal_id: id }]);
            }
        }
        let title = tool_title(item);
        match self.open.insert(id.clone(), ToolCallStage::Begun) {
            None => Update::ToolCall(ToolCall { tool_call_id: id, title, fields }),
            Some(_) => Update::ToolChanged(ToolUpdate { tool_call_id: id, title: Some(title), fields }),
        }
    }
}

/// Returns the metadata that attributes a subagent's tool call; empty for the main agent.
pub fn subagent_meta(event: &Event) -> Meta<'_> {
    let (thread, parent_tool_call_id) = (event.thread.as_deref(), event.parent.as_deref());
    if thread.is_none() && parent_tool_call_id.is_none() {
        return Meta::default();
    }
    Meta::with_switchboard(SwitchboardMeta { thread, parent_tool_call_id, ..SwitchboardMeta::default() })
}

/// Builds the update for additional command output.
pub fn output_update<'a>(id: &'a str, data: &'a str) -> Update<'a> {
    let terminal_output = Some(TerminalOutput { terminal_id: id, data });
    meta_update(id, Meta { terminal_output, ..Meta::default() })
}

/// Builds an update that only carries `_meta`.
pub fn meta_update<'a>(id: &'a str, meta: Meta<'a>) -> Update<'a> {
    let fields = ToolFields { meta, ..ToolFields::default() };
    Update::ToolChanged(ToolUpdate { tool_call_id: id, title: None, fields })
}

/// Builds an update that only changes the status.
pub fn status_update(id: &str, status: ToolStatus) -> Update<'_> {
    let fields = ToolFields { status: Some(status), ..ToolFields::default() };
    Update::ToolChanged(ToolUpdate { tool_call_id: id, title: None, fields })
}

/// Builds the update for an open call whose item was replaced; none if nothing visible changed.
pub fn change_update<'a>(id: &'a str, before: &Item, now: &'a Item) -> Option<Update<'a>> {
    let (old, mut new) = (started_fields(before), started_fields(now));
    let old_title = tool_title(before);
    let title = Some(tool_title(now)).filter(|title| *title != old_title);
    let same = |one: &ToolFields<'_>, other: &ToolFields<'_>, of: fn(&ToolFields<'_>) -> String| of(one) == of(other);
    new.status = None;
    if same(&old, &new, |fields| to_json(&fields.raw_input)) {
        new.raw_input = None;
    }
    if same(&old, &new, |fields| to_json(&fields.locations)) {
        new.locations = None;
    }
    if same(&old, &new, |fields| to_json(&fields.content)) {
        new.content = None;
    }
    new.kind = new.kind.filter(|kind| old.kind != Some(*kind));
    new.name = new.name.filter(|name| old.name != Some(name));
    let nothing = title.is_none() && to_json(&new) == "{}";
    (!nothing).then_some(Update::ToolChanged(ToolUpdate { tool_call_id: id, title, fields: new }))
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Builds the final update of a tool call.
pub fn end_update<'a>(
    event: &'a Event,
    id: &'a str,
    item: &'a Item,
    tracked: &TrackedItem,
    client: AcpClientCapabilities,
) -> Update<'a> {
    let mut fields = ended_fields(item);
    fields.meta = subagent_meta(event);
    if let Details::Command(command) = &item.details {
        if client.streams_output() {
            fields.meta.terminal_exit = Some(TerminalExit { terminal_id: id, exit_code: command.exit_code });
        }
        if client.terminals {
            let rest = match tracked.field {
                None | Some(Field::Output) => tracked.unsent_text(&command.output),
                Some(_) => &command.output,
            };
            fields.content = None;
            fields.meta.terminal_output = (!rest.is_empty()).then_some(TerminalOutput { terminal_id: id, data: rest });
        }
    }
    Update::ToolChanged(ToolUpdate { tool_call_id: id, title: None, fields })
}

#[cfg(test)]
mod tests {
    use switchboard_event::{Change, ChangeKind};

    use super::{change_diffs, fence_text};

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fence_text("a\n", ""), "```\na\n```");
        assert_eq!(fence_text("a", "rust"), "```rust\na\n```");
        assert_eq!(fence_text("```x```", ""), "````\n```x```\n````");
    }

    fn diff_sides(change: &Change) -> Vec<(Option<String>, String)> {
        change_diffs(change)
            .into_iter()
            .map(|diff| (diff.old_text.map(std::borrow::Cow::into_owned), diff.new_text.into_owned()))
            .collect()
    }

    fn sample_change(kind: ChangeKind, diff: &str) -> Change {
        Change { path: "/f".to_owned(), kind, diff: diff.to_owned(), ..Change::default() }
    }

    #[test]
    fn each_hunk_is_a_change_of_its_own() {
        let diff = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9 @@ fn x()\n-old\n+new\n\\ No newline at end of file\n";
        let want = [(Some("a\nb\n".to_owned()), "a\nc\n".to_owned()), (Some("old\n".to_owned()), "new".to_owned())];
        assert_eq!(diff_sides(&sample_change(ChangeKind::Modify, diff)), want);
    }

    #[test]
    fn a_new_file_has_no_side_before() {
        let new = sample_change(ChangeKind::Add, "@@ -0,0 +1,2 @@\n+x\n+y\n");
        assert_eq!(diff_sides(&new), [(None, "x\ny\n".to_owned())]);
        let gone = sample_change(ChangeKind::Delete, "@@ -1 +0,0 @@\n-x\n");
        assert_eq!(diff_sides(&gone), [(Some("x\n".to_owned()), String::new())]);
    }

    #[test]
    fn the_file_before_and_after_is_better_than_a_diff() {
        let known = Change {
            before: Some("a\n".to_owned()),
            after: Some("b\n".to_owned()),
            ..sample_change(ChangeKind::Modify, "@@ -1 +1 @@\n-a\n+b\n")
        };
        assert_eq!(diff_sides(&known), [(Some("a\n".to_owned()), "b\n".to_owned())]);
    }

    #[test]
    fn where_nothing_is_known_nothing_is_shown() {
        for diff in ["", "no diff at all", "@@ -1 +1 @@\n same\n"] {
            assert_eq!(diff_sides(&sample_change(ChangeKind::Modify, diff)), [], "{diff}");
        }
    }
}
