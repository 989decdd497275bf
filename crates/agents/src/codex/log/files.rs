//! Where rollouts lie, and what each file is.

use std::path::{Component, Path};

use super::{super::launch::home, line::of_document, lineage::is_uuid, skim};
use crate::{Form, LogFile, Logs, no_root};

/// The logs of Codex. It deletes none.
pub const LOGS: Logs = Logs {
    agent: "codex",
    source: "codex:log",
    homes: |host| vec![home(host)],
    below: &[".codex"],
    folders: &["sessions", "archived_sessions"],
    file,
    skim: |file, saved| Box::new(skim::Rollout::new(file, saved)),
    // What another thread used is not told again, so a reply's place in its own thread is enough.
    key: |thread, reply, _, _| format!("codex:{thread}:{reply}"),
    root: no_root,
    kept_days: None,
};

/// `sessions/YYYY/MM/DD/rollout-TIME-THREAD.jsonl`, the same with `.zst` once it is cold, `archived_sessions/` flat, and
/// the `rollout-*.json` of 2025. Other programs write rollouts here too, under names of their own.
fn file(path: &Path) -> Option<LogFile> {
    let mut parts = path.components();
    let archived = match parts.next()? {
        Component::Normal(folder) if folder == "sessions" => false,
        Component::Normal(folder) if folder == "archived_sessions" => true,
        _ => return None,
    };
    let name = path.file_name()?.to_str()?;
    let (stem, ending) = name.split_once(".json").filter(|(stem, _)| !stem.is_empty())?;
    let (form, packed) = match ending {
        "" if stem.starts_with("rollout-") => (Form::Document(of_document), 0),
        "l" => (Form::Lines, 0),
        "l.zst" => (Form::Compressed, 1),
        _ => return None,
    };
    // A name without a thread's id may be that of several.
    let session = stem.len().checked_sub(36).and_then(|at| stem.get(at..)).filter(|id| is_uuid(id));
    let twin = session.map(|_| (stem.to_owned(), packed + 2 * u8::from(archived)));
    Some(LogFile { form, archived, twin, ..LogFile::lines(session.map(str::to_owned)) })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::file;
    use crate::Form;

    const NAME: &str = "rollout-2026-11-15T19-22-38-01a1e0a9-5f4e-7ce0-a9bb-fba447950f56";

    fn check(path: &str, form: &str, rank: u8) {
        let found = file(Path::new(path)).unwrap_or_else(|| panic!("{path}"));
        let name = match found.form {
            Form::Lines => "lines",
            Form::Compressed => "compressed",
            Form::Document(_) => "document",
            _ => "other",
        };
        assert_eq!((name, found.twin.as_ref().map(|twin| twin.1)), (form, Some(rank)), "{path}");
        assert_eq!(found.twin.map(|twin| twin.0).as_deref(), Some(NAME));
        assert_eq!(found.session.as_deref(), Some("01a1e0a9-5f4e-7ce0-a9bb-fba447950f56"));
        assert_eq!(found.archived, path.starts_with("archived"));
    }

    #[test]
    fn the_copy_that_is_in_use_comes_first() {
        check(&format!("sessions/2026/11/15/{NAME}.jsonl"), "lines", 0);
        check(&format!("sessions/2026/11/15/{NAME}.jsonl.zst"), "compressed", 1);
        check(&format!("archived_sessions/{NAME}.jsonl"), "lines", 2);
        check(&format!("archived_sessions/{NAME}.jsonl.zst"), "compressed", 3);
        check(&format!("sessions/{NAME}.json"), "document", 0);
    }

    #[test]
    fn other_files_are_no_logs() {
        let other = ["history.jsonl", "sessions/notes.json", "sessions/rollout-x.jsonl.tmp", "log/rollout-x.jsonl"];
        assert!(other.into_iter().all(|path| file(Path::new(path)).is_none()));
        assert!(
            file(Path::new("sessions/rollout-x.jsonl"))
                .is_some_and(|file| file.session.is_none() && file.twin.is_none())
        );
    }
}
