//! Parses the input of `apply_patch` into file changes. The outcome is reported later, if at all.

use switchboard_event::{Change, ChangeKind};

use crate::{RunRecorder, diff};

pub fn parse_patch(patch: &str, recorder: &RunRecorder) -> Vec<Change> {
    let mut found = Vec::new();
    let mut lines = patch.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((kind, path)) = parse_file_header(line) else { continue };
        let mut body = Vec::new();
        while let Some(line) =
            lines.next_if(|line| parse_file_header(line).is_none() && !line.starts_with("*** End Patch"))
        {
            body.push(line);
        }
        found.push(build_change(kind, recorder.absolute_path(path), &body, recorder));
    }
    found
}

fn parse_file_header(line: &str) -> Option<(ChangeKind, &str)> {
    let path = |beginning| line.strip_prefix(beginning).map(str::trim);
    path("*** Add File: ")
        .map(|path| (ChangeKind::Add, path))
        .or_else(|| path("*** Delete File: ").map(|path| (ChangeKind::Delete, path)))
        .or_else(|| path("*** Update File: ").map(|path| (ChangeKind::Modify, path)))
}

fn build_change(kind: ChangeKind, path: String, body: &[&str], recorder: &RunRecorder) -> Change {
    match kind {
        ChangeKind::Add => {
            let lines = body.iter().filter_map(|line| line.strip_prefix('+'));
            diff::change_from_sides(path, None, Some(lines.flat_map(|line| [line, "\n"]).collect()))
        }
        ChangeKind::Modify | ChangeKind::Move => {
            let to = body.iter().find_map(|line| line.strip_prefix("*** Move to: "));
            let to = to.map(|to| recorder.absolute_path(to.trim()));
            let kind = if to.is_some() { ChangeKind::Move } else { ChangeKind::Modify };
            let diff = body.iter().filter(|line| !line.starts_with("*** ")).flat_map(|line| [*line, "\n"]).collect();
            Change { path, kind, to, diff, ..Change::default() }
        }
        ChangeKind::Delete => Change { path, kind, ..Change::default() },
    }
}
