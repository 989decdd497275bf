//! What the agent asks, and what it is answered.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{About, Item, Outcome, RequestOpened, RequestResolved, raw};

use super::{
    project::Messenger,
    sink::Sink,
    tools,
    wire::{Behavior, Kind, PermissionRequest, PermissionResponse, RequestSubtype},
};

impl Messenger {
    /// The agent asks.
    pub(super) fn request_opened(&mut self, request: &RequestOpened, out: &mut Sink<'_>) {
        if request.decided {
            // Nobody is asked, so nobody is told of an answer either.
            return;
        }
        self.activity.asked(&request.request, out.event.item.as_ref());
        let subtype = subtype(request.about);
        let item = self.track.get(out.item()).map(|tracked| &tracked.item);
        let is_tool = subtype == RequestSubtype::CanUseTool;
        let named = request.call.as_deref().map(|call| call.name.as_str()).filter(|name| !name.is_empty());
        let kind = Kind::PermissionRequest(Box::new(PermissionRequest {
            place: out.place(),
            subtype,
            about: request.about,
            request_id: &request.request,
            tool_name: named.or_else(|| is_tool.then(|| name(request.about, item))),
            tool_use_id: out.event.item.as_deref(),
            input: input(request, item.filter(|_| is_tool)).or_else(|| is_tool.then(|| Cow::Owned(raw(&Empty {})))),
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
        out.send_with(kind, Vec::new(), self.parents.of(out.item()));
        self.show(self.activity.settled(), out);
    }

    /// The agent no longer asks.
    pub(super) fn request_resolved(&mut self, resolved: &RequestResolved, out: &mut Sink<'_>) {
        if !self.activity.answered(&resolved.request) {
            return;
        }
        let behavior = match resolved.outcome {
            Outcome::Allowed | Outcome::Answered => Behavior::Allow,
            Outcome::Declined | Outcome::Cancelled | Outcome::Withdrawn | Outcome::Expired => Behavior::Deny,
        };
        let kind = Kind::PermissionResponse(Box::new(PermissionResponse {
            place: out.place(),
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
        out.send_with(kind, Vec::new(), self.parents.of(out.item()));
        self.show(self.activity.settled(), out);
    }
}

fn subtype(about: About) -> RequestSubtype {
    match about {
        // A client that follows the specification shows only these; whoever is asked must see that they are.
        About::Command | About::FileChange | About::Tool | About::Question | About::Plan => RequestSubtype::CanUseTool,
        About::Auth => RequestSubtype::Auth,
        About::Permissions => RequestSubtype::Permissions,
        About::Elicitation => RequestSubtype::Elicitation,
        About::Hook => RequestSubtype::Hook,
        About::Other => RequestSubtype::Other,
    }
}

/// The tool's name: the item's where it began already, else what sort of thing it is.
fn name(about: About, item: Option<&Item>) -> &str {
    match (item, about) {
        (Some(item), _) => tools::tool("", item).tool_name,
        (None, About::Command) => "command",
        (None, About::FileChange) => "file_change",
        (None, _) => "tool",
    }
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct CommandInput<'a> {
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
}

#[derive(Serialize)]
struct Wrapped<'a> {
    input: &'a RawValue,
}

/// What the tool would be given, from the best that is known; always an object.
fn input<'a>(request: &'a RequestOpened, item: Option<&'a Item>) -> Option<Cow<'a, RawValue>> {
    let given = request.call.as_ref().and_then(|call| call.input.as_deref());
    match (given, &request.command, item) {
        (Some(input), ..) if input.get().starts_with('{') => Some(Cow::Borrowed(input)),
        (Some(input), ..) => Some(Cow::Owned(raw(&Wrapped { input }))),
        (None, Some(command), _) => Some(Cow::Owned(raw(&CommandInput { command, cwd: request.cwd.as_deref() }))),
        (None, None, _) if !request.changes.is_empty() => Some(Cow::Owned(tools::changes(&request.changes))),
        (None, None, Some(item)) => Some(tools::input(item)),
        (None, None, None) => None,
    }
}
