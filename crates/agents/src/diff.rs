//! Unified diffs for agents that only report the text before and after a change.

use std::time::Duration;

use similar::{Algorithm, TextDiff};
use switchboard_event::{Change, ChangeKind};

/// Longer texts are replaced as one block: their diff would be useless and take seconds.
const MAX_DIFF_BYTES: usize = 4 << 20;

/// Returns the hunks from `before` to `after`, without a header of file names; empty if they are equal.
#[must_use]
fn unified_hunks(before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    if before.len() + after.len() > MAX_DIFF_BYTES {
        return replacement_hunk(before, after);
    }
    TextDiff::configure()
        .algorithm(Algorithm::Myers)
        // A pathological pair of files must not block a session: after this time, the rest counts as replaced.
        .timeout(Duration::from_millis(200))
        .diff_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .to_string()
}

/// Returns the hunks between two fragments of a file: the end of a fragment is not the end of the file.
#[must_use]
pub fn fragment_hunks(before: &str, after: &str) -> String {
    let line = |text: &str| match text {
        "" => String::new(),
        text => format!("{}\n", text.strip_suffix('\n').unwrap_or(text)),
    };
    unified_hunks(&line(before), &line(after))
}

fn replacement_hunk(before: &str, after: &str) -> String {
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

/// Builds a change from its two sides. Without `before` the file is new, without `after` it was deleted.
#[must_use]
pub fn change_from_sides(path: impl Into<String>, before: Option<String>, after: Option<String>) -> Change {
    let kind = match (&before, &after) {
        (None, Some(_)) => ChangeKind::Add,
        (Some(_), None) => ChangeKind::Delete,
        _ => ChangeKind::Modify,
    };
    let diff = unified_hunks(before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
    Change { path: path.into(), kind, to: None, diff, before, after }
}

#[cfg(test)]
mod tests {

    use super::{change_from_sides, unified_hunks};

    #[test]
    fn a_changed_line_gives_one_hunk() {
        assert_eq!(unified_hunks("a\nb\n", "a\nc\n"), "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert_eq!(unified_hunks("same\n", "same\n"), "");
    }

    #[test]
    fn a_new_file_is_all_plus() {
        assert_eq!(change_from_sides("f", None, Some("x\n".into())).diff, "@@ -0,0 +1 @@\n+x\n");
    }

    #[test]
    fn huge_texts_are_replaced_as_a_whole() {
        let huge = "line\n".repeat(1 << 20);
        assert!(unified_hunks(&huge, "small\n").starts_with("@@ -1,1048576 +1,1 @@\n-line\n"));
    }
}
