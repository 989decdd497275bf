//! Requests of the agent and their answers.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{About, Item, Outcome, RequestOpened, RequestResolved, to_raw_json};

use super::{
    project::{MessageProjection, MessageSink},
    tools,
    wire::{Behavior, Kind, PermissionRequest, PermissionResponse, RequestSubtype},
};

impl MessageProjection {
    /// Handles an opened request.
    pub(super) fn request_opened(&mut self, request: &RequestOpened, out: &mut MessageSink<'_>) {
        if request.decided {
            // The decision is already made, so neither the request nor its answer is sent.
            return;
        }
        self.activity.open_request(&request.request, out.event.item.as_ref());
        let subtype = request_subtype(request.about);
        let item = self.track.get(out.item_id()).map(|tracked| &tracked.item);
        let is_tool = subtype == RequestSubtype::CanUseTool;
        let named = request.call.as_deref().map(|call| call.name.as_str()).filter(|name| !name.is_empty());
        let kind = Kind::PermissionRequest(Box::new(PermissionRequest {
            place: out.message_place(),
            subtype,
            about: request.about,
            request_id: &request.request,
            tool_name: named.or_else(|| is_tool.then(|| tool_name(request.about, item))),
            tool_use_id: out.event.item.as_deref(),
            input: request_input(request, item.filter(|_| is_tool))
                .or_else(|| is_tool.then(|| Cow::Owned(to_raw_json(&EmptyRequestInput {})))),
            title: &request.title,
            description: request.reason.as_deref(),
            command: request.command.as_deref(),
            cwd: request.cwd.as_deref(),
            changes: tools::file_changes(&request.changes),
            questions: &request.questions,
            options: &request.options,
            requires_person: request.requires_person,
            expires_at: request.expires_at.map(|at| at.as_micros().div_euclid(1_000)),
        }));
        out.send_with(kind, Vec::new(), self.parents.message_of(out.item_id()));
        self.push_status_change(self.activity.derived_status(), out);
    }

    /// Handles a resolved request.
    pub(super) fn request_resolved(&mut self, resolved: &RequestResolved, out: &mut MessageSink<'_>) {
        if !self.activity.close_request(&resolved.request) {
            return;
        }
        let behavior = match resolved.outcome {
            Outcome::Allowed | Outcome::Answered => Behavior::Allow,
            Outcome::Declined | Outcome::Cancelled | Outcome::Withdrawn | Outcome::Expired => Behavior::Deny,
        };
        let kind = Kind::PermissionResponse(Box::new(PermissionResponse {
            place: out.message_place(),
            request_id: &resolved.request,
            behavior,
            outcome: resolved.outcome,
            by: resolved.by,
            tool_use_id: out.event.item.as_deref(),
            option: resolved.option.as_deref(),
            updated_input: resolved.input.as_deref(),
            answers: &resolved.answers,
            message: resolved.message.as_deref(),
        }));
        out.send_with(kind, Vec::new(), self.parents.message_of(out.item_id()));
        self.push_status_change(self.activity.derived_status(), out);
    }
}

fn request_subtype(about: About) -> RequestSubtype {
    match about {
        // Clients that follow the specification only show this subtype, and users must see these requests.
        About::Command | About::FileChange | About::Tool | About::Question | About::Plan => RequestSubtype::CanUseTool,
        About::Auth => RequestSubtype::Auth,
        About::Permissions => RequestSubtype::Permissions,
        About::Elicitation => RequestSubtype::Elicitation,
        About::Hook => RequestSubtype::Hook,
        About::Other => RequestSubtype::Other,
    }
}

/// Returns the tool name of the item if it has started, else a generic name.
fn tool_name(about: About, item: Option<&Item>) -> &str {
    match (item, about) {
        (Some(item), _) => tools::tool_metadata("", item).tool_name,
        (None, About::Command) => "command",
        (None, About::FileChange) => "file_change",
        (None, _) => "tool",
    }
}

#[derive(Serialize)]
struct EmptyRequestInput {}

#[derive(Serialize)]
struct CommandRequestInput<'a> {
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
}

#[derive(Serialize)]
struct WrappedRequestInput<'a> {
    input: &'a RawValue,
}

/// Returns the input of the requested tool from the best available source; always an object.
fn request_input<'a>(request: &'a RequestOpened, item: Option<&'a Item>) -> Option<Cow<'a, RawValue>> {
    let given = request.call.as_ref().and_then(|call| call.input.as_deref());
    match (given, &request.command, item) {
        (Some(input), ..) if input.get().starts_with('{') => Some(Cow::Borrowed(input)),
        (Some(input), ..) => Some(Cow::Owned(to_raw_json(&WrappedRequestInput { input }))),
        (None, Some(command), _) => {
            Some(Cow::Owned(to_raw_json(&CommandRequestInput { command, cwd: request.cwd.as_deref() })))
        }
        (None, None, _) if !request.changes.is_empty() => Some(Cow::Owned(tools::changes_input(&request.changes))),
        (None, None, Some(item)) => Some(tools::tool_input(item)),
        (None, None, None) => None,
    }
}
