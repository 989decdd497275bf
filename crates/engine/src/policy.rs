//! What is allowed without asking: the session's settings against what an agent asks for. Of the world it looks only at
//! where paths lead.

use switchboard_event::{About, ApprovalMode, Call, CallKind, Change, ChangeKind, RequestOpened, SessionConfig};

use crate::paths::{EditTarget, Workspace};

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
pub fn decide(config: &SessionConfig, workspace: &Workspace, request: &RequestOpened, mcp: bool) -> Verdict {
    match request.about {
        About::Command | About::FileChange | About::Tool => decide_tool(config, workspace, request, mcp),
        _ if request.requires_person => Verdict::Ask,
        About::Plan | About::Permissions if mode(config) == ApprovalMode::AutoAll => Verdict::Allow,
        _ => Verdict::Ask,
    }
}

fn decide_tool(config: &SessionConfig, workspace: &Workspace, request: &RequestOpened, mcp: bool) -> Verdict {
    let (kind, name) = (call_kind(request, mcp), request.call.as_ref().map(|call| call.name.as_str()));
    let listed = |list: &Option<Vec<String>>| list.iter().flatten().any(|entry| matches(entry, kind, name));
    if listed(&config.blocked_tools) {
        return Verdict::Decline("this tool is blocked in the settings of the session".to_owned());
    }
    // A blocked tool never runs, not even if a person would allow it.
    if request.requires_person {
        return Verdict::Ask;
    }
    if mode(config) == ApprovalMode::AutoAll {
        return Verdict::Allow;
    }
    let edits = if kind == Kind::Edit { Edits::of(workspace, request) } else { Edits::Outside };
    if kind == Kind::Edit && edits == Edits::Protected {
        // An entry of a list speaks of a tool, and means no file that runs code later.
        return Verdict::Ask;
    }
    if listed(&config.allowed_tools) {
        return Verdict::Allow;
    }
    let allowed = match mode(config) {
        ApprovalMode::AutoAll => true,
        ApprovalMode::Ask => false,
        ApprovalMode::AutoEdit => kind == Kind::Read || kind == Kind::Edit && edits == Edits::Inside,
        ApprovalMode::AskDangerous => !is_dangerous(kind, edits, request),
    };
    if allowed { Verdict::Allow } else { Verdict::Ask }
}

fn mode(config: &SessionConfig) -> ApprovalMode {
    config.approval_mode.unwrap_or_default()
}

/// Where the files lie that a request would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edits {
    /// All in the workspace.
    Inside,
    /// At least one elsewhere.
    Outside,
    /// At least one is protected, or may be: it cannot be told where it lies.
    Protected,
}

impl Edits {
    fn of(workspace: &Workspace, request: &RequestOpened) -> Self {
        if moves_to_unknown(request) {
            return Self::Protected;
        }
        let changed = request.changes.iter().flat_map(|change| [Some(&change.path), change.to.as_ref()]).flatten();
        let located = request.call.iter().flat_map(|call| call.locations.iter().map(|location| &location.path));
        let mut edits = None;
        for path in changed.chain(located) {
            match workspace.edit_target(path) {
                Ok(EditTarget { is_protected: false, is_inside: true }) => {
                    edits.get_or_insert(Self::Inside);
                }
                Ok(EditTarget { is_protected: false, is_inside: false }) => edits = Some(Self::Outside),
                Ok(EditTarget { is_protected: true, .. }) | Err(_) => return Self::Protected,
            }
        }
        edits.unwrap_or(Self::Protected)
    }
}

/// A file is moved, and the request does not say where to.
pub(crate) fn moves_to_unknown(request: &RequestOpened) -> bool {
    let has_target = request.changes.iter().any(|change| change.to.is_some());
    let is_open = |change: &Change| change.kind == ChangeKind::Move && change.to.is_none();
    let is_call = |call: &Call| call.kind == CallKind::Move && !has_target && call.locations.len() < 2;
    request.changes.iter().any(is_open) || request.call.as_deref().is_some_and(is_call)
}

/// Dangerous is what runs something, deletes, changes files outside the workspace, reaches the network, or is not
/// known to do none of that.
fn is_dangerous(kind: Kind, edits: Edits, request: &RequestOpened) -> bool {
    match kind {
        Kind::Read => false,
        Kind::Edit => deletes(request) || edits != Edits::Inside,
        Kind::Command | Kind::Web | Kind::Mcp => true,
        Kind::Other => !matches!(request.call.as_ref().map(|call| call.kind), Some(CallKind::Think)),
    }
}

fn deletes(request: &RequestOpened) -> bool {
    request.call.as_ref().is_some_and(|call| call.kind == CallKind::Delete)
        || request.changes.iter().any(|change| change.kind == ChangeKind::Delete)
}

/// Returns what sort of tool a request is about.
pub(crate) fn call_kind(request: &RequestOpened, mcp: bool) -> Kind {
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
    use std::{fs, os::unix::fs::symlink};

    use switchboard_event::{
        About, ApprovalMode, Call, CallKind, Change, ChangeKind, Location, RequestOpened, SessionConfig,
    };

    use super::{Verdict, decide};
    use crate::paths::Workspace;

    fn command() -> RequestOpened {
        let call = Call { name: "Bash".to_owned(), kind: CallKind::Execute, ..Call::default() };
        RequestOpened { about: About::Command, call: Some(Box::new(call)), ..RequestOpened::default() }
    }

    fn edit(path: &str, kind: ChangeKind) -> RequestOpened {
        let change = Change { path: path.to_owned(), kind, ..Change::default() };
        RequestOpened { about: About::FileChange, changes: vec![change], ..RequestOpened::default() }
    }

    fn rename(path: &str, to: &str) -> RequestOpened {
        let change = Change { path: path.to_owned(), to: Some(to.to_owned()), ..Change::default() };
        RequestOpened { about: About::FileChange, changes: vec![change], ..RequestOpened::default() }
    }

    fn tool(name: &str, kind: CallKind, path: &str) -> RequestOpened {
        let locations = vec![Location { path: path.to_owned(), line: None }];
        let call = Call { name: name.to_owned(), kind, locations, ..Call::default() };
        RequestOpened { about: About::Tool, call: Some(Box::new(call)), ..RequestOpened::default() }
    }

    fn read() -> RequestOpened {
        tool("Read", CallKind::Read, "/etc/passwd")
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

    struct Place {
        _directory: tempfile::TempDir,
        workspace: Workspace,
        other: String,
    }

    /// A project with links that leave it.
    fn place() -> Place {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        for name in ["project/src", "project/.git/hooks", "other", "home"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        fs::write(base.join("other/file"), "").unwrap();
        symlink("../other", base.join("project/directory_link")).unwrap();
        symlink("../other/file", base.join("project/file_link")).unwrap();
        symlink("../other/missing", base.join("project/dangling_link")).unwrap();
        symlink(".git/hooks", base.join("project/hooks_link")).unwrap();
        let workspace = Workspace::new(base.join("project"), [base.join("home")]);
        Place { _directory: directory, workspace, other: base.join("other/a.rs").to_string_lossy().into_owned() }
    }

    impl Place {
        fn check(
            &self,
            mode: ApprovalMode,
            allowed: &[&str],
            blocked: &[&str],
            request: &RequestOpened,
            expected: &str,
        ) {
            let verdict = match decide(&config(mode, allowed, blocked), &self.workspace, request, false) {
                Verdict::Allow => "allow",
                Verdict::Decline(_) => "decline",
                Verdict::Ask => "ask",
            };
            assert_eq!(verdict, expected, "{mode:?} {allowed:?} {blocked:?} {request:?}");
        }
    }

    #[test]
    fn modes_decide() {
        use ApprovalMode::{Ask, AskDangerous, AutoAll, AutoEdit};
        let place = place();
        let (inside, outside) = (edit("src/a.rs", ChangeKind::Modify), edit(&place.other, ChangeKind::Modify));
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
            (AutoEdit, inside, "allow"),
            (AutoEdit, delete, "allow"),
            (AutoEdit, outside, "ask"),
            (AutoEdit, sneaky, "ask"),
            (AutoEdit, command(), "ask"),
            (AutoAll, command(), "allow"),
            (AutoAll, question, "ask"),
        ] {
            place.check(mode, &[], &[], &request, expected);
        }
    }

    #[test]
    fn lists_come_before_modes_and_blocked_before_allowed() {
        let place = place();
        place.check(ApprovalMode::Ask, &["command"], &[], &command(), "allow");
        place.check(ApprovalMode::Ask, &["bash"], &[], &command(), "allow");
        place.check(ApprovalMode::Ask, &["edit"], &[], &edit(&place.other, ChangeKind::Modify), "allow");
        place.check(ApprovalMode::AutoAll, &["Bash"], &["COMMAND"], &command(), "decline");
        place.check(ApprovalMode::AutoAll, &[], &["read"], &command(), "allow");
        place.check(ApprovalMode::AutoAll, &[], &["read"], &read(), "decline");
    }

    #[test]
    fn an_edit_that_leaves_the_workspace_is_asked() {
        let place = place();
        for path in [
            "directory_link/x",
            "file_link",
            "dangling_link",
            "~/notes",
            "~ada/notes",
            "",
            "a\0b",
            ".",
            "file:///etc/passwd",
            "$HOME/.bashrc",
            " /etc/passwd",
        ] {
            for mode in [ApprovalMode::AutoEdit, ApprovalMode::AskDangerous] {
                place.check(mode, &[], &[], &edit(path, ChangeKind::Modify), "ask");
                place.check(mode, &[], &[], &tool("Edit", CallKind::Edit, path), "ask");
                place.check(mode, &[], &[], &rename("src/a.rs", path), "ask");
            }
            place.check(ApprovalMode::AutoAll, &[], &[], &edit(path, ChangeKind::Modify), "allow");
        }
    }

    #[test]
    fn an_edit_of_a_protected_path_is_asked_in_every_mode_but_auto_all() {
        let place = place();
        for path in [
            ".git/hooks/pre-commit",
            ".git/config",
            "hooks_link/pre-commit",
            ".mcp.json",
            ".vscode/tasks.json",
            "sub/.git/config",
            "~/.bashrc",
        ] {
            for mode in [ApprovalMode::Ask, ApprovalMode::AutoEdit, ApprovalMode::AskDangerous] {
                for allowed in [&[][..], &["edit"], &["Write"]] {
                    place.check(mode, allowed, &[], &edit(path, ChangeKind::Add), "ask");
                    place.check(mode, allowed, &[], &tool("Write", CallKind::Edit, path), "ask");
                }
            }
            place.check(ApprovalMode::AutoAll, &[], &[], &edit(path, ChangeKind::Add), "allow");
            place.check(ApprovalMode::AutoEdit, &["edit"], &["edit"], &edit(path, ChangeKind::Add), "decline");
        }
        // What reads a protected file changes nothing.
        place.check(ApprovalMode::AutoEdit, &[], &[], &tool("Read", CallKind::Read, ".git/config"), "allow");
    }

    #[test]
    fn a_request_for_a_person_is_never_allowed_by_settings() {
        let place = place();
        let plan = RequestOpened { about: About::Plan, ..RequestOpened::default() };
        let permissions = RequestOpened { about: About::Permissions, ..RequestOpened::default() };
        let requests = [command(), read(), edit("src/a.rs", ChangeKind::Modify), plan, permissions];
        for request in requests.map(RequestOpened::for_a_person) {
            for mode in [ApprovalMode::Ask, ApprovalMode::AskDangerous, ApprovalMode::AutoEdit, ApprovalMode::AutoAll] {
                for allowed in [&[][..], &["command", "read", "edit", "Bash", "Read"]] {
                    place.check(mode, allowed, &[], &request, "ask");
                }
            }
        }
        place.check(ApprovalMode::AutoAll, &[], &["command"], &command().for_a_person(), "decline");
    }

    #[test]
    fn one_file_elsewhere_is_enough_to_ask() {
        let place = place();
        let mut both = edit("src/a.rs", ChangeKind::Modify);
        both.changes.extend(edit(&place.other, ChangeKind::Modify).changes);
        place.check(ApprovalMode::AutoEdit, &[], &[], &both, "ask");
        both.changes.reverse();
        place.check(ApprovalMode::AutoEdit, &[], &[], &both, "ask");
    }

    #[test]
    fn a_move_to_an_unknown_place_is_asked() {
        let place = place();
        let mut moved = tool("Move", CallKind::Move, "src/a.rs");
        place.check(ApprovalMode::AutoEdit, &[], &[], &moved, "ask");
        place.check(ApprovalMode::AskDangerous, &[], &[], &moved, "ask");
        place.check(ApprovalMode::AutoEdit, &[], &[], &edit("src/a.rs", ChangeKind::Move), "ask");
        let target = Location { path: "src/b.rs".to_owned(), line: None };
        moved.call.as_mut().unwrap().locations.push(target);
        place.check(ApprovalMode::AutoEdit, &[], &[], &moved, "allow");
        place.check(ApprovalMode::AutoEdit, &[], &[], &rename("src/a.rs", "src/b.rs"), "allow");
    }

    #[test]
    fn a_change_of_unknown_files_is_dangerous() {
        let (place, unknown) = (place(), RequestOpened { about: About::FileChange, ..RequestOpened::default() });
        place.check(ApprovalMode::AutoEdit, &[], &[], &unknown, "ask");
        place.check(ApprovalMode::AskDangerous, &[], &[], &unknown, "ask");
        place.check(ApprovalMode::Ask, &["edit"], &[], &unknown, "ask");
    }
}
