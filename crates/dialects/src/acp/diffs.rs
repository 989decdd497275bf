//! File changes as ACP diffs with old and new text. If the agent does not report the full file, each hunk of its diff
//! becomes a separate change.

use std::borrow::Cow;

use switchboard_event::{Change, ChangeKind};

use super::wire::Diff;

/// Returns the diffs of one changed file; empty if only its name is known.
pub fn change_diffs(change: &Change) -> Vec<Diff<'_>> {
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

#[cfg(test)]
mod tests {
    use switchboard_event::{Change, ChangeKind};

    use super::change_diffs;

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
