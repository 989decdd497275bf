//! Changes of files, as the three wires tell them.

use switchboard_event::{Change, ChangeKind};

use super::names;
use crate::{Json, Object, Scribe, diff};

/// All changes of an item or of a request.
pub fn list(changes: &[Json<'_>], scribe: &Scribe) -> Vec<Change> {
    changes.iter().filter_map(|change| one(&change.object(), scribe)).collect()
}

/// `{path, kind}` in `exec`; `{path, kind: {type, move_path}, diff}` in the app-server; `{path, before, after}` in
/// older descriptions.
fn one(change: &Object<'_>, scribe: &Scribe) -> Option<Change> {
    let path = scribe.absolute(&change.filled("path")?);
    if change.has("before") || change.has("after") {
        return Some(diff::change(path, change.string("before"), change.string("after")));
    }
    let nested = change.object("kind");
    let kind = change.str("kind").or_else(|| nested.str("type"));
    let diff = change.str("diff");
    let to = names::text(&nested, &["move_path", "movePath"]).map(|to| scribe.absolute(&to));
    Some(told(path, kind.as_deref(), diff.as_deref(), to))
}

/// The two sides by path, as requests of the first protocol have them: `{path: {type, content | unified_diff}}`.
pub fn by_path(changes: &Object<'_>, scribe: &Scribe) -> Vec<Change> {
    let one = |(path, change): (&str, Json<'_>)| {
        let change = change.object();
        let text = names::text(&change, &["content", "unified_diff"]);
        let to = change.str("move_path").map(|to| scribe.absolute(&to));
        told(scribe.absolute(path), change.str("type").as_deref(), text.as_deref(), to)
    };
    changes.iter().map(one).collect()
}

/// What is called the diff of a new or a deleted file is the file itself.
fn told(path: String, kind: Option<&str>, text: Option<&str>, to: Option<String>) -> Change {
    match (kind, text) {
        (Some("add"), Some(content)) => diff::change(path, None, Some(content.to_owned())),
        (Some("delete"), Some(content)) => diff::change(path, Some(content.to_owned()), None),
        (Some("add"), None) => Change { path, kind: ChangeKind::Add, ..Change::default() },
        (Some("delete"), None) => Change { path, kind: ChangeKind::Delete, ..Change::default() },
        (_, text) => {
            let kind = if to.is_some() { ChangeKind::Move } else { ChangeKind::Modify };
            Change { path, kind, diff: hunks(text.unwrap_or_default(), to.is_some()), to, ..Change::default() }
        }
    }
}

/// The diff of a moved file ends with a line for people that is no part of it (0.166).
fn hunks(text: &str, moved: bool) -> String {
    let cut = text.rsplit_once("\n\nMoved to: ").filter(|_| moved);
    cut.map_or(text, |(diff, _)| diff).to_owned()
}

#[cfg(test)]
mod tests {
    use switchboard_event::ChangeKind;

    use super::told;

    #[test]
    fn a_new_file_gets_a_real_diff() {
        let change = told("/f".into(), Some("add"), Some("x\ny\n"), None);
        assert_eq!((change.kind, change.diff.as_str()), (ChangeKind::Add, "@@ -0,0 +1,2 @@\n+x\n+y\n"));
        assert_eq!(change.after.as_deref(), Some("x\ny\n"));
    }

    #[test]
    fn a_deleted_file_gets_a_real_diff() {
        let change = told("/f".into(), Some("delete"), Some("x\n"), None);
        assert_eq!((change.kind, change.diff.as_str()), (ChangeKind::Delete, "@@ -1 +0,0 @@\n-x\n"));
    }

    #[test]
    fn a_moved_file_has_a_target_and_a_clean_diff() {
        let diff = "@@ -1 +1 @@\n-a\n+b\n\n\nMoved to: /g";
        let change = told("/f".into(), Some("update"), Some(diff), Some("/g".into()));
        assert_eq!((change.kind, change.to.as_deref()), (ChangeKind::Move, Some("/g")));
        assert_eq!(change.diff, "@@ -1 +1 @@\n-a\n+b\n");
    }
}
