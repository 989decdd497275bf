//! Locations and kinds of rollout files.

use std::path::{Component, Path};

use super::{line::split_document, lineage::is_uuid, skim};
use crate::{AgentLogs, LogFile, LogFormat, codex::launch::codex_home, no_workspace_root};

/// The logs of Codex, which it never deletes.
pub const LOGS: AgentLogs = AgentLogs {
    agent: "codex",
    source: "codex:log",
    homes: |host| vec![codex_home(host)],
    below: &[".codex"],
    folders: &["sessions", "archived_sessions"],
    file,
    skim: |file, saved| Box::new(skim::RolloutScanner::new(file, saved)),
    // Usage of another thread is not reported again, so the reply's position in its own thread is enough.
    key: |thread, reply, _, _| format!("codex:{thread}:{reply}"),
    root: no_workspace_root,
    kept_days: None,
};

/// Recognizes `sessions/YYYY/MM/DD/rollout-TIME-THREAD.jsonl`, the same with `.zst` once it is cold,
/// `archived_sessions/` without subdirectories, and the `rollout-*.json` of 2025. Other programs write rollouts here
/// too, under different names.
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
        "" if stem.starts_with("rollout-") => (LogFormat::Document(split_document), 0),
        "l" => (LogFormat::Lines, 0),
        "l.zst" => (LogFormat::Compressed, 1),
        _ => return None,
    };
    // A name without a thread id may be shared by several threads.
    let session = stem.len().checked_sub(36).and_then(|at| stem.get(at..)).filter(|id| is_uuid(id));
    let twin = session.map(|_| (stem.to_owned(), packed + 2 * u8::from(archived)));
    Some(LogFile { form, archived, twin, ..LogFile::line_log(session.map(str::to_owned)) })
}

#[cfg(test)]
mod tests {

    use std::path::Path;

    use super::file;
    use crate::LogFormat;

    const ROLLOUT_STEM: &str = "rollout-2026-11-15T19-22-38-01a1e0a9-5f4e-7ce0-a9bb-fba447950f56";

    fn check_log_file(path: &str, form: &str, rank: u8) {
        let found = file(Path::new(path)).unwrap_or_else(|| panic!("{path}"));
        let name = match found.form {
            LogFormat::Lines => "lines",
            LogFormat::Compressed => "compressed",
            LogFormat::Document(_) => "document",
            _ => "other",
        };
        assert_eq!((name, found.twin.as_ref().map(|twin| twin.1)), (form, Some(rank)), "{path}");
        assert_eq!(found.twin.map(|twin| twin.0).as_deref(), Some(ROLLOUT_STEM));
        assert_eq!(found.session.as_deref(), Some("01a1e0a9-5f4e-7ce0-a9bb-fba447950f56"));
        assert_eq!(found.archived, path.starts_with("archived"));
    }

    #[test]
    fn the_copy_that_is_in_use_comes_first() {
        check_log_file(&format!("sessions/2026/11/15/{ROLLOUT_STEM}.jsonl"), "lines", 0);
        check_log_file(&format!("sessions/2026/11/15/{ROLLOUT_STEM}.jsonl.zst"), "compressed", 1);
        check_log_file(&format!("archived_sessions/{ROLLOUT_STEM}.jsonl"), "lines", 2);
        check_log_file(&format!("archived_sessions/{ROLLOUT_STEM}.jsonl.zst"), "compressed", 3);
        check_log_file(&format!("sessions/{ROLLOUT_STEM}.json"), "document", 0);
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
