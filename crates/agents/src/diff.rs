//! Unified diffs, where an agent only says before and after.

use std::time::Duration;

use similar::{Algorithm, TextDiff};
use switchboard_event::{Change, ChangeKind};

/// Longer texts are compared as one block: a diff of them helps nobody and costs seconds.
const LIMIT: usize = 4 << 20;

/// Hunks from `before` to `after`, without a header of file names; empty if they are equal.
#[must_use]
pub fn hunks(before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    if before.len() + after.len() > LIMIT {
        return replaced(before, after);
    }
    TextDiff::configure()
        .algorithm(Algorithm::Myers)
        // A pathological pair of files must not hold up a session: after this, the rest counts as replaced.
        .timeout(Duration::from_millis(200))
        .diff_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .to_string()
}

/// Hunks between two fragments of a file: where the fragments end says nothing about where the file does.
#[must_use]
pub fn fragment(before: &str, after: &str) -> String {
    let line = |text: &str| match text {
        "" => String::new(),
        text => format!("{}\n", text.strip_suffix('\n').unwrap_or(text)),
    };
    hunks(&line(before), &line(after))
}

fn replaced(before: &str, after: &str) -> String {
    let (old, new) = (before.lines().count(), after.lines().count());
    let mut out = format!("@@ -{},{old} +{},{new} @@\n", usize::from(old > 0), usize::from(new > 0));
    for (sign, text) in [('-', before), ('+', after)] {
        for line in text.lines() {
            out.push(sign);
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// A change that is known by its two sides. Without `before` the file is new, without `after` it is gone.
#[must_use]
pub fn change(path: impl Into<String>, before: Option<String>, after: Option<String>) -> Change {
    let kind = match (&before, &after) {
        (None, Some(_)) => ChangeKind::Add,
        (Some(_), None) => ChangeKind::Delete,
        _ => ChangeKind::Modify,
    };
    let diff = hunks(before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
    Change { path: path.into(), kind, to: None, diff, before, after }
}

#[cfg(test)]
mod tests {
    use super::{change, hunks};

    #[test]
    fn a_changed_line_gives_one_hunk() {
        assert_eq!(hunks("a\nb\n", "a\nc\n"), "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert_eq!(hunks("same\n", "same\n"), "");
    }

    #[test]
    fn a_new_file_is_all_plus() {
        assert_eq!(change("f", None, Some("x\n".into())).diff, "@@ -0,0 +1 @@\n+x\n");
    }

    #[test]
    fn huge_texts_are_replaced_as_a_whole() {
        let huge = "line\n".repeat(1 << 20);
        assert!(hunks(&huge, "small\n").starts_with("@@ -1,1048576 +1,1 @@\n-line\n"));
    }
}
