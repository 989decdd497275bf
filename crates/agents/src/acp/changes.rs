//! The files that a tool call changes. Agents show whole files, replaced texts or diffs, and not always the same twice.

use switchboard_event::{CallKind, Change, ChangeKind, Location};

use super::call::ToolCall;
use crate::{Json, Object, Scribe, diff};

/// The files that a call changes: as its content shows them, else as its input tells, else by their names alone.
pub fn of(call: &ToolCall, places: &[Location], input: &Object<'_>, scribe: &Scribe) -> Vec<Change> {
    if !call.changes.is_empty() {
        return call.changes.clone();
    }
    let named = |kind: ChangeKind| {
        let change = |place: &Location| Change { path: place.path.clone(), kind, ..Change::default() };
        places.iter().map(change).collect()
    };
    match call.kind.unwrap_or_default() {
        CallKind::Edit => given(input, scribe).map_or_else(|| named(ChangeKind::Modify), |change| vec![change]),
        CallKind::Delete => named(ChangeKind::Delete),
        CallKind::Move => moved(input, scribe).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn first(input: &Object<'_>, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| input.string(key))
}

/// What an edit is given: a whole file, a text to replace, or a diff. Only the diff of what is replaced is known, so
/// its line numbers count within it.
fn given(input: &Object<'_>, scribe: &Scribe) -> Option<Change> {
    let path = first(input, &["file_path", "filePath", "filepath", "path", "absolute_path", "abs_path"])?;
    let path = scribe.absolute(&path);
    if let Some(patch) = input.filled("diff") {
        return Some(Change { path, diff: hunks_of(&patch).to_owned(), ..Change::default() });
    }
    let old = first(input, &["old_string", "oldString", "old_str"]);
    let new = first(input, &["new_string", "newString", "new_str"]);
    if old.is_some() || new.is_some() {
        let diff = diff::fragment(&old.unwrap_or_default(), &new.unwrap_or_default());
        return Some(Change { path, diff, ..Change::default() });
    }
    let content = first(input, &["content", "contents"])?;
    Some(diff::change(path, None, Some(content)))
}

fn moved(input: &Object<'_>, scribe: &Scribe) -> Option<Change> {
    let from = first(input, &["source", "from", "old_path", "oldPath"])?;
    let to = first(input, &["destination", "to", "new_path", "newPath"])?;
    let (path, to) = (scribe.absolute(&from), Some(scribe.absolute(&to)));
    Some(Change { path, kind: ChangeKind::Move, to, ..Change::default() })
}

/// The diffs among the content of a call: before and after of whole files.
pub fn diffs(content: Json<'_>, scribe: &Scribe) -> Vec<Change> {
    let change = |block: Json<'_>| {
        let block = block.object();
        let path = scribe.absolute(&block.str("path").filter(|_| block.is("type", "diff"))?);
        // A file that is new has no text before it, or an empty one.
        let before = block.filled("oldText");
        let mut change = diff::change(path, before, Some(block.string("newText").unwrap_or_default()));
        match block.object("_meta").str("kind").as_deref() {
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
    content.array().into_iter().filter_map(change).collect()
}

/// What was known about the same file already and shows more: some agents show the whole file when they ask, and only
/// the replaced text when they are done.
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

/// The agent's own diff of its only change, where the result has one.
pub fn own_diff(change: &mut Change, result: &Object<'_>) {
    let more = result.object("metadata");
    let patch =
        more.object("filediff").filled("patch").or_else(|| more.filled("diff")).or_else(|| result.filled("diff"));
    let Some(patch) = patch else { return };
    let hunks = hunks_of(&patch);
    if hunks.is_empty() {
        return;
    }
    // Before and after may be parts of the file only; its diff shows it.
    let part = |sign: char, text: &Option<String>| {
        let line = hunks.lines().find_map(|line| line.strip_prefix(sign));
        line.is_some_and(|line| text.as_deref().is_some_and(|text| !text.lines().any(|l| l == line)))
    };
    if part('-', &change.before) || part('+', &change.after) {
        (change.before, change.after) = (None, None);
    }
    hunks.clone_into(&mut change.diff);
}

/// A patch without the names of its files.
fn hunks_of(patch: &str) -> &str {
    let start = if patch.starts_with("@@") { Some(0) } else { patch.find("\n@@").map(|at| at + 1) };
    start.and_then(|start| patch.get(start..)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use switchboard_event::Change;

    use super::{better, hunks_of, own_diff};
    use crate::{Json, diff};

    fn change(before: &str, after: &str) -> Change {
        diff::change("f", Some(before.to_owned()), Some(after.to_owned()))
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
            Json::parse(r#"{"metadata":{"diff":"--- f\n+++ f\n@@ -1,1 +1,1 @@\n-new text\n+newer text\n"}}"#).unwrap();
        let mut part = change("new", "newer");
        own_diff(&mut part, &result.object());
        assert_eq!((part.diff.as_str(), part.before), ("@@ -1,1 +1,1 @@\n-new text\n+newer text\n", None));
    }

    #[test]
    fn a_patch_begins_at_its_first_hunk() {
        assert_eq!(hunks_of("Index: f\n====\n--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n"), "@@ -1 +1 @@\n-a\n+b\n");
        assert_eq!(hunks_of("no hunk"), "");
    }
}
