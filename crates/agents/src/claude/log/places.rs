//! Where the logs lie.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{figures, skim::Glance};
use crate::{Host, LogFile, Logs, no_root};

/// The logs of Claude Code.
pub const LOGS: Logs = Logs {
    agent: "claude",
    source: "claude:log",
    homes,
    below: &[".claude", ".config/claude", ".config/claude-code"],
    folders: &["projects"],
    file,
    skim: |file, saved| Box::new(Glance::new(file, saved)),
    key: |_, reply, _, _| figures::key(reply),
    root: no_root,
    kept_days: Some(30),
};

/// `CLAUDE_CONFIG_DIR` can name several, with commas between.
fn homes(host: &dyn Host) -> Vec<PathBuf> {
    if let Some(named) = host.env("CLAUDE_CONFIG_DIR").filter(|named| !named.trim().is_empty()) {
        return named.split(',').map(str::trim).filter(|folder| !folder.is_empty()).map(PathBuf::from).collect();
    }
    let home = host.home();
    let config = host.env("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let config = config.unwrap_or_else(|| home.join(".config"));
    vec![home.join(".claude"), config.join("claude"), config.join("claude-code")]
}

/// `projects/FOLDER/SESSION.jsonl`. A subagent has a file of its own, `SESSION/subagents/agent-ID.jsonl`; before 2.1, it
/// lay beside the session's and its name did not say whose it is.
fn file(path: &Path) -> Option<LogFile> {
    let parts: Vec<&str> = path.iter().map(OsStr::to_str).collect::<Option<_>>()?;
    let ["projects", folders @ .., name] = parts.as_slice() else { return None };
    let name = name.strip_suffix(".jsonl").filter(|name| !name.is_empty())?;
    let Some(agent) = name.strip_prefix("agent-") else { return Some(LogFile::lines(Some(name.to_owned()))) };
    let parent = folders.get(1).map(|session| (*session).to_owned());
    Some(LogFile { parent, ..LogFile::lines(Some(agent.to_owned())) })
}

/// The subagent whose file this is.
pub fn subagent(path_says: &LogFile) -> Option<&str> {
    path_says.session.as_deref().filter(|_| path_says.parent.is_some())
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::LOGS;
    use crate::Host;

    struct Machine(&'static [(&'static str, &'static str)]);

    impl Host for Machine {
        fn env(&self, name: &str) -> Option<String> {
            self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        }
        fn home(&self) -> PathBuf {
            PathBuf::from("/home/me")
        }
        fn read(&self, _: &Path) -> Option<String> {
            None
        }
        fn list(&self, _: &Path) -> Vec<PathBuf> {
            Vec::new()
        }
    }

    #[track_caller]
    fn check_homes(env: &'static [(&'static str, &'static str)], want: &[&str]) {
        let want: Vec<PathBuf> = want.iter().map(PathBuf::from).collect();
        assert_eq!((LOGS.homes)(&Machine(env)), want);
    }

    #[test]
    fn homes_are_named_or_usual() {
        check_homes(&[], &["/home/me/.claude", "/home/me/.config/claude", "/home/me/.config/claude-code"]);
        check_homes(&[("XDG_CONFIG_HOME", "/x")], &["/home/me/.claude", "/x/claude", "/x/claude-code"]);
        check_homes(&[("CLAUDE_CONFIG_DIR", "/a, /b")], &["/a", "/b"]);
    }

    #[track_caller]
    fn check(path: &str, want: Option<(&str, Option<&str>)>) {
        let got = (LOGS.file)(Path::new(path));
        let got = got.as_ref().map(|file| (file.session.as_deref().unwrap_or_default(), file.parent.as_deref()));
        assert_eq!(got, want, "{path}");
    }

    #[test]
    fn files_by_their_paths() {
        check("projects/-w/11-22.jsonl", Some(("11-22", None)));
        check("projects/-w/11-22/subagents/agent-a1.jsonl", Some(("a1", Some("11-22"))));
        check("projects/-w/agent-a1.jsonl", Some(("a1", None)));
        check("projects/11-22.jsonl", Some(("11-22", None)));
        check("projects/-w/11-22/subagents/agent-a1.meta.json", None);
        check("projects/-w/11-22/tool-results/b.txt", None);
        check("history.jsonl", None);
    }
}
