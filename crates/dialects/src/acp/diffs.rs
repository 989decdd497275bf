//! Changes of files as the protocol has them: what was there and what is there now. Where an agent does not give the
//! file before and after, each hunk of its diff is shown as a change of its own.

use std::borrow::Cow;

use switchboard_event::{Change, ChangeKind};

use super::wire::Diff;

/// The changes of one file; none where nothing is known but its name.
pub fn diffs(change: &Change) -> Vec<Diff<'_>> {
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
        None => hunks(&change.diff).into_iter().map(|hunk| hunk.diff(path, change.kind)).collect(),
    }
}

/// The two sides of a hunk.
#[derive(Default)]
struct Hunk {
    old: String,
    new: String,
    /// The sides that the last line was of.
    last: (bool, bool),
}

impl Hunk {
    fn diff(self, path: &str, kind: ChangeKind) -> Diff<'_> {
        let old_text = (kind != ChangeKind::Add).then_some(Cow::Owned(self.old));
        Diff { path, old_text, new_text: Cow::Owned(self.new) }
    }

    fn take(&mut self, line: &str) -> bool {
        let Some((sign, text)) = line.split_at_checked(1) else {
            // Some agents take the space off an empty line.
            self.add(true, true, "");
            return true;
        };
        match sign {
            " " => self.add(true, true, text),
            "-" => self.add(true, false, text),
            "+" => self.add(false, true, text),
            "\\" => self.without_end(),
            _ => return false,
        }
        true
    }

    fn add(&mut self, old: bool, new: bool, line: &str) {
        self.last = (old, new);
        for (side, wanted) in [(&mut self.old, old), (&mut self.new, new)] {
            if wanted {
                side.push_str(line);
                side.push('\n');
            }
        }
    }

    /// `\ No newline at end of file`, about the line before it.
    fn without_end(&mut self) {
        for (side, wanted) in [(&mut self.old, self.last.0), (&mut self.new, self.last.1)] {
            if wanted && side.ends_with('\n') {
                side.pop();
            }
        }
    }
}

/// The hunks of a unified diff. What stands before the first, names of files mostly, is left out.
fn hunks(diff: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    let mut inside = false;
    for line in diff.split_terminator('\n') {
        if line.starts_with("@@") {
            hunks.push(Hunk::default());
            inside = true;
        } else if let (true, Some(hunk)) = (inside, hunks.last_mut()) {
            inside = hunk.take(line);
        }
    }
    hunks.retain(|hunk| hunk.old != hunk.new);
    hunks
}

#[cfg(test)]
mod tests {
    use switchboard_event::{Change, ChangeKind};

    use super::diffs;

    fn sides(change: &Change) -> Vec<(Option<String>, String)> {
        diffs(change)
            .into_iter()
            .map(|diff| (diff.old_text.map(std::borrow::Cow::into_owned), diff.new_text.into_owned()))
            .collect()
    }

    fn change(kind: ChangeKind, diff: &str) -> Change {
        Change { path: "/f".to_owned(), kind, diff: diff.to_owned(), ..Change::default() }
    }

    #[test]
    fn each_hunk_is_a_change_of_its_own() {
        let diff = "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9 @@ fn x()\n-old\n+new\n\\ No newline at end of file\n";
        let want = [(Some("a\nb\n".to_owned()), "a\nc\n".to_owned()), (Some("old\n".to_owned()), "new".to_owned())];
        assert_eq!(sides(&change(ChangeKind::Modify, diff)), want);
    }

    #[test]
    fn a_new_file_has_no_side_before() {
        let new = change(ChangeKind::Add, "@@ -0,0 +1,2 @@\n+x\n+y\n");
        assert_eq!(sides(&new), [(None, "x\ny\n".to_owned())]);
        let gone = change(ChangeKind::Delete, "@@ -1 +0,0 @@\n-x\n");
        assert_eq!(sides(&gone), [(Some("x\n".to_owned()), String::new())]);
    }

    #[test]
    fn the_file_before_and_after_is_better_than_a_diff() {
        let known = Change {
            before: Some("a\n".to_owned()),
            after: Some("b\n".to_owned()),
            ..change(ChangeKind::Modify, "@@ -1 +1 @@\n-a\n+b\n")
        };
        assert_eq!(sides(&known), [(Some("a\n".to_owned()), "b\n".to_owned())]);
    }

    #[test]
    fn where_nothing_is_known_nothing_is_shown() {
        for diff in ["", "no diff at all", "@@ -1 +1 @@\n same\n"] {
            assert_eq!(sides(&change(ChangeKind::Modify, diff)), [], "{diff}");
        }
    }
}
