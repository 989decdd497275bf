//! Decides requests of an agent by the settings of the session. Its only outside input is where paths lead.

use switchboard_event::{About, ApprovalMode, Call, CallKind, Change, ChangeKind, RequestOpened, SessionConfig};

use crate::paths::{EditTarget, Workspace};

/// The decision of the settings about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyVerdict {
    Allow,
    /// The request is declined, with a message for the agent.
    Decline(String),
    /// A client must be asked.
    Ask,
}

/// Decides a request by the session's settings. `is_mcp` means that the tool is known to belong to an MCP server.
pub fn decide_request(
    config: &SessionConfig,
    workspace: &Workspace,
    request: &RequestOpened,
    is_mcp: bool,
) -> PolicyVerdict {
    let mode = config.approval_mode.unwrap_or_default();
    match request.about {
        About::Command | About::FileChange | About::Tool => decide_tool(config, mode, workspace, request, is_mcp),
        About::Plan | About::Permissions if !request.requires_person && mode == ApprovalMode::AutoAll => {
            PolicyVerdict::Allow
        }
        _ => PolicyVerdict::Ask,
    }
}

fn decide_tool(
    config: &SessionConfig,
    mode: ApprovalMode,
    workspace: &Workspace,
    request: &RequestOpened,
    is_mcp: bool,
) -> PolicyVerdict {
    let category = ToolCategory::of_request(request, is_mcp);
    let name = request.call.as_ref().map(|call| call.name.as_str());
    let is_listed = |list: &Option<Vec<String>>| list.iter().flatten().any(|entry| category.is_listed_as(entry, name));
    if is_listed(&config.blocked_tools) {
        return PolicyVerdict::Decline("this tool is blocked in the settings of the session".to_owned());
    }
    // A blocked tool never runs, not even if a person would allow it.
    if request.requires_person {
        return PolicyVerdict::Ask;
    }
    if mode == ApprovalMode::AutoAll {
        return PolicyVerdict::Allow;
    }
    let is_edit = category == ToolCategory::Edit;
    let scope = if is_edit { EditScope::of_request(workspace, request) } else { EditScope::Outside };
    if scope == EditScope::Protected {
        // An entry of a list allows a tool, but not changes of files that run code later.
        return PolicyVerdict::Ask;
    }
    let is_allowed = is_listed(&config.allowed_tools)
        || match mode {
            ApprovalMode::AutoAll => true,
            ApprovalMode::Ask => false,
            ApprovalMode::AutoEdit => category == ToolCategory::Read || is_edit && scope == EditScope::Inside,
            ApprovalMode::AskDangerous => !is_dangerous(category, scope, request),
        };
    if is_allowed { PolicyVerdict::Allow } else { PolicyVerdict::Ask }
}

/// The category of a tool, as settings name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolCategory {
    Command,
    /// Changes files.
    Edit,
    /// Reads or searches files.
    Read,
    /// Fetches from the network.
    Web,
    Mcp,
    Other,
}

impl ToolCategory {
    pub fn of_request(request: &RequestOpened, is_mcp: bool) -> Self {
        let call = request.call.as_ref();
        if is_mcp || call.is_some_and(|call| call.name.starts_with("mcp__")) {
            return Self::Mcp;
        }
        match (request.about, call.map(|call| call.kind)) {
            (About::Command, _) | (_, Some(CallKind::Execute)) => Self::Command,
            (About::FileChange, _) | (_, Some(CallKind::Edit | CallKind::Delete | CallKind::Move)) => Self::Edit,
            (_, Some(CallKind::Read | CallKind::Search)) => Self::Read,
            (_, Some(CallKind::Fetch)) => Self::Web,
            _ => Self::Other,
        }
    }

    /// Returns whether an entry of `allowedTools` or `blockedTools` matches. An entry is a category, a tool's name, or
    /// a name with a pattern in brackets that only the agent understands.
    fn is_listed_as(self, entry: &str, tool: Option<&str>) -> bool {
        let category = match self {
            Self::Command => Some("command"),
            Self::Edit => Some("edit"),
            Self::Read => Some("read"),
            Self::Web => Some("web"),
            Self::Mcp => Some("mcp"),
            Self::Other => None,
        };
        [category, tool].into_iter().flatten().any(|name| entry.eq_ignore_ascii_case(name))
    }
}

/// The location of the files that a request would change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EditScope {
    /// All in the workspace.
    Inside,
    /// At least one elsewhere.
    Outside,
    /// At least one is protected, or may be: its location is unknown.
    Protected,
}

impl EditScope {
    fn of_request(workspace: &Workspace, request: &RequestOpened) -> Self {
        if moves_to_unknown(request) {
            return Self::Protected;
        }
        let changed = request.changes.iter().flat_map(|change| [Some(&change.path), change.to.as_ref()]).flatten();
        let located = request.call.iter().flat_map(|call| call.locations.iter().map(|location| &location.path));
        let mut scope = None;
        for path in changed.chain(located) {
            match workspace.edit_target(path) {
                Ok(EditTarget { is_protected: false, is_inside: true }) => {
                    scope.get_or_insert(Self::Inside);
                }
                Ok(EditTarget { is_protected: false, is_inside: false }) => scope = Some(Self::Outside),
                Ok(EditTarget { is_protected: true, .. }) | Err(_) => return Self::Protected,
            }
        }
        scope.unwrap_or(Self::Protected)
    }
}

/// Returns whether a file is moved to a target that the request does not contain.
pub fn moves_to_unknown(request: &RequestOpened) -> bool {
    let has_target = request.changes.iter().any(|change| change.to.is_some());
    let is_open = |change: &Change| change.kind == ChangeKind::Move && change.to.is_none();
    let is_call = |call: &Call| call.kind == CallKind::Move && !has_target && call.locations.len() < 2;
    request.changes.iter().any(is_open) || request.call.as_deref().is_some_and(is_call)
}

/// Returns whether a tool runs something, deletes, changes files outside the workspace, reaches the network, or is not
/// known to do none of that.
fn is_dangerous(category: ToolCategory, scope: EditScope, request: &RequestOpened) -> bool {
    let call_kind = request.call.as_ref().map(|call| call.kind);
    match category {
        ToolCategory::Read => false,
        ToolCategory::Edit => {
            let deletes = request.changes.iter().any(|change| change.kind == ChangeKind::Delete);
            deletes || call_kind == Some(CallKind::Delete) || scope != EditScope::Inside
        }
        ToolCategory::Command | ToolCategory::Web | ToolCategory::Mcp => true,
        ToolCategory::Other => call_kind != Some(CallKind::Think),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::PathBuf};

    use serde_json::{Value, json};
    use switchboard_agents::find_source;
    use switchboard_event::{
        About, ApprovalMode, Call, CallKind, Change, ChangeKind, Event, EventBody, Location, RequestOpened,
        SessionConfig,
    };
    use switchboard_testkit::recording::{self, load_recordings};

    use super::{PolicyVerdict, decide_request};
    use crate::{paths::Workspace, test_tree::TestTree};

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

    /// A project with links that leave it.
    struct PolicyFixture {
        _tree: TestTree,
        workspace: Workspace,
        /// A file outside of the workspace.
        other: String,
    }

    impl PolicyFixture {
        fn new() -> Self {
            let tree = TestTree::new(&["project/src", "project/.git/hooks", "other", "home"]);
            tree.write("other/file", "");
            tree.link("../other", "project/directory_link");
            tree.link("../other/file", "project/file_link");
            tree.link("../other/missing", "project/dangling_link");
            tree.link(".git/hooks", "project/hooks_link");
            let workspace = Workspace::new(tree.join("project"), [tree.join("home")]);
            let other = tree.join("other/a.rs").to_string_lossy().into_owned();
            Self { _tree: tree, workspace, other }
        }

        fn check(
            &self,
            mode: ApprovalMode,
            allowed: &[&str],
            blocked: &[&str],
            request: &RequestOpened,
            expected: &str,
        ) {
            let verdict = match decide_request(&config(mode, allowed, blocked), &self.workspace, request, false) {
                PolicyVerdict::Allow => "allow",
                PolicyVerdict::Decline(_) => "decline",
                PolicyVerdict::Ask => "ask",
            };
            assert_eq!(verdict, expected, "{mode:?} {allowed:?} {blocked:?} {request:?}");
        }
    }

    #[test]
    fn modes_decide() {
        use ApprovalMode::{Ask, AskDangerous, AutoAll, AutoEdit};
        let fixture = PolicyFixture::new();
        let (inside, outside) = (edit("src/a.rs", ChangeKind::Modify), edit(&fixture.other, ChangeKind::Modify));
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
            fixture.check(mode, &[], &[], &request, expected);
        }
    }

    #[test]
    fn lists_come_before_modes_and_blocked_before_allowed() {
        let fixture = PolicyFixture::new();
        fixture.check(ApprovalMode::Ask, &["command"], &[], &command(), "allow");
        fixture.check(ApprovalMode::Ask, &["bash"], &[], &command(), "allow");
        fixture.check(ApprovalMode::Ask, &["edit"], &[], &edit(&fixture.other, ChangeKind::Modify), "allow");
        fixture.check(ApprovalMode::AutoAll, &["Bash"], &["COMMAND"], &command(), "decline");
        fixture.check(ApprovalMode::AutoAll, &[], &["read"], &command(), "allow");
        fixture.check(ApprovalMode::AutoAll, &[], &["read"], &read(), "decline");
    }

    #[test]
    fn an_edit_that_leaves_the_workspace_is_asked() {
        let fixture = PolicyFixture::new();
        #[rustfmt::skip]
        let paths = [
            "directory_link/x", "file_link", "dangling_link", "~/notes", "~ada/notes", "", "a\0b", ".",
            "file:///etc/passwd", "$HOME/.bashrc", " /etc/passwd",
        ];
        for path in paths {
            for mode in [ApprovalMode::AutoEdit, ApprovalMode::AskDangerous] {
                fixture.check(mode, &[], &[], &edit(path, ChangeKind::Modify), "ask");
                fixture.check(mode, &[], &[], &tool("Edit", CallKind::Edit, path), "ask");
                fixture.check(mode, &[], &[], &rename("src/a.rs", path), "ask");
            }
            fixture.check(ApprovalMode::AutoAll, &[], &[], &edit(path, ChangeKind::Modify), "allow");
        }
    }

    #[test]
    fn an_edit_of_a_protected_path_is_asked_in_every_mode_but_auto_all() {
        let fixture = PolicyFixture::new();
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
                    fixture.check(mode, allowed, &[], &edit(path, ChangeKind::Add), "ask");
                    fixture.check(mode, allowed, &[], &tool("Write", CallKind::Edit, path), "ask");
                }
            }
            fixture.check(ApprovalMode::AutoAll, &[], &[], &edit(path, ChangeKind::Add), "allow");
            fixture.check(ApprovalMode::AutoEdit, &["edit"], &["edit"], &edit(path, ChangeKind::Add), "decline");
        }
        // Reading a protected file changes nothing.
        fixture.check(ApprovalMode::AutoEdit, &[], &[], &tool("Read", CallKind::Read, ".git/config"), "allow");
    }

    #[test]
    fn a_request_for_a_person_is_never_allowed_by_settings() {
        let fixture = PolicyFixture::new();
        let plan = RequestOpened { about: About::Plan, ..RequestOpened::default() };
        let permissions = RequestOpened { about: About::Permissions, ..RequestOpened::default() };
        let requests = [command(), read(), edit("src/a.rs", ChangeKind::Modify), plan, permissions];
        for request in requests.map(RequestOpened::require_person) {
            for mode in [ApprovalMode::Ask, ApprovalMode::AskDangerous, ApprovalMode::AutoEdit, ApprovalMode::AutoAll] {
                for allowed in [&[][..], &["command", "read", "edit", "Bash", "Read"]] {
                    fixture.check(mode, allowed, &[], &request, "ask");
                }
            }
        }
        fixture.check(ApprovalMode::AutoAll, &[], &["command"], &command().require_person(), "decline");
    }

    #[test]
    fn one_file_elsewhere_is_enough_to_ask() {
        let fixture = PolicyFixture::new();
        let mut both = edit("src/a.rs", ChangeKind::Modify);
        both.changes.extend(edit(&fixture.other, ChangeKind::Modify).changes);
        fixture.check(ApprovalMode::AutoEdit, &[], &[], &both, "ask");
        both.changes.reverse();
        fixture.check(ApprovalMode::AutoEdit, &[], &[], &both, "ask");
    }

    #[test]
    fn a_move_to_an_unknown_target_is_asked() {
        let fixture = PolicyFixture::new();
        let mut moved = tool("Move", CallKind::Move, "src/a.rs");
        fixture.check(ApprovalMode::AutoEdit, &[], &[], &moved, "ask");
        fixture.check(ApprovalMode::AskDangerous, &[], &[], &moved, "ask");
        fixture.check(ApprovalMode::AutoEdit, &[], &[], &edit("src/a.rs", ChangeKind::Move), "ask");
        let target = Location { path: "src/b.rs".to_owned(), line: None };
        moved.call.as_mut().unwrap().locations.push(target);
        fixture.check(ApprovalMode::AutoEdit, &[], &[], &moved, "allow");
        fixture.check(ApprovalMode::AutoEdit, &[], &[], &rename("src/a.rs", "src/b.rs"), "allow");
    }

    #[test]
    fn a_change_of_unknown_files_is_dangerous() {
        let (fixture, unknown) =
            (PolicyFixture::new(), RequestOpened { about: About::FileChange, ..RequestOpened::default() });
        fixture.check(ApprovalMode::AutoEdit, &[], &[], &unknown, "ask");
        fixture.check(ApprovalMode::AskDangerous, &[], &[], &unknown, "ask");
        fixture.check(ApprovalMode::Ask, &["edit"], &[], &unknown, "ask");
    }

    /// Paths that are not in the workspace, however an agent interprets them.
    const OUTSIDE_PATHS: [&str; 6] = [
        "~/.bashrc",
        "$HOME/.bashrc",
        "${HOME}/.bashrc",
        "file:///home/ada/.bashrc",
        " ~/.bashrc",
        " /home/ada/.bashrc",
    ];

    fn file_requests(events: &[Event]) -> Vec<RequestOpened> {
        let request = |event: &Event| match &event.body {
            EventBody::RequestOpened(request) if request.about == About::FileChange => Some((**request).clone()),
            _ => None,
        };
        events.iter().filter_map(request).collect()
    }

    /// Returns the working directory of the recorded agent.
    fn recorded_cwd(events: &[Event]) -> PathBuf {
        let cwd = |event: &Event| match &event.body {
            EventBody::SessionStarted(started) => started.info.cwd.clone(),
            EventBody::SessionUpdated(updated) => updated.info.cwd.clone(),
            _ => None,
        };
        events.iter().filter_map(cwd).next_back().unwrap_or_else(|| "/work".to_owned()).into()
    }

    fn is_allowed_in(request: &RequestOpened, workspace: &Workspace, mode: ApprovalMode) -> bool {
        let config = SessionConfig { approval_mode: Some(mode), ..SessionConfig::default() };
        decide_request(&config, workspace, request, false) == PolicyVerdict::Allow
    }

    #[test]
    fn a_file_request_outside_of_the_workspace_is_asked_for_every_agent() {
        let mut tried = BTreeSet::new();
        for recording in load_recordings().unwrap().iter().filter(|recording| recording.log.is_none()) {
            let recorded = recording::stream_events(recording.source, &recording.bytes);
            let workspace = Workspace::new(recorded_cwd(&recorded), [PathBuf::from("/home/ada")]);
            let text = String::from_utf8_lossy(&recording.bytes);
            for request in file_requests(&recorded) {
                let [change] = request.changes.as_slice() else { continue };
                if !is_allowed_in(&request, &workspace, ApprovalMode::AutoEdit) {
                    continue;
                }
                for elsewhere in OUTSIDE_PATHS {
                    let exchanged = text.replace(&change.path, elsewhere);
                    let requests = file_requests(&recording::stream_events(recording.source, exchanged.as_bytes()));
                    let same = requests.iter().filter(|exchanged| exchanged.request == request.request);
                    for exchanged in
                        same.filter(|exchanged| exchanged.changes.iter().all(|now| now.path != change.path))
                    {
                        tried.insert(recording.source.name);
                        for mode in [ApprovalMode::AutoEdit, ApprovalMode::AskDangerous] {
                            assert!(
                                !is_allowed_in(exchanged, &workspace, mode),
                                "{recording}: {elsewhere} is allowed in {mode:?}: {:?}",
                                exchanged.changes
                            );
                        }
                    }
                }
            }
        }
        assert!(tried.len() >= 5, "file requests of these sources only: {tried:?}");
    }

    /// Returns the request of an ACP session in which a call is announced first.
    fn announced_and_asked(announced: &Value, asked: &Value) -> RequestOpened {
        let join = |fields: &Value, more: Value| {
            let fields = fields.as_object().into_iter().chain(more.as_object()).flatten();
            fields.map(|(key, value)| (key.clone(), value.clone())).collect::<serde_json::Map<_, _>>()
        };
        let update = join(announced, json!({ "sessionUpdate": "tool_call", "toolCallId": "c1" }));
        let call = join(asked, json!({ "toolCallId": "c1" }));
        let lines = [
            json!({ "dir": "out", "msg": { "id": 0, "method": "session/new", "params": { "cwd": "/work", "mcpServers": [] } } }),
            json!({ "dir": "in", "msg": { "id": 0, "result": { "sessionId": "s" } } }),
            json!({ "dir": "out", "msg": { "id": 1, "method": "session/prompt", "params": { "sessionId": "s", "prompt": [] } } }),
            json!({ "dir": "in", "msg": { "method": "session/update", "params": { "sessionId": "s", "update": update } } }),
            json!({ "dir": "in", "msg": { "id": 7, "method": "session/request_permission",
                "params": { "sessionId": "s", "toolCall": call, "options": [] } } }),
        ];
        let text = lines.map(|line| format!("{line}\n")).concat();
        let events = recording::stream_events(find_source("acp").unwrap(), text.as_bytes());
        let request = |event: &Event| match &event.body {
            EventBody::RequestOpened(request) => Some((**request).clone()),
            _ => None,
        };
        events.iter().find_map(request).unwrap()
    }

    #[test]
    fn a_call_is_judged_by_all_announcements() {
        let workspace = Workspace::new("/work".into(), ["/home/ada".into()]);
        let at = |path: &str| json!([{ "path": path }]);
        let diff = |path: &str| json!([{ "type": "diff", "path": path, "oldText": "a", "newText": "b" }]);
        for (announced, asked, expected) in [
            (json!({ "kind": "read" }), json!({ "kind": "read" }), true),
            (json!({ "kind": "execute", "rawInput": { "command": "id" } }), json!({ "kind": "read" }), false),
            (json!({ "kind": "read" }), json!({ "kind": "execute" }), false),
            (json!({ "kind": "edit", "locations": at("a") }), json!({ "kind": "read" }), true),
            (json!({ "kind": "edit", "locations": at("/etc/passwd") }), json!({ "kind": "read" }), false),
            (json!({ "kind": "edit", "locations": at("a") }), json!({ "locations": at("/etc/passwd") }), false),
            (json!({ "kind": "edit", "locations": at("/etc/passwd") }), json!({ "locations": at("a") }), false),
            (json!({ "kind": "edit", "content": diff("/etc/passwd") }), json!({ "content": diff("a") }), false),
            (json!({ "kind": "edit", "content": diff("a") }), json!({ "content": diff("/etc/passwd") }), false),
            (json!({ "kind": "edit", "content": diff("a") }), json!({ "content": diff("a") }), true),
            (json!({ "kind": "move", "locations": at("a") }), json!({}), false),
        ] {
            let request = announced_and_asked(&announced, &asked);
            assert_eq!(is_allowed_in(&request, &workspace, ApprovalMode::AutoEdit), expected, "{announced} {asked}");
        }
    }
}
