//! What is said and thought.

use switchboard_event::{AgentMessage, Item, Reasoning, UserMessage};

use super::{
    Body,
    call::returned,
    content::{Address, Pieces},
    pile::Pile,
};
use crate::html::{Html, line, markdown};

/// A message of the user, or of somebody in the user's place.
pub(super) fn user(message: &UserMessage, address: &Address<'_>) -> Body {
    let mut pile = Pile::default();
    Pieces::as_written(address).show(&mut pile, &message.content);
    let mut body = pile.body("user", Html::default());
    body.fold = message.synthetic;
    body.label = match (message.synthetic, message.queued) {
        (true, _) => Some("added by the agent".to_owned()),
        (false, true) => Some("said while it was working".to_owned()),
        (false, false) => None,
    };
    body
}

/// A message of the agent.
pub(super) fn agent(item: &Item, message: &AgentMessage, address: &Address<'_>) -> Body {
    let mut pile = Pile::default();
    if !message.text.is_empty() {
        pile.add(markdown(&message.text));
    }
    Pieces::new(address).show(&mut pile, &message.content);
    if message.truncated {
        pile.cut("There was more text than was kept.");
    }
    returned(&mut pile, item, address);
    let mut body = pile.body("answer", Html::default());
    body.label = message.refusal.then(|| "refused".to_owned());
    body
}

/// What the agent thinks, folded.
pub(super) fn reasoning(reasoning: &Reasoning) -> Body {
    let mut pile = Pile::default();
    // The summary stands for the thoughts where both are there.
    let texts = [reasoning.summary.as_deref(), reasoning.text.as_deref()];
    let texts: Vec<&str> = texts.into_iter().flatten().filter(|text| !text.trim().is_empty()).collect();
    match texts.as_slice() {
        [summary, text] if summary != text => {
            pile.add(markdown(summary));
            pile.folded("All of it", markdown(text));
        }
        [text, ..] => pile.add(markdown(text)),
        [] if reasoning.redacted => pile.note(Some("The provider keeps these thoughts to itself.")),
        [] => {}
    }
    if reasoning.truncated {
        pile.cut("There was more text than was kept.");
    }
    let heading = texts.first().and_then(|text| heading(text)).unwrap_or("Thinking");
    let mut body = pile.body("reasoning", line(heading));
    body.fold = true;
    body
}

/// Thoughts often begin with a bold line.
fn heading(text: &str) -> Option<&str> {
    let first = text.trim_start().lines().next()?.trim();
    let bold = first.strip_prefix("**")?.strip_suffix("**")?;
    (!bold.contains("**")).then_some(bold)
}
