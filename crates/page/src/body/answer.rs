//! Messages and reasoning.

use switchboard_event::{AgentMessage, Item, Reasoning, UserMessage};

use super::{
    EntryBody,
    call::returned,
    content::{ContentRenderer, ImageUrlFn},
    pile::BodyBuilder,
};
use crate::html::{SafeHtml, line, markdown};

/// Renders a message of the user, or one that the agent added in the user's name.
pub(super) fn user(message: &UserMessage, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut pile = BodyBuilder::default();
    ContentRenderer::as_written(address).show(&mut pile, &message.content);
    let mut body = pile.body("user", SafeHtml::default());
    body.fold = message.synthetic;
    body.label = match (message.synthetic, message.queued) {
        (true, _) => Some("added by the agent".to_owned()),
        (false, true) => Some("said while it was working".to_owned()),
        (false, false) => None,
    };
    body
}

pub(super) fn agent(item: &Item, message: &AgentMessage, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut pile = BodyBuilder::default();
    if !message.text.is_empty() {
        pile.add(markdown(&message.text));
    }
    ContentRenderer::new(address).show(&mut pile, &message.content);
    if message.truncated {
        pile.cut("There was more text than was kept.");
    }
    returned(&mut pile, item, address);
    let mut body = pile.body("answer", SafeHtml::default());
    body.label = message.refusal.then(|| "refused".to_owned());
    body
}

/// Renders reasoning, folded.
pub(super) fn reasoning(reasoning: &Reasoning) -> EntryBody {
    let mut pile = BodyBuilder::default();
    // The summary represents the full reasoning where both exist.
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

/// Returns the bold first line that reasoning often starts with.
fn heading(text: &str) -> Option<&str> {
    let first = text.trim_start().lines().next()?.trim();
    let bold = first.strip_prefix("**")?.strip_suffix("**")?;
    (!bold.contains("**")).then_some(bold)
}
