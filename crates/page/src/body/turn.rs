//! The start and the end of a turn.

use switchboard_event::{Denied, Origin, Stop, TurnCompleted, TurnStarted, TurnStatus, Usage};

use super::{EntryBody, call::output, figures, pile::BodyBuilder, value::input};
use crate::html::{code_title, element, line, markdown, plain, words};

/// Renders a turn, with its usage as far as known.
#[must_use]
pub fn turn(started: &TurnStarted, completed: Option<&TurnCompleted>, usage: Option<&Usage>) -> EntryBody {
    let mut pile = BodyBuilder::default();
    if let Some(completed) = completed {
        end(&mut pile, completed);
    }
    let mut body = pile.body("turn", line(origin(started.origin)));
    body.label = completed.map(|completed| label(completed, usage));
    body
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Prompt => "Prompt",
        Origin::Background => "Background work ended",
        Origin::Command => "Command",
    }
}

fn end(pile: &mut BodyBuilder, completed: &TurnCompleted) {
    if let Some(error) = &completed.error {
        pile.add(plain(&error.message));
    }
    completed.denied.iter().take(50).for_each(|denied| refused(pile, denied));
    if let Some(result) = &completed.result {
        match super::value::text_or_json(result) {
            Some(_) => output(pile, result),
            None => pile.add(markdown(result)),
        }
    }
}

fn refused(pile: &mut BodyBuilder, denied: &Denied) {
    pile.line(element("p", "note", &[words(&[line("Not allowed:"), code_title(&denied.tool)])]));
    if let Some(given) = &denied.input {
        let mut inner = BodyBuilder::default();
        input(&mut inner, given);
        pile.folded("Input", inner.shown());
    }
}

fn label(completed: &TurnCompleted, usage: Option<&Usage>) -> String {
    let mut words = vec![how(completed).to_owned()];
    words.extend(completed.duration_ms.map(figures::duration));
    words.extend(completed.steps.filter(|steps| *steps > 1).map(|steps| format!("{steps} steps")));
    if let Some(usage) = usage.filter(|usage| !usage.is_zero()) {
        let (input, output) = (figures::tokens(usage.all_input()), figures::tokens(usage.output));
        words.push(format!("{input} in, {output} out"));
    }
    let cost = completed.cost_usd.or_else(|| usage?.cost_usd);
    words.extend(cost.filter(|cost| *cost > 0.0).map(figures::money));
    words.join(" · ")
}

fn how(completed: &TurnCompleted) -> &'static str {
    match (completed.status, completed.stop) {
        (_, Stop::MaxTokens) => "reply too long",
        (_, Stop::MaxTurns) => "turn limit reached",
        (_, Stop::Budget) => "budget used up",
        (_, Stop::Refusal) => "refused",
        (TurnStatus::Interrupted, _) | (_, Stop::Cancelled) => "interrupted",
        (TurnStatus::Failed, _) | (_, Stop::Error) => "failed",
        (TurnStatus::Completed, Stop::EndTurn) => "done",
    }
}
