//! Requests: the exact action that would run, and the outcome.

use serde_json::Value;
use switchboard_event::{About, Decider, Outcome, RequestOpened, RequestResolved};

use super::items::add_changes;
use super::tool_calls::{approval_input, read, title_of};
use super::{BodyBuilder, EntryBody};
use crate::html::{SafeHtml, approval_text, code_title, element, line, markdown, words};

/// Renders a request of an agent. Open questions are rendered by the form that lets users answer them; answered ones
/// are in the body with their answers.
#[must_use]
pub fn request(opened: &RequestOpened, resolved: Option<&RequestResolved>) -> EntryBody {
    let mut builder = BodyBuilder::default();
    builder.note(opened.reason.as_deref());
    what(&mut builder, opened);
    if let Some(resolved) = resolved {
        outcome(&mut builder, opened, resolved);
    }
    let mut body = builder.body("request", title(opened));
    body.label = resolved.map(label);
    body.fold = resolved.is_some() && opened.questions.is_empty();
    body
}

fn title(opened: &RequestOpened) -> SafeHtml {
    match (&opened.command, opened.call.as_deref()) {
        _ if !opened.title.is_empty() => line(&opened.title),
        (Some(command), _) => code_title(command),
        (None, Some(call)) => title_of(call),
        (None, None) => line(subject(opened.about)),
    }
}

/// Adds the complete action that would run, verbatim.
fn what(builder: &mut BodyBuilder, opened: &RequestOpened) {
    if let Some(command) = &opened.command {
        builder.add(approval_text(command, "bash"));
    }
    if let Some(cwd) = &opened.cwd {
        builder.line(element("p", "note", &[words(&[line("in"), code_title(cwd)])]));
    }
    add_changes(builder, &opened.changes);
    let Some(call) = opened.call.as_deref() else { return };
    let plan = call.input.as_deref().and_then(read).and_then(|value| Some(value.get("plan")?.as_str()?.to_owned()));
    match (plan, &call.input) {
        (Some(plan), _) if opened.about == About::Plan => builder.add(markdown(&plan)),
        (_, Some(given)) if opened.command.is_none() && opened.changes.is_empty() && opened.questions.is_empty() => {
            builder.line(element("p", "", &[title_of(call)]));
            approval_input(builder, given);
        }
        // The command shows what would run; the rest of the tool's input is folded.
        (_, Some(given)) if opened.questions.is_empty() => folded(builder, given),
        _ => {}
    }
}

/// Adds the whole input of a call, if it has more than what is already shown.
fn folded(builder: &mut BodyBuilder, given: &serde_json::value::RawValue) {
    let is_more = read(given).is_none_or(|value| value.as_object().is_none_or(|fields| fields.len() > 1));
    if is_more {
        let mut inner = BodyBuilder::default();
        approval_input(&mut inner, given);
        builder.folded("All of the call", inner.shown());
    }
}

fn outcome(builder: &mut BodyBuilder, opened: &RequestOpened, resolved: &RequestResolved) {
    let rows: Vec<SafeHtml> = opened
        .questions
        .iter()
        .map(|question| {
            let answers = resolved.answers.get(&question.id).map(Vec::as_slice).unwrap_or_default();
            let answer = if question.secret && !answers.is_empty() {
                "••••••".to_owned()
            } else {
                answers.join(", ")
            };
            element("tr", "", &[element("th", "", &[line(&question.question)]), element("td", "", &[line(&answer)])])
        })
        .collect();
    if !rows.is_empty() {
        builder.line(element("table", "kv", &[element("tbody", "", &rows)]));
    }
    if let Some(changed) = resolved.input.as_deref().filter(|_| resolved.outcome == Outcome::Allowed) {
        let same = opened.call.as_ref().and_then(|call| call.input.as_deref()).and_then(read);
        if same != read(changed) && !matches!(read(changed), Some(Value::Null)) {
            builder.note(Some("Allowed with other input:"));
            approval_input(builder, changed);
        }
    }
    builder.note(resolved.message.as_deref());
}

fn label(resolved: &RequestResolved) -> String {
    let outcome = match resolved.outcome {
        Outcome::Allowed => "allowed",
        Outcome::Declined => "declined",
        Outcome::Cancelled => "cancelled",
        Outcome::Answered => "answered",
        Outcome::Withdrawn => "no longer asked",
        Outcome::Expired => "nobody answered in time",
    };
    match resolved.by {
        Decider::Policy => format!("{outcome} by the session's settings"),
        Decider::Agent if resolved.outcome != Outcome::Withdrawn => format!("{outcome} by the agent"),
        _ => outcome.to_owned(),
    }
}

fn subject(about: About) -> &'static str {
    match about {
        About::Command => "Run a command",
        About::FileChange => "Change files",
        About::Tool => "Use a tool",
        About::Question => "Question",
        About::Plan => "Agree to a plan",
        About::Auth => "Log in",
        About::Permissions => "More rights",
        About::Elicitation => "A server asks",
        About::Hook => "A hook asks",
        About::Other => "Request",
    }
}
