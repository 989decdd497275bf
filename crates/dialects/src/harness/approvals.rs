//! Requests of the agent: opened and resolved.

use switchboard_event::{About, Event, RequestOpened, RequestResolved};

use super::{
    items::{file_changes, request_item_id},
    wire::{
        ApprovalMeta, CommandApproval, FileChangeApproval, Notification, OpenRequest, Request, RequestMethod, Resolved,
        TurnId,
    },
};

/// Builds the request message for a client.
pub fn request_message<'a>(event: &'a Event, turn_id: TurnId, request: &'a RequestOpened, cwd: &'a str) -> Request<'a> {
    let (thread_id, item_id) = (&*event.session, request_item_id(event, &request.request));
    let (reason, meta) = (request.reason.as_deref(), approval_meta(event, request));
    let method = match request.about {
        About::Command => RequestMethod::Command(CommandApproval {
            thread_id,
            turn_id,
            item_id,
            command: request.command.as_deref().unwrap_or(&request.title),
            cwd: request.cwd.as_deref().unwrap_or(cwd),
            reason,
            meta,
        }),
        About::FileChange => {
            let changes = file_changes(&request.changes);
            RequestMethod::FileChange(FileChangeApproval { thread_id, turn_id, item_id, changes, reason, meta })
        }
        _ => RequestMethod::Other(OpenRequest { thread_id, turn_id, item_id: event.item.as_deref(), request }),
    };
    Request { id: &request.request, method }
}

fn approval_meta<'a>(event: &'a Event, request: &'a RequestOpened) -> ApprovalMeta<'a> {
    let call = request.call.as_deref();
    ApprovalMeta {
        title: Some(request.title.as_str()).filter(|title| !title.is_empty()),
        tool: call.map(|call| call.name.as_str()).filter(|name| !name.is_empty()),
        input: call.and_then(|call| call.input.as_deref()),
        options: &request.options,
        requires_person: request.requires_person,
        expires_at: request.expires_at,
        thread: event.thread.as_deref(),
        parent_item_id: event.parent.as_deref(),
    }
}

/// Builds the notification that a request is resolved.
pub fn resolved_notification<'a>(event: &'a Event, turn_id: TurnId, resolved: &'a RequestResolved) -> Notification<'a> {
    Notification::Resolved(Resolved {
        thread_id: &event.session,
        turn_id,
        request_id: &resolved.request,
        outcome: resolved.outcome,
        by: resolved.by,
        option: resolved.option.as_deref(),
        input: resolved.input.as_deref(),
        answers: &resolved.answers,
        message: resolved.message.as_deref(),
    })
}
