//! Changes of files: from what a tool was given, and from what it says it did.

use switchboard_event::{Change, ChangeKind};

use super::state::State;
use crate::{Json, Object, Scribe, diff};

/// The changes of a tool that changes files. `shown` is the change as it was shown to the user beforehand.
pub fn of_tool(state: &State<'_>, shown: Option<&str>, scribe: &Scribe) -> Vec<Change> {
    let listed = listed(&state.meta, scribe);
    if !listed.is_empty() {
        return listed;
    }
    let input = state.input.map(Json::object).unwrap_or_default();
    match &*state.tool {
        "write" => written(&input, &state.meta, shown, scribe).into_iter().collect(),
        "edit" | "multiedit" => edited(&input, &state.meta, shown, scribe).into_iter().collect(),
        _ => patched(&input.str("patchText").unwrap_or_default(), scribe),
    }
}

/// The changes that permission is asked for.
pub fn asked(meta: &Object<'_>, scribe: &Scribe) -> Vec<Change> {
    let listed = listed(meta, scribe);
    if !listed.is_empty() {
        return listed;
    }
    let Some(path) = meta.filled("filepath") else { return Vec::new() };
    let diff = hunks(&meta.str("diff").unwrap_or_default()).to_owned();
    vec![Change { path: scribe.absolute(&path), kind: kind_of(&diff), diff, ..Change::default() }]
}

/// `files`: a list of what was changed. Newer sessions name its fields differently.
fn listed(meta: &Object<'_>, scribe: &Scribe) -> Vec<Change> {
    let files = meta.array("files").into_iter().map(Json::object);
    files.filter_map(|file| listed_file(&file, scribe)).collect()
}

fn listed_file(file: &Object<'_>, scribe: &Scribe) -> Option<Change> {
    let path = file.str("filePath").or_else(|| file.str("file"))?;
    Some(Change {
        path: scribe.absolute(&path),
        kind: match file.str("type").or_else(|| file.str("status")).as_deref() {
            Some("add" | "added") => ChangeKind::Add,
            Some("delete" | "deleted") => ChangeKind::Delete,
            Some("move") => ChangeKind::Move,
            _ => ChangeKind::Modify,
        },
        to: file.str("movePath").map(|to| scribe.absolute(&to)),
        diff: hunks(&file.str("patch").unwrap_or_default()).to_owned(),
        ..Change::default()
    })
}

fn path(input: &Object<'_>, scribe: &Scribe) -> Option<String> {
    let path = input.str("filePath").or_else(|| input.str("path"))?;
    Some(scribe.absolute(&path))
}

/// Whether the file was there before is only said in the end; what it held is never said.
fn written(input: &Object<'_>, meta: &Object<'_>, shown: Option<&str>, scribe: &Scribe) -> Option<Change> {
    let path = path(input, scribe)?;
    let after = input.string("content").unwrap_or_default();
    let existed = meta.get("exists").or_else(|| meta.get("existed")).and_then(Json::bool);
    if existed == Some(false) {
        return Some(diff::change(path, None, Some(after)));
    }
    let diff = hunks(shown.unwrap_or_default()).to_owned();
    Some(Change { path, kind: kind_of(&diff), diff, after: Some(after), ..Change::default() })
}

/// Until the tool shows the change in its file, only the fragments are known.
fn edited(input: &Object<'_>, meta: &Object<'_>, shown: Option<&str>, scribe: &Scribe) -> Option<Change> {
    let path = path(input, scribe)?;
    let done = meta.string("diff").or_else(|| meta.object("filediff").string("patch"));
    let diff = match done.as_deref().or(shown) {
        Some(diff) => hunks(diff).to_owned(),
        None => fragments(input),
    };
    Some(Change { path, kind: kind_of(&diff), diff, ..Change::default() })
}

fn fragments(input: &Object<'_>) -> String {
    let fragment = |edit: &Object<'_>| {
        diff::fragment(&edit.str("oldString").unwrap_or_default(), &edit.str("newString").unwrap_or_default())
    };
    if input.has("edits") {
        return input.array("edits").into_iter().map(|edit| fragment(&edit.object())).collect();
    }
    fragment(input)
}

/// The files in a patch of the form `*** Begin Patch`, with its lines as they are.
fn patched(patch: &str, scribe: &Scribe) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for line in patch.lines() {
        if let Some(change) = heading(line, scribe) {
            changes.push(change);
        } else if let Some(change) = changes.last_mut().filter(|_| !line.starts_with("*** E")) {
            match line.strip_prefix("*** Move to: ") {
                Some(to) => (change.kind, change.to) = (ChangeKind::Move, Some(scribe.absolute(to))),
                None => {
                    change.diff.push_str(line);
                    change.diff.push('\n');
                }
            }
        }
    }
    changes
}

fn heading(line: &str, scribe: &Scribe) -> Option<Change> {
    let kinds = [
        ("*** Add File: ", ChangeKind::Add),
        ("*** Update File: ", ChangeKind::Modify),
        ("*** Delete File: ", ChangeKind::Delete),
    ];
    let (path, kind) = kinds.into_iter().find_map(|(head, kind)| Some((line.strip_prefix(head)?, kind)))?;
    Some(Change { path: scribe.absolute(path), kind, ..Change::default() })
}

/// A diff without its header of file names.
fn hunks(diff: &str) -> &str {
    if diff.starts_with("@@") {
        return diff;
    }
    diff.find("\n@@").and_then(|at| diff.get(at + 1..)).unwrap_or_default()
}

/// A file that had no lines before is taken for new.
fn kind_of(diff: &str) -> ChangeKind {
    if diff.starts_with("@@ -0,0 ") { ChangeKind::Add } else { ChangeKind::Modify }
}

#[cfg(test)]
mod tests {
    use switchboard_event::ChangeKind;

    use super::{hunks, kind_of, patched};
    use crate::{Scribe, Start};

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
        let scribe = Scribe::new("opencode", 1, 1, 0, Start::default());
        let patch = "*** Begin Patch\n*** Add File: /n\n+x\n*** Update File: /a\n*** Move to: /b\n@@\n-o\n+p\n*** Delete File: /d\n*** End Patch";
        let changes = patched(patch, &scribe);
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
