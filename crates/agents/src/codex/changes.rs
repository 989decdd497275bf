//! File changes in the formats of `exec`, the app-server and the rollouts.

use switchboard_event::{Change, ChangeKind};

use super::names;
use crate::{JsonObject, JsonView, RunRecorder, diff};

/// Parses all changes of an item or of a request.
pub fn parse_changes(changes: &[JsonView<'_>], recorder: &RunRecorder) -> Vec<Change> {
    changes.iter().filter_map(|change| parse_change(&change.as_object(), recorder)).collect()
}

/// Parses `{path, kind}` of `exec`, `{path, kind: {type, move_path}, diff}` of the app-server, or
/// `{path, before, after}` of older documentation.
fn parse_change(change: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Change> {
    let path = recorder.absolute_path(&change.get_non_empty("path")?);
    if change.contains_key("before") || change.contains_key("after") {
        return Some(diff::change_from_sides(path, change.get_string("before"), change.get_string("after")));
    }
    let nested = change.get_object("kind");
    let kind = change.get_str("kind").or_else(|| nested.get_str("type"));
    let diff = change.get_str("diff");
    let to = names::first_str(&nested, &["move_path", "movePath"]).map(|to| recorder.absolute_path(&to));
    Some(build_change(path, kind.as_deref(), diff.as_deref(), to))
}

/// Parses changes keyed by path, as in requests of the first protocol: `{path: {type, content | unified_diff}}`.
pub fn parse_changes_by_path(changes: &JsonObject<'_>, recorder: &RunRecorder) -> Vec<Change> {
    let one = |(path, change): (&str, JsonView<'_>)| {
        let change = change.as_object();
        let text = names::first_str(&change, &["content", "unified_diff"]);
        let to = change.get_str("move_path").map(|to| recorder.absolute_path(&to));
        build_change(recorder.absolute_path(path), change.get_str("type").as_deref(), text.as_deref(), to)
    };
    changes.iter().map(one).collect()
}

/// For a new or a deleted file, the field for the diff holds the content of the file.
fn build_change(path: String, kind: Option<&str>, text: Option<&str>, to: Option<String>) -> Change {
    match (kind, text) {
        (Some("add"), Some(content)) => diff::change_from_sides(path, None, Some(content.to_owned())),
        (Some("delete"), Some(content)) => diff::change_from_sides(path, Some(content.to_owned()), None),
        (Some("add"), None) => Change { path, kind: ChangeKind::Add, ..Change::default() },
        (Some("delete"), None) => Change { path, kind: ChangeKind::Delete, ..Change::default() },
        (_, text) => {
            let kind = if to.is_some() { ChangeKind::Move } else { ChangeKind::Modify };
            Change {
                path,
                kind,
                diff: strip_move_note(text.unwrap_or_default(), to.is_some()),
                to,
                ..Change::default()
            }
        }
    }
}

/// The diff of a moved file ends with a line for people that is not part of the diff (0.166).
fn strip_move_note(text: &str, moved: bool) -> String {
    let cut = text.rsplit_once("\n\nMoved to: ").filter(|_| moved);
    cut.map_or(text, |(diff, _)| diff).to_owned()
}

#[cfg(test)]
mod tests {

    use switchboard_event::ChangeKind;

    use super::build_change;

    #[test]
    fn a_new_file_gets_a_real_diff() {
        let change = build_change("/f".into(), Some("add"), Some("x\ny\n"), None);
        assert_eq!((change.kind, change.diff.as_str()), (ChangeKind::Add, "@@ -0,0 +1,2 @@\n+x\n+y\n"));
        assert_eq!(change.after.as_deref(), Some("x\ny\n"));
    }

    #[test]
    fn a_deleted_file_gets_a_real_diff() {
        let change = build_change("/f".into(), Some("delete"), Some("x\n"), None);
        assert_eq!((change.kind, change.diff.as_str()), (ChangeKind::Delete, "@@ -1 +0,0 @@\n-x\n"));
    }

    #[test]
    fn a_moved_file_has_a_target_and_a_clean_diff() {
        let diff = "@@ -1 +1 @@\n-a\n+b\n\n\nMoved to: /g";
        let change = build_change("/f".into(), Some("update"), Some(diff), Some("/g".into()));
        assert_eq!((change.kind, change.to.as_deref()), (ChangeKind::Move, Some("/g")));
        assert_eq!(change.diff, "@@ -1 +1 @@\n-a\n+b\n");
    }
}
