//! The session logs that Claude Code leaves on disk: `projects/FOLDER/SESSION.jsonl`, and a file for each subagent.
//! `ClaudeLogReader` reads them in full, `ClaudeLogScanner` scans them quickly.

mod assistant_records;
mod other_records;
mod passages;
mod reader;
mod replies;
mod scanner;
mod user_records;

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    ffi::OsStr,
    path::{Path, PathBuf},
};

pub use reader::ClaudeLogReader;
use scanner::ClaudeLogScanner;
use switchboard_event::{Details, Id};

use crate::{AgentLogs, HostAccess, JsonObject, LogFile, RunRecorder, bounded::push_bounded, no_workspace_root};

pub const LOGS: AgentLogs = AgentLogs {
    agent: "claude",
    source: "claude:log",
    homes,
    below: &[".claude", ".config/claude", ".config/claude-code"],
    folders: &["projects"],
    file,
    skim: |file, saved| Box::new(ClaudeLogScanner::new(file, saved)),
    key: |_, reply, _, _| replies::reply_key(reply),
    root: no_workspace_root,
    kept_days: Some(30),
};

/// The maximum number of remembered records and subagents: more than a running subagent has.
const MAX_REMEMBERED_THREADS: usize = 4096;

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

/// A subagent's conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct SubagentThread {
    /// The subagent's id, or that of its first record.
    pub id: Id,
    /// The tool call that started it, if known.
    pub call: Option<Id>,
}

#[derive(Default)]
pub struct SubagentThreads {
    known: VecDeque<SubagentThread>,
    /// Records of subagents without an id: each belongs to the subagent of its parent.
    records: VecDeque<(Id, Id)>,
}

impl SubagentThreads {
    /// Returns the subagent that a record belongs to.
    pub fn thread_of_record(&mut self, fields: &JsonObject<'_>, recorder: &RunRecorder) -> Option<SubagentThread> {
        if !fields.is_true("isSidechain") {
            return None;
        }
        let id = match fields.get_non_empty("agentId") {
            Some(id) => Id::from(id),
            None => self.follow_record_chain(fields)?,
        };
        if let Some(known) = self.known.iter().find(|thread| thread.id == id) {
            return Some(known.clone());
        }
        let call = find_call_with_prompt(fields, recorder);
        Some(self.remember_thread(id, call))
    }

    /// Links a subagent to the tool call that started it.
    pub fn assign_call(&mut self, agent: &str, call: &Id) -> SubagentThread {
        match self.known.iter_mut().find(|thread| *thread.id == *agent) {
            Some(known) => {
                known.call.get_or_insert_with(|| call.clone());
                known.clone()
            }
            None => self.remember_thread(Id::from(agent), Some(call.clone())),
        }
    }

    fn remember_thread(&mut self, id: Id, call: Option<Id>) -> SubagentThread {
        let thread = SubagentThread { id, call };
        push_bounded(&mut self.known, thread.clone(), MAX_REMEMBERED_THREADS);
        thread
    }

    /// Returns the UUID of the first record in the chain of parents, which identifies the subagent.
    fn follow_record_chain(&mut self, fields: &JsonObject<'_>) -> Option<Id> {
        let record = Id::from(fields.get_non_empty("uuid")?);
        let parent = fields.get_str("parentUuid");
        let find_record = |parent: &str| self.records.iter().rev().find(|(known, _)| **known == *parent);
        let root =
            parent.and_then(|parent| find_record(&parent)).map_or_else(|| record.clone(), |(_, root)| root.clone());
        push_bounded(&mut self.records, (record, root.clone()), MAX_REMEMBERED_THREADS);
        Some(root)
    }
}

/// Finds the tool call with the prompt that a subagent starts with.
fn find_call_with_prompt(fields: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Id> {
    let task = fields.get_object("message").get_string("content")?;
    let has_prompt = |id: &Id| {
        let details = recorder.open_item(id).map(|item| &item.details);
        matches!(details, Some(Details::Subagent(subagent)) if subagent.prompt.as_deref() == Some(&task))
    };
    recorder.open_items(None).into_iter().find(has_prompt)
}

#[cfg(test)]
mod unit_tests {

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
