//! Requests: what exactly would run, and what became of it.

use serde_json::Value;
use switchboard_event::{About, Decider, Outcome, RequestOpened, RequestResolved};

use super::{
    Body,
    call::title_of,
    change::changes,
    pile::Pile,
    value::{asked_input, read},
};
use crate::html::{Html, asked, code_title, element, line, markdown, words};

/// What an agent asks. Questions are shown by whoever lets people answer them; once they are answered, they are in the
/// body with what was said.
#[must_use]
pub fn request(opened: &RequestOpened, resolved: Option<&RequestResolved>) -> Body {
    let mut pile = Pile::default();
    pile.note(opened.reason.as_deref());
    what(&mut pile, opened);
    if let Some(resolved) = resolved {
        outcome(&mut pile, opened, resolved);
    }
    let mut body = pile.body("request", title(opened));
    body.label = resolved.map(label);
    body.fold = resolved.is_some() && opened.questions.is_empty();
    body
}

fn title(opened: &RequestOpened) -> Html {
    match (&opened.command, opened.call.as_deref()) {
        _ if !opened.title.is_empty() => line(&opened.title),
        (Some(command), _) => code_title(command),
        (None, Some(call)) => title_of(call),
        (None, None) => line(subject(opened.about)),
    }
}

/// What would run, or change, or be called: all of it, in the words that the agent would use.
fn what(pile: &mut Pile, opened: &RequestOpened) {
    if let Some(command) = &opened.command {
        pile.add(asked(command, "bash"));
    }
    if let Some(cwd) = &opened.cwd {
        pile.line(element("p", "note", &[words(&[line("in"), code_title(cwd)])]));
    }
    changes(pile, &opened.changes);
    let Some(call) = opened.call.as_deref() else { return };
    let plan = call.input.as_deref().and_then(read).and_then(|value| Some(value.get("plan")?.as_str()?.to_owned()));
    match (plan, &call.input) {
        (Some(plan), _) if opened.about == About::Plan => pile.add(markdown(&plan)),
        (_, Some(given)) if opened.command.is_none() && opened.changes.is_empty() && opened.questions.is_empty() => {
            pile.line(element("p", "", &[title_of(call)]));
            asked_input(pile, given);
        }
        // A command says what would run; what else the tool was told is there for those who look.
        (_, Some(given)) if opened.questions.is_empty() => folded(pile, given),
        _ => {}
    }
}

/// What the tool was given beside what is shown already.
fn folded(pile: &mut Pile, given: &serde_json::value::RawValue) {
    let is_more = read(given).is_none_or(|value| value.as_object().is_none_or(|fields| fields.len() > 1));
    if is_more {
        let mut inner = Pile::default();
        asked_input(&mut inner, given);
        pile.folded("All of the call", inner.shown());
    }
}

fn outcome(pile: &mut Pile, opened: &RequestOpened, resolved: &RequestResolved) {
    let rows: Vec<Html> = opened
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
        pile.line(element("table", "kv", &[element("tbody", "", &rows)]));
    }
    if let Some(changed) = resolved.input.as_deref().filter(|_| resolved.outcome == Outcome::Allowed) {
        let same = opened.call.as_ref().and_then(|call| call.input.as_deref()).and_then(read);
        if same != read(changed) && !matches!(read(changed), Some(Value::Null)) {
            pile.note(Some("Allowed with other input:"));
            asked_input(pile, changed);
        }
    }
    pile.note(resolved.message.as_deref());
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
