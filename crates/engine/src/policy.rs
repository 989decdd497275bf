//! What is allowed without asking anybody: the session's settings against what an agent asks for. Pure.

use std::path::{Component, Path, PathBuf};

use switchboard_event::{About, ApprovalMode, CallKind, ChangeKind, RequestOpened, SessionConfig};

/// What the settings say about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may go on.
    Allow,
    /// It may not, and this is what the agent is told.
    Decline(String),
    /// Somebody must be asked.
    Ask,
}

/// What sort of tool a request is about, as settings name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Runs something.
    Command,
    /// Changes files.
    Edit,
    /// Reads or searches files.
    Read,
    /// Fetches from the network.
    Web,
    /// A tool of an MCP server.
    Mcp,
    /// Something else.
    Other,
}

impl Kind {
    /// Its name in `allowedTools` and `blockedTools`.
    fn name(self) -> Option<&'static str> {
        match self {
            Self::Command => Some("command"),
            Self::Edit => Some("edit"),
            Self::Read => Some("read"),
            Self::Web => Some("web"),
            Self::Mcp => Some("mcp"),
            Self::Other => None,
        }
    }
}

/// Decides by the session's settings. `mcp` says that the tool is known to belong to an MCP server.
#[must_use]
pub fn decide(config: &SessionConfig, cwd: &Path, request: &RequestOpened, mcp: bool) -> Verdict {
    match request.about {
        About::Command | About::FileChange | About::Tool => decide_tool(config, cwd, request, mcp),
        About::Plan | About::Permissions if mode(config) == ApprovalMode::AutoAll => Verdict::Allow,
        _ => Verdict::Ask,
    }
}

fn decide_tool(config: &SessionConfig, cwd: &Path, request: &RequestOpened, mcp: bool) -> Verdict {
    let (kind, name) = (kind(request, mcp), request.call.as_ref().map(|call| call.name.as_str()));
    let listed = |list: &Option<Vec<String>>| list.iter().flatten().any(|entry| matches(entry, kind, name));
    if listed(&config.blocked_tools) {
        return Verdict::Decline("this tool is blocked in the settings of the session".to_owned());
    }
    if listed(&config.allowed_tools) {
        return Verdict::Allow;
    }
    let allowed = match mode(config) {
        ApprovalMode::AutoAll => true,
        ApprovalMode::Ask => false,
        ApprovalMode::AutoEdit => kind == Kind::Read || kind == Kind::Edit && is_inside(cwd, request),
        ApprovalMode::AskDangerous => !is_dangerous(kind, cwd, request),
    };
    if allowed { Verdict::Allow } else { Verdict::Ask }
}

fn mode(config: &SessionConfig) -> ApprovalMode {
    config.approval_mode.unwrap_or_default()
}

/// Dangerous is what runs something, deletes, changes files outside the workspace, reaches the network, or is not
/// known to do none of that.
fn is_dangerous(kind: Kind, cwd: &Path, request: &RequestOpened) -> bool {
    match kind {
        Kind::Read => false,
        Kind::Edit => deletes(request) || !is_inside(cwd, request),
        Kind::Command | Kind::Web | Kind::Mcp => true,
        Kind::Other => !matches!(request.call.as_ref().map(|call| call.kind), Some(CallKind::Think)),
    }
}

fn deletes(request: &RequestOpened) -> bool {
    request.call.as_ref().is_some_and(|call| call.kind == CallKind::Delete)
        || request.changes.iter().any(|change| change.kind == ChangeKind::Delete)
}

/// All files that would change are known and lie in the workspace.
fn is_inside(cwd: &Path, request: &RequestOpened) -> bool {
    let changed = request.changes.iter().flat_map(|change| [Some(&change.path), change.to.as_ref()]).flatten();
    let located = request.call.iter().flat_map(|call| call.locations.iter().map(|location| &location.path));
    let mut paths = changed.chain(located).peekable();
    paths.peek().is_some() && paths.all(|path| flat(&cwd.join(path)).starts_with(flat(cwd)))
}

/// A path without `.` and `..`, by its words alone.
fn flat(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                flat.pop();
            }
            Component::CurDir => {}
            part => flat.push(part),
        }
    }
    flat
}

fn kind(request: &RequestOpened, mcp: bool) -> Kind {
    let call = request.call.as_ref();
    if mcp || call.is_some_and(|call| call.name.starts_with("mcp__")) {
        return Kind::Mcp;
    }
    match (request.about, call.map(|call| call.kind)) {
        (About::Command, _) | (_, Some(CallKind::Execute)) => Kind::Command,
        (About::FileChange, _) | (_, Some(CallKind::Edit | CallKind::Delete | CallKind::Move)) => Kind::Edit,
        (_, Some(CallKind::Read | CallKind::Search)) => Kind::Read,
        (_, Some(CallKind::Fetch)) => Kind::Web,
        _ => Kind::Other,
    }
}

/// An entry is a kind, a tool's name, or a name with a pattern in brackets, of which the agent knows the meaning and
/// we only the name.
fn matches(entry: &str, kind: Kind, name: Option<&str>) -> bool {
    kind.name().is_some_and(|kind| entry.eq_ignore_ascii_case(kind))
        || name.is_some_and(|name| entry.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use switchboard_event::{
        About, ApprovalMode, Call, CallKind, Change, ChangeKind, Location, RequestOpened, SessionConfig,
    };

    use super::{Verdict, decide};

    fn command() -> RequestOpened {
        let call = Call { name: "Bash".to_owned(), kind: CallKind::Execute, ..Call::default() };
        RequestOpened { about: About::Command, call: Some(Box::new(call)), ..RequestOpened::default() }
    }

    fn edit(path: &str, kind: ChangeKind) -> RequestOpened {
        let change = Change { path: path.to_owned(), kind, ..Change::default() };
        RequestOpened { about: About::FileChange, changes: vec![change], ..RequestOpened::default() }
    }

    fn read() -> RequestOpened {
        let locations = vec![Location { path: "/etc/passwd".to_owned(), line: None }];
        let call = Call { name: "Read".to_owned(), kind: CallKind::Read, locations, ..Call::default() };
        RequestOpened { about: About::Tool, call: Some(Box::new(call)), ..RequestOpened::default() }
    }

    fn config(mode: ApprovalMode, allowed: &[&str], blocked: &[&str]) -> SessionConfig {
        let list = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        SessionConfig {
            approval_mode: Some(mode),
            allowed_tools: list(allowed),
            blocked_tools: list(blocked),
            ..SessionConfig::default()
        }
    }

    fn check(mode: ApprovalMode, allowed: &[&str], blocked: &[&str], request: &RequestOpened, expected: &str) {
        let verdict = match decide(&config(mode, allowed, blocked), Path::new("/w/project"), request, false) {
            Verdict::Allow => "allow",
            Verdict::Decline(_) => "decline",
            Verdict::Ask => "ask",
        };
        assert_eq!(verdict, expected, "{mode:?} {allowed:?} {blocked:?} {request:?}");
    }

    #[test]
    fn modes_decide() {
        use ApprovalMode::{Ask, AskDangerous, AutoAll, AutoEdit};
        let (inside, outside) = (edit("src/a.rs", ChangeKind::Modify), edit("/w/other/a.rs", ChangeKind::Modify));
        let (sneaky, delete) = (edit("../other/a.rs", ChangeKind::Add), edit("a.rs", ChangeKind::Delete));
        let question = RequestOpened { about: About::Question, ..RequestOpened::default() };
        for (mode, request, expected) in [
            (Ask, command(), "ask"),
            (Ask, read(), "ask"),
            (AskDangerous, command(), "ask"),
            (AskDangerous, read(), "allow"),
            (AskDangerous, inside.clone(), "allow"),
            (AskDangerous, outside.clone(), "ask"),
            (AskDangerous, sneaky.clone(), "ask"),
            (AskDangerous, delete.clone(), "ask"),
            (AskDangerous, edit("", ChangeKind::Modify), "allow"),
            (AutoEdit, inside, "allow"),
            (AutoEdit, delete, "allow"),
            (AutoEdit, outside, "ask"),
            (AutoEdit, sneaky, "ask"),
            (AutoEdit, command(), "ask"),
            (AutoAll, command(), "allow"),
            (AutoAll, question, "ask"),
        ] {
            check(mode, &[], &[], &request, expected);
        }
    }

    #[test]
    fn lists_come_before_modes_and_blocked_before_allowed() {
        check(ApprovalMode::Ask, &["command"], &[], &command(), "allow");
        check(ApprovalMode::Ask, &["bash"], &[], &command(), "allow");
        check(ApprovalMode::AutoAll, &["Bash"], &["COMMAND"], &command(), "decline");
        check(ApprovalMode::AutoAll, &[], &["read"], &command(), "allow");
        check(ApprovalMode::AutoAll, &[], &["read"], &read(), "decline");
    }

    #[test]
    fn a_change_of_unknown_files_is_dangerous() {
        let unknown = RequestOpened { about: About::FileChange, ..RequestOpened::default() };
        check(ApprovalMode::AutoEdit, &[], &[], &unknown, "ask");
        check(ApprovalMode::AskDangerous, &[], &[], &unknown, "ask");
    }
}
