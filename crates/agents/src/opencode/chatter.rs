//! Events that mean nothing for a conversation: repetitions, signs of life, the server's own affairs. They are kept
//! as notices; what is not listed here is not known.

use switchboard_event::{Level, Notice, Topic};

use super::wire::Event;

/// The notice for an event that caused nothing else, if it is one that is known.
pub fn notice(event: &Event<'_>) -> Option<Notice> {
    let fields = &event.fields;
    let notice = Notice::new(topic(event)?).with_level(Level::Debug).with_name(&*event.kind);
    Some(match &*event.kind {
        "session.status" => Notice { status: fields.object("status").filled("type"), ..notice },
        "session.idle" => notice.with_status("idle"),
        "file.edited" | "file.watcher.updated" => Notice { text: fields.filled("file"), ..notice },
        "vcs.branch.updated" => Notice { text: fields.filled("branch"), ..notice },
        "command.executed" => Notice { text: fields.filled("name"), ..notice },
        "todo.updated" => Notice { detail: fields.raw("todos"), ..notice },
        "session.diff" => Notice { detail: fields.raw("diff"), ..notice },
        "mcp.browser.open.failed" => notice.with_level(Level::Warning),
        _ => notice,
    })
}

/// An event of a conversation that is not this one.
pub fn elsewhere(event: &Event<'_>) -> Notice {
    Notice::new(Topic::Control).with_level(Level::Debug).with_name(&*event.kind)
}

fn topic(event: &Event<'_>) -> Option<Topic> {
    let kind = &*event.kind;
    let listed = |(topic, kinds): &(Topic, &[&str])| kinds.contains(&kind).then_some(*topic);
    match kind {
        "session.diff" if !event.fields.array("diff").is_empty() => Some(Topic::Snapshot),
        "mcp.browser.open.failed" => Some(Topic::Warning),
        _ if kind.starts_with("tui.") => Some(Topic::Control),
        _ => TOPICS.iter().find_map(listed),
    }
}

const TOPICS: &[(Topic, &[&str])] = &[(Topic::Echo, REPEATED), (Topic::Heartbeat, ALIVE), (Topic::Control, AFFAIRS)];

/// What was said before, or is said elsewhere too: all of a session or a message again, the same status again, what
/// a tool's part says anyway.
#[rustfmt::skip]
const REPEATED: &[&str] = &[
    "sync", "session.updated", "session.status", "session.idle", "session.diff", "message.updated", "message.part.updated",
    "permission.asked", "permission.updated", "permission.v2.asked", "question.asked", "question.v2.asked",
    "todo.updated", "file.edited", "file.watcher.updated",
    "session.next.prompt.admitted", "session.next.agent.switched", "session.next.moved",
    "session.next.text.started", "session.next.reasoning.started", "session.next.tool.progress",
];

/// The server works: it loads its parts, or a model writes what is not shown.
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
