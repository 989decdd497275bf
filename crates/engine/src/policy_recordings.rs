//! The policy and the readers together: in every recording of every agent, the path that a file request names is exchanged
//! for one that leads elsewhere, and the request must then be asked about.

use std::{collections::BTreeSet, path::PathBuf};

use serde_json::json;
use switchboard_agents::source;
use switchboard_event::{About, ApprovalMode, Body, Event, RequestOpened, SessionConfig};
use switchboard_testkit::{play, recording::recordings};

use crate::{
    paths::Workspace,
    policy::{Verdict, decide},
};

/// Paths that are not in the workspace, whatever an agent makes of them.
const ELSEWHERE: [&str; 6] =
    ["~/.bashrc", "$HOME/.bashrc", "${HOME}/.bashrc", "file:///home/ada/.bashrc", " ~/.bashrc", " /home/ada/.bashrc"];

fn file_requests(events: &[Event]) -> Vec<RequestOpened> {
    let request = |event: &Event| match &event.body {
        Body::RequestOpened(request) if request.about == About::FileChange => Some((**request).clone()),
        _ => None,
    };
    events.iter().filter_map(request).collect()
}

/// The directory that the recorded agent worked in.
fn directory(events: &[Event]) -> PathBuf {
    let cwd = |event: &Event| match &event.body {
        Body::SessionStarted(started) => started.info.cwd.clone(),
        Body::SessionUpdated(updated) => updated.info.cwd.clone(),
        _ => None,
    };
    events.iter().filter_map(cwd).next_back().unwrap_or_else(|| "/work".to_owned()).into()
}

fn is_allowed(request: &RequestOpened, workspace: &Workspace, mode: ApprovalMode) -> bool {
    let config = SessionConfig { approval_mode: Some(mode), ..SessionConfig::default() };
    decide(&config, workspace, request, false) == Verdict::Allow
}

#[test]
fn a_file_request_for_a_path_elsewhere_is_asked_whichever_agent_makes_it() {
    let mut tried = BTreeSet::new();
    for recording in recordings().unwrap().iter().filter(|recording| recording.log.is_none()) {
        let recorded = play::events(recording.source, &recording.bytes);
        let workspace = Workspace::new(directory(&recorded), [PathBuf::from("/home/ada")]);
        let text = String::from_utf8_lossy(&recording.bytes);
        for request in file_requests(&recorded) {
            let [change] = request.changes.as_slice() else { continue };
            if !is_allowed(&request, &workspace, ApprovalMode::AutoEdit) {
                continue;
            }
            for elsewhere in ELSEWHERE {
                let exchanged = text.replace(&change.path, elsewhere);
                let requests = file_requests(&play::events(recording.source, exchanged.as_bytes()));
                let same = requests.iter().filter(|exchanged| exchanged.request == request.request);
                for exchanged in same.filter(|exchanged| exchanged.changes.iter().all(|now| now.path != change.path)) {
                    tried.insert(recording.source.name);
                    for mode in [ApprovalMode::AutoEdit, ApprovalMode::AskDangerous] {
                        assert!(
                            !is_allowed(exchanged, &workspace, mode),
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

/// A session over ACP in which a call is announced and then asked about.
fn announced_and_asked(announced: &serde_json::Value, asked: &serde_json::Value) -> RequestOpened {
    let join = |fields: &serde_json::Value, more: serde_json::Value| {
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
    let events = play::events(source("acp").unwrap(), text.as_bytes());
    let request = |event: &Event| match &event.body {
        Body::RequestOpened(request) => Some((**request).clone()),
        _ => None,
    };
    events.iter().find_map(request).unwrap()
}

#[test]
fn a_call_is_judged_by_all_that_is_said_about_it() {
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
        assert_eq!(is_allowed(&request, &workspace, ApprovalMode::AutoEdit), expected, "{announced} {asked}");
    }
}
