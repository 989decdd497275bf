//! Events that mean nothing for a conversation: the server's own affairs, repetitions, signs of life. They are kept
//! as notices; what is not listed here is not known.

use switchboard_event::{Level, Notice, Topic};

use super::wire::Event;

/// The notice for an event that caused nothing else, if it is one that is known.
pub fn notice(event: &Event<'_>) -> Option<Notice> {
    let notice = Notice::new(topic(&event.kind)?).with_level(Level::Debug).with_name(&*event.kind);
    Some(match &*event.kind {
        "session.status" => Notice { status: event.fields.object("status").filled("type"), ..notice },
        "session.idle" => notice.with_status("idle"),
        "file.edited" | "file.watcher.updated" => Notice { text: event.fields.filled("file"), ..notice },
        "vcs.branch.updated" => Notice { text: event.fields.filled("branch"), ..notice },
        "todo.updated" => Notice { detail: event.fields.raw("todos"), ..notice },
        "session.diff" => Notice { detail: event.fields.raw("diff"), ..notice },
        "command.executed" => Notice { text: event.fields.filled("name"), ..notice },
        "mcp.browser.open.failed" => notice.with_level(Level::Warning),
        _ => notice,
    })
}

/// An event of a conversation that is not this one.
pub fn elsewhere(event: &Event<'_>) -> Notice {
    Notice::new(Topic::Control).with_level(Level::Debug).with_name(&*event.kind)
}

#[rustfmt::skip]
fn topic(kind: &str) -> Option<Topic> {
    Some(match kind {
        "server.heartbeat" => Topic::Heartbeat,
        // The same event once more, as the durable log has it.
        "sync" => Topic::Echo,
        "session.diff" => Topic::Snapshot,
        "mcp.browser.open.failed" => Topic::Warning,
        // What a session does was said when it changed; here it is only said again.
        "session.status" | "session.idle" | "server.connected" | "server.instance.disposed" | "global.disposed"
        | "session.created" | "session.updated" | "session.deleted" | "session.error" | "session.compacted"
        | "message.updated" | "message.removed" | "message.part.updated" | "message.part.delta" | "message.part.removed"
        | "permission.asked" | "permission.updated" | "permission.replied" | "permission.v2.asked" | "permission.v2.replied"
        | "question.asked" | "question.replied" | "question.rejected"
        | "question.v2.asked" | "question.v2.replied" | "question.v2.rejected"
        | "todo.updated" | "command.executed" | "file.edited" | "file.watcher.updated" | "vcs.branch.updated" | "lsp.updated" | "lsp.client.diagnostics"
        | "pty.created" | "pty.updated" | "pty.exited" | "pty.deleted"
        | "mcp.tools.changed" | "project.updated" | "project.directories.updated"
        | "installation.updated" | "installation.update-available" | "ide.installed"
        | "plugin.added" | "catalog.updated" | "reference.updated" | "integration.updated" | "integration.connection.updated"
        | "models-dev.refreshed" | "workspace.ready" | "workspace.failed" | "workspace.status" | "worktree.ready" | "worktree.failed"
        | "session.next.agent.switched" | "session.next.model.switched" | "session.next.moved"
        | "session.next.prompted" | "session.next.prompt.admitted" | "session.next.context.updated" | "session.next.synthetic"
        | "session.next.shell.started" | "session.next.shell.ended"
        | "session.next.step.started" | "session.next.step.ended" | "session.next.step.failed"
        | "session.next.text.started" | "session.next.text.delta" | "session.next.text.ended"
        | "session.next.reasoning.started" | "session.next.reasoning.delta" | "session.next.reasoning.ended"
        | "session.next.tool.input.started" | "session.next.tool.input.delta" | "session.next.tool.input.ended"
        | "session.next.tool.called" | "session.next.tool.progress" | "session.next.tool.success" | "session.next.tool.failed"
        | "session.next.retried" | "session.next.revert.staged" | "session.next.revert.cleared" | "session.next.revert.committed"
        | "session.next.compaction.started" | "session.next.compaction.delta" | "session.next.compaction.ended" => Topic::Control,
        kind if kind.starts_with("tui.") => Topic::Control,
        _ => return None,
    })
}
