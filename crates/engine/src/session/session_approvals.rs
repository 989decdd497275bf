//! Approvals that hold for the rest of a session. Many agents ask again about the same thing, although a client has
//! allowed it for the session, so Switchboard remembers such answers itself, for every agent.
//!
//! A command is the same by its text and directory, a change by its files, a tool of an MCP server by its name. Any other
//! tool must be called with the same input.

use std::{collections::HashSet, path::PathBuf};

use switchboard_event::{About, ChangeKind, RequestOpened};

use crate::{
    paths::Workspace,
    policy::{Kind, call_kind, moves_to_unknown},
};

/// More than a person allows in one session.
const MAX_REMEMBERED: usize = 10_000;

/// The approvals of one session.
#[derive(Default)]
pub struct SessionApprovals(HashSet<ApprovalKey>);

/// One thing that was allowed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ApprovalKey {
    /// A command, in a directory.
    Command { command: String, cwd: String },
    /// A change of a file, by all paths that the agent can mean. Deleting it is another thing.
    File { paths: Vec<PathBuf>, is_deleted: bool },
    /// A tool of an MCP server, whatever its input.
    McpTool(String),
    /// Another tool, with this input.
    Call { tool: String, input: String },
}

impl SessionApprovals {
    /// Remembers what was allowed.
    pub fn remember(&mut self, keys: Vec<ApprovalKey>) {
        if self.0.len() + keys.len() <= MAX_REMEMBERED {
            self.0.extend(keys);
        }
    }

    /// Returns whether all of it was allowed before.
    pub fn covers(&self, keys: &[ApprovalKey]) -> bool {
        !keys.is_empty() && keys.iter().all(|key| self.0.contains(key))
    }
}

/// Returns what an answer for the session allows. Empty if the request must be asked each time: it is for a person, or
/// too little is known to recognize it.
pub fn approval_keys(request: &RequestOpened, workspace: &Workspace, is_mcp: bool) -> Vec<ApprovalKey> {
    let is_tool = matches!(request.about, About::Command | About::FileChange | About::Tool);
    if !is_tool || request.requires_person {
        return Vec::new();
    }
    let keys = match call_kind(request, is_mcp) {
        Kind::Command => command_key(request).map(|key| vec![key]),
        Kind::Edit => file_keys(request, workspace),
        Kind::Mcp => tool_name(request).map(|name| vec![ApprovalKey::McpTool(name)]),
        Kind::Read | Kind::Web | Kind::Other => same_call(request).map(|key| vec![key]),
    };
    keys.unwrap_or_default()
}

fn command_key(request: &RequestOpened) -> Option<ApprovalKey> {
    let Some(command) = request.command.clone().filter(|command| !command.is_empty()) else {
        return same_call(request);
    };
    Some(ApprovalKey::Command { command, cwd: request.cwd.clone().unwrap_or_default() })
}

fn file_keys(request: &RequestOpened, workspace: &Workspace) -> Option<Vec<ApprovalKey>> {
    if moves_to_unknown(request) {
        return None;
    }
    let changed = request.changes.iter().flat_map(|change| {
        let is_deleted = change.kind == ChangeKind::Delete;
        [Some((&change.path, is_deleted)), change.to.as_ref().map(|to| (to, false))].into_iter().flatten()
    });
    let call = request.call.as_deref();
    let is_deleting = call.is_some_and(|call| call.kind == switchboard_event::CallKind::Delete);
    let located = call.into_iter().flat_map(|call| &call.locations).map(|location| (&location.path, is_deleting));
    let key = |(path, is_deleted): (&String, bool)| {
        let paths = workspace.resolve_readings(path).ok()?;
        Some(ApprovalKey::File { paths, is_deleted })
    };
    changed.chain(located).map(key).collect()
}

fn same_call(request: &RequestOpened) -> Option<ApprovalKey> {
    let input = request.call.as_ref()?.input.as_ref()?.get().to_owned();
    Some(ApprovalKey::Call { tool: tool_name(request)?, input })
}

fn tool_name(request: &RequestOpened) -> Option<String> {
    request.call.as_ref().map(|call| call.name.clone()).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use switchboard_event::{About, Call, CallKind, Change, ChangeKind, RequestOpened, raw};

    use super::{SessionApprovals, approval_keys};
    use crate::paths::Workspace;

    fn command(command: &str, cwd: &str) -> RequestOpened {
        let (command, cwd) = (Some(command.to_owned()), Some(cwd.to_owned()));
        RequestOpened { about: About::Command, command, cwd, ..RequestOpened::default() }
    }

    fn edit(paths: &[&str], kind: ChangeKind) -> RequestOpened {
        let change = |path: &&str| Change { path: (*path).to_owned(), kind, ..Change::default() };
        RequestOpened {
            about: About::FileChange,
            changes: paths.iter().map(change).collect(),
            ..RequestOpened::default()
        }
    }

    fn tool(name: &str, kind: CallKind, input: &str) -> RequestOpened {
        let call = Call { name: name.to_owned(), kind, input: Some(raw(input)), ..Call::default() };
        RequestOpened { about: About::Tool, call: Some(Box::new(call)), ..RequestOpened::default() }
    }

    /// Returns whether the second request need not be asked after the first was allowed for the session.
    fn is_covered(allowed: &RequestOpened, request: &RequestOpened, is_mcp: bool) -> bool {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(directory.path().canonicalize().unwrap(), []);
        let mut approvals = SessionApprovals::default();
        approvals.remember(approval_keys(allowed, &workspace, is_mcp));
        approvals.covers(&approval_keys(request, &workspace, is_mcp))
    }

    #[test]
    fn the_same_is_recognized_and_no_more() {
        use ChangeKind::{Delete, Modify};
        assert!(is_covered(&command("ls", "/a"), &command("ls", "/a"), false));
        assert!(!is_covered(&command("ls", "/a"), &command("ls -a", "/a"), false));
        assert!(!is_covered(&command("ls", "/a"), &command("ls", "/b"), false));
        assert!(is_covered(&edit(&["a", "b"], Modify), &edit(&["./b"], Modify), false));
        assert!(!is_covered(&edit(&["a"], Modify), &edit(&["a", "b"], Modify), false));
        assert!(!is_covered(&edit(&["a"], Modify), &edit(&["a"], Delete), false));
        assert!(!is_covered(&edit(&["$X"], Modify), &edit(&["$X"], Modify), false), "it may lead anywhere");
        assert!(!is_covered(&edit(&[], Modify), &edit(&[], Modify), false), "nothing is known of it");
        let web = tool("fetch", CallKind::Fetch, "https://a");
        assert!(is_covered(&web, &web.clone(), false));
        assert!(!is_covered(&web, &tool("fetch", CallKind::Fetch, "https://b"), false));
        let (one, other) = (tool("db.query", CallKind::Other, "1"), tool("db.query", CallKind::Other, "2"));
        assert!(is_covered(&one, &other, true));
        assert!(!is_covered(&one, &tool("db.drop", CallKind::Other, "1"), true));
    }

    #[test]
    fn a_person_is_asked_each_time() {
        let request = command("ls", "/a");
        assert!(!is_covered(&request, &request.clone().for_a_person(), false));
        assert!(!is_covered(&request.clone().for_a_person(), &request, false));
        let question = RequestOpened { about: About::Question, ..request };
        assert!(!is_covered(&question, &question.clone(), false));
    }
}
