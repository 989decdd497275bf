//! File changes, from the input of a tool and from its result.

use switchboard_event::{Change, ChangeKind};

use super::calls::CallState;
use crate::{JsonObject, JsonView, RunRecorder, diff};

/// Returns the changes of a tool that edits files. `shown` is the diff that was shown to the user beforehand.
pub fn changes_of_tool(state: &CallState<'_>, shown: Option<&str>, recorder: &RunRecorder) -> Vec<Change> {
    let listed = parse_file_list(&state.meta, recorder);
    if !listed.is_empty() {
        return listed;
    }
    let input = state.input.map(JsonView::as_object).unwrap_or_default();
    match &*state.tool {
        "write" => written_file_change(&input, &state.meta, shown, recorder).into_iter().collect(),
        "edit" | "multiedit" => edited_file_change(&input, &state.meta, shown, recorder).into_iter().collect(),
        _ => parse_patch(&input.get_str("patchText").unwrap_or_default(), recorder),
    }
}

/// Returns the changes that a permission request is about.
pub fn changes_of_request(meta: &JsonObject<'_>, recorder: &RunRecorder) -> Vec<Change> {
    let listed = parse_file_list(meta, recorder);
    if !listed.is_empty() {
        return listed;
    }
    let Some(path) = meta.get_non_empty("filepath") else { return Vec::new() };
    let diff = hunks(&meta.get_str("diff").unwrap_or_default()).to_owned();
    vec![Change { path: recorder.absolute_path(&path), kind: kind_of(&diff), diff, ..Change::default() }]
}

/// Parses `files`, the list of changed files. Newer sessions use other field names.
fn parse_file_list(meta: &JsonObject<'_>, recorder: &RunRecorder) -> Vec<Change> {
    let files = meta.get_array("files").into_iter().map(JsonView::as_object);
    files.filter_map(|file| parse_listed_file(&file, recorder)).collect()
}

fn parse_listed_file(file: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Change> {
    let path = file.get_str("filePath").or_else(|| file.get_str("file"))?;
    Some(Change {
        path: recorder.absolute_path(&path),
        kind: match file.get_str("type").or_else(|| file.get_str("status")).as_deref() {
            Some("add" | "added") => ChangeKind::Add,
            Some("delete" | "deleted") => ChangeKind::Delete,
            Some("move") => ChangeKind::Move,
            _ => ChangeKind::Modify,
        },
        to: file.get_str("movePath").map(|to| recorder.absolute_path(&to)),
        diff: hunks(&file.get_str("patch").unwrap_or_default()).to_owned(),
        ..Change::default()
    })
}

fn path(input: &JsonObject<'_>, recorder: &RunRecorder) -> Option<String> {
    let path = input.get_str("filePath").or_else(|| input.get_str("path"))?;
    Some(recorder.absolute_path(&path))
}

/// Only the result says whether the file existed before; its former content is never reported.
fn written_file_change(
    input: &JsonObject<'_>,
    meta: &JsonObject<'_>,
    shown: Option<&str>,
    recorder: &RunRecorder,
) -> Option<Change> {
    let path = path(input, recorder)?;
    let after = input.get_string("content").unwrap_or_default();
    let existed = meta.get("exists").or_else(|| meta.get("existed")).and_then(JsonView::as_bool);
    if existed == Some(false) {
        return Some(diff::change_from_sides(path, None, Some(after)));
    }
    let diff = hunks(shown.unwrap_or_default()).to_owned();
    Some(Change { path, kind: kind_of(&diff), diff, after: Some(after), ..Change::default() })
}

/// Until the tool reports the diff of the file, only the replaced fragments are known.
fn edited_file_change(
    input: &JsonObject<'_>,
    meta: &JsonObject<'_>,
    shown: Option<&str>,
    recorder: &RunRecorder,
) -> Option<Change> {
    let path = path(input, recorder)?;
    let done = meta.get_string("diff").or_else(|| meta.get_object("filediff").get_string("patch"));
    let diff = match done.as_deref().or(shown) {
        Some(diff) => hunks(diff).to_owned(),
        None => fragments(input),
    };
    Some(Change { path, kind: kind_of(&diff), diff, ..Change::default() })
}

fn fragments(input: &JsonObject<'_>) -> String {
    let fragment = |edit: &JsonObject<'_>| {
        diff::fragment_hunks(
            &edit.get_str("oldString").unwrap_or_default(),
            &edit.get_str("newString").unwrap_or_default(),
        )
    };
    if input.contains_key("edits") {
        return input.get_array("edits").into_iter().map(|edit| fragment(&edit.as_object())).collect();
    }
    fragment(input)
}

/// Returns the files of a patch in the `*** Begin Patch` format, with its lines unchanged.
fn parse_patch(patch: &str, recorder: &RunRecorder) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for line in patch.lines() {
        if let Some(change) = parse_patch_heading(line, recorder) {
            changes.push(change);
        } else if let Some(change) = changes.last_mut().filter(|_| !line.starts_with("*** E")) {
            match line.strip_prefix("*** Move to: ") {
                Some(to) => (change.kind, change.to) = (ChangeKind::Move, Some(recorder.absolute_path(to))),
                None => {
                    change.diff.push_str(line);
                    change.diff.push('\n');
                }
            }
        }
    }
    changes
}

fn parse_patch_heading(line: &str, recorder: &RunRecorder) -> Option<Change> {
    let kinds = [
        ("*** Add File: ", ChangeKind::Add),
        ("*** Update File: ", ChangeKind::Modify),
        ("*** Delete File: ", ChangeKind::Delete),
    ];
    let (path, kind) = kinds.into_iter().find_map(|(head, kind)| Some((line.strip_prefix(head)?, kind)))?;
    Some(Change { path: recorder.absolute_path(path), kind, ..Change::default() })
}

/// Returns a diff without its header of file names.
fn hunks(diff: &str) -> &str {
    if diff.starts_with("@@") {
        return diff;
    }
    diff.find("\n@@").and_then(|at| diff.get(at + 1..)).unwrap_or_default()
}

/// Treats a file that had no lines before as new.
fn kind_of(diff: &str) -> ChangeKind {
    if diff.starts_with("@@ -0,0 ") { ChangeKind::Add } else { ChangeKind::Modify }
}

#[cfg(test)]
mod tests {

    use switchboard_event::ChangeKind;

    use super::{hunks, kind_of, parse_patch};
    use crate::{RunRecorder, SessionContext};

    #[test]
    fn a_diff_loses_its_header() {
        let diff = "Index: /a\n=====\n--- /a\n+++ /a\n@@ -0,0 +1 @@\n+x\n";
        assert_eq!(hunks(diff), "@@ -0,0 +1 @@\n+x\n");
        assert_eq!(hunks("@@ -1 +1 @@\n"), "@@ -1 +1 @@\n");
        assert_eq!(hunks(""), "");
        assert_eq!(kind_of(hunks(diff)), ChangeKind::Add);
        assert_eq!(kind_of("@@ -1 +1 @@\n-a\n+b\n"), ChangeKind::Modify);
        assert_eq!(kind_of(""), ChangeKind::Modify);
    }

    #[test]
    fn a_patch_is_taken_apart() {
        let recorder = RunRecorder::new("opencode", 1, 1, 0, SessionContext::default());
        let patch = "*** Begin Patch\n*** Add File: /n\n+x\n*** Update File: /a\n*** Move to: /b\n@@\n-o\n+p\n*** Delete File: /d\n*** End Patch";
        let changes = parse_patch(patch, &recorder);
        let short: Vec<_> =
            changes.iter().map(|c| (c.path.as_str(), c.kind, c.diff.as_str(), c.to.as_deref())).collect();
        assert_eq!(
            short,
            [
                ("/n", ChangeKind::Add, "+x\n", None),
                ("/a", ChangeKind::Move, "@@\n-o\n+p\n", Some("/b")),
                ("/d", ChangeKind::Delete, "", None),
            ]
        );
    }
}
