//! Notices for events without meaning for the conversation: repetitions, heartbeats, and events about the server
//! itself. An event that is not listed here is unknown.

use switchboard_event::{Level, Notice, Topic};

use super::wire::Event;

/// Returns the notice for a known event that caused no other event.
pub fn notice(event: &Event<'_>) -> Option<Notice> {
    let fields = &event.fields;
    let notice = Notice::new(topic(event)?).with_level(Level::Debug).with_name(&*event.kind);
    Some(match &*event.kind {
        "session.status" => Notice { status: fields.get_object("status").get_non_empty("type"), ..notice },
        "session.idle" => notice.with_status("idle"),
        "file.edited" | "file.watcher.updated" => Notice { text: fields.get_non_empty("file"), ..notice },
        "vcs.branch.updated" => Notice { text: fields.get_non_empty("branch"), ..notice },
        "command.executed" => Notice { text: fields.get_non_empty("name"), ..notice },
        "todo.updated" => Notice { detail: fields.get_raw("todos"), ..notice },
        "session.diff" => Notice { detail: fields.get_raw("diff"), ..notice },
        "mcp.browser.open.failed" => notice.with_level(Level::Warning),
        _ => notice,
    })
}

/// Returns the notice for an event of another conversation.
pub fn elsewhere(event: &Event<'_>) -> Notice {
    Notice::new(Topic::Control).with_level(Level::Debug).with_name(&*event.kind)
}

fn topic(event: &Event<'_>) -> Option<Topic> {
    let kind = &*event.kind;
    let listed = |(topic, kinds): &(Topic, &[&str])| kinds.contains(&kind).then_some(*topic);
    match kind {
        "session.diff" if !event.fields.get_array("diff").is_empty() => Some(Topic::Snapshot),
        "mcp.browser.open.failed" => Some(Topic::Warning),
        _ if kind.starts_with("tui.") => Some(Topic::Control),
        _ => TOPICS.iter().find_map(listed),
    }
}

const TOPICS: &[(Topic, &[&str])] = &[(Topic::Echo, REPEATED), (Topic::Heartbeat, ALIVE), (Topic::Control, AFFAIRS)];

/// Events that repeat something: the whole session or message, an unchanged status, or the content of a tool part.
#[rustfmt::skip]
const REPEATED: &[&str] = &[
    "sync", "session.updated", "session.status", "session.idle", "session.diff", "message.updated", "message.part.updated",
    "permission.asked", "permission.updated", "permission.v2.asked", "question.asked", "question.v2.asked",
    "todo.updated", "file.edited", "file.watcher.updated",
    "session.next.prompt.admitted", "session.next.agent.switched", "session.next.moved",
    "session.next.text.started", "session.next.reasoning.started", "session.next.tool.progress",
];

/// Events that show that the server is alive: it loads components, or a model writes text that is not shown.
#[rustfmt::skip]
const ALIVE: &[&str] = &[
    "server.heartbeat", "server.connected", "plugin.added", "catalog.updated", "reference.updated", "integration.updated",
    "integration.connection.updated", "models-dev.refreshed", "lsp.updated", "lsp.client.diagnostics", "message.part.delta",
    "session.next.tool.input.delta", "session.next.tool.input.ended", "session.next.compaction.delta",
];

#[rustfmt::skip]
const AFFAIRS: &[&str] = &[
    "server.instance.disposed", "global.disposed", "session.created", "session.deleted", "session.error", "command.executed",
    "vcs.branch.updated", "pty.created", "pty.updated", "pty.exited", "pty.deleted", "mcp.tools.changed",
    "project.updated", "project.directories.updated", "installation.updated", "installation.update-available", "ide.installed",
    "workspace.ready", "workspace.failed", "workspace.status", "worktree.ready", "worktree.failed",
    "session.next.context.updated", "session.next.revert.cleared",
];
