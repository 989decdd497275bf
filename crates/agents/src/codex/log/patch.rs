//! The text that `apply_patch` takes, as changes of files. What became of them is told later, if at all.

use switchboard_event::{Change, ChangeKind};

use crate::{Scribe, diff};

/// The changes that a patch asks for.
pub fn changes(patch: &str, scribe: &Scribe) -> Vec<Change> {
    let mut found = Vec::new();
    let mut lines = patch.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((kind, path)) = file(line) else { continue };
        let mut body = Vec::new();
        while let Some(line) = lines.next_if(|line| file(line).is_none() && !line.starts_with("*** End Patch")) {
            body.push(line);
        }
        found.push(change(kind, scribe.absolute(path), &body, scribe));
    }
    found
}

fn file(line: &str) -> Option<(ChangeKind, &str)> {
    let path = |beginning| line.strip_prefix(beginning).map(str::trim);
    path("*** Add File: ")
        .map(|path| (ChangeKind::Add, path))
        .or_else(|| path("*** Delete File: ").map(|path| (ChangeKind::Delete, path)))
        .or_else(|| path("*** Update File: ").map(|path| (ChangeKind::Modify, path)))
}

fn change(kind: ChangeKind, path: String, body: &[&str], scribe: &Scribe) -> Change {
    match kind {
        ChangeKind::Add => {
            let lines = body.iter().filter_map(|line| line.strip_prefix('+'));
            diff::change(path, None, Some(lines.flat_map(|line| [line, "\n"]).collect()))
        }
        ChangeKind::Modify | ChangeKind::Move => {
            let to = body.iter().find_map(|line| line.strip_prefix("*** Move to: "));
            let to = to.map(|to| scribe.absolute(to.trim()));
            let kind = if to.is_some() { ChangeKind::Move } else { ChangeKind::Modify };
            let diff = body.iter().filter(|line| !line.starts_with("*** ")).flat_map(|line| [*line, "\n"]).collect();
            Change { path, kind, to, diff, ..Change::default() }
        }
        ChangeKind::Delete => Change { path, kind, ..Change::default() },
    }
}
