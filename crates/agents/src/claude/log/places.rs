//! The locations of the logs.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{figures, skim::ClaudeLogScanner};
use crate::{AgentLogs, HostAccess, LogFile, no_workspace_root};

pub const LOGS: AgentLogs = AgentLogs {
    agent: "claude",
    source: "claude:log",
    homes,
    below: &[".claude", ".config/claude", ".config/claude-code"],
    folders: &["projects"],
    file,
    skim: |file, saved| Box::new(ClaudeLogScanner::new(file, saved)),
    key: |_, reply, _, _| figures::reply_key(reply),
    root: no_workspace_root,
    kept_days: Some(30),
};

/// `CLAUDE_CONFIG_DIR` can name several directories, separated by commas.
fn homes(host: &dyn HostAccess) -> Vec<PathBuf> {
    if let Some(named) = host.env_var("CLAUDE_CONFIG_DIR").filter(|named| !named.trim().is_empty()) {
        return named.split(',').map(str::trim).filter(|folder| !folder.is_empty()).map(PathBuf::from).collect();
    }
    let home = host.home_dir();
    let config = host.env_var("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let config = config.unwrap_or_else(|| home.join(".config"));
    vec![home.join(".claude"), config.join("claude"), config.join("claude-code")]
}

/// `projects/FOLDER/SESSION.jsonl`. A subagent has its own file, `SESSION/subagents/agent-ID.jsonl`; before 2.1, it was
/// next to the session's file, and its name did not tell the session.
fn file(path: &Path) -> Option<LogFile> {
    let parts: Vec<&str> = path.iter().map(OsStr::to_str).collect::<Option<_>>()?;
    let ["projects", folders @ .., name] = parts.as_slice() else { return None };
    let name = name.strip_suffix(".jsonl").filter(|name| !name.is_empty())?;
    let Some(agent) = name.strip_prefix("agent-") else { return Some(LogFile::line_log(Some(name.to_owned()))) };
    let parent = folders.get(1).map(|session| (*session).to_owned());
    Some(LogFile { parent, ..LogFile::line_log(Some(agent.to_owned())) })
}

/// Returns the subagent that the file belongs to.
pub fn subagent_of_file(path_says: &LogFile) -> Option<&str> {
    path_says.session.as_deref().filter(|_| path_says.parent.is_some())
}

#[cfg(test)]
mod tests {

    use std::path::{Path, PathBuf};

    use super::LOGS;
    use crate::HostAccess;

    struct EnvOnlyHost(&'static [(&'static str, &'static str)]);

    impl HostAccess for EnvOnlyHost {
        fn env_var(&self, name: &str) -> Option<String> {
            self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        }
        fn home_dir(&self) -> PathBuf {
            PathBuf::from("/home/me")
        }
        fn read_file(&self, _: &Path) -> Option<String> {
            None
        }
        fn list_dir(&self, _: &Path) -> Vec<PathBuf> {
            Vec::new()
        }
    }

    #[track_caller]
    fn check_homes(env: &'static [(&'static str, &'static str)], want: &[&str]) {
        let want: Vec<PathBuf> = want.iter().map(PathBuf::from).collect();
        assert_eq!((LOGS.homes)(&EnvOnlyHost(env)), want);
    }

    #[test]
    fn homes_are_named_or_usual() {
        check_homes(&[], &["/home/me/.claude", "/home/me/.config/claude", "/home/me/.config/claude-code"]);
        check_homes(&[("XDG_CONFIG_HOME", "/x")], &["/home/me/.claude", "/x/claude", "/x/claude-code"]);
        check_homes(&[("CLAUDE_CONFIG_DIR", "/a, /b")], &["/a", "/b"]);
    }

    #[track_caller]
    fn check_file(path: &str, want: Option<(&str, Option<&str>)>) {
        let got = (LOGS.file)(Path::new(path));
        let got = got.as_ref().map(|file| (file.session.as_deref().unwrap_or_default(), file.parent.as_deref()));
        assert_eq!(got, want, "{path}");
    }

    #[test]
    fn files_by_their_paths() {
        check_file("projects/-w/11-22.jsonl", Some(("11-22", None)));
        check_file("projects/-w/11-22/subagents/agent-a1.jsonl", Some(("a1", Some("11-22"))));
        check_file("projects/-w/agent-a1.jsonl", Some(("a1", None)));
        check_file("projects/11-22.jsonl", Some(("11-22", None)));
        check_file("projects/-w/11-22/subagents/agent-a1.meta.json", None);
        check_file("projects/-w/11-22/tool-results/b.txt", None);
        check_file("history.jsonl", None);
    }
}
