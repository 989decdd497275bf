//! A session in short: how clients see it, and what people want to know at a glance.

use std::path::Path;

use serde_json::{Map, Value, json};
use switchboard_page::sheet::Facts;
use switchboard_store::{Session as Stored, State};

use crate::{Service, view::SessionView};

/// So much of a prompt is on a card.
const MOST_PROMPT: usize = 2_000;

/// What a session belongs to: its project, else the name of its folder.
pub fn project(stored: &Stored) -> String {
    let folder = || Path::new(&stored.cwd).file_name().map(|name| name.to_string_lossy().into_owned());
    stored.project.clone().or_else(folder).unwrap_or_default()
}

/// The column of the board that a session is in.
fn column(state: State) -> &'static str {
    match state {
        State::Waiting => "waiting",
        State::Running | State::Idle | State::Other => "running",
        State::Done => "done",
        State::Failed | State::Cancelled => "failed",
    }
}

impl Service {
    /// A session in short. Without facts, what they would say is left out.
    pub(super) fn card(&self, mut stored: Stored, facts: Option<&Facts>) -> Value {
        let here = self.engine().session(&stored.id).is_some_and(|session| !session.is_over());
        let (state, project) = (stored.state, project(&stored));
        shorten(&mut stored.prompt);
        let waiting = facts.map(|facts| facts.waiting.as_slice()).unwrap_or_default();
        let approvals = if state == State::Waiting { waiting.len().max(1) } else { 0 };
        let mut card = match serde_json::to_value(SessionView::new(stored, here, approvals)) {
            Ok(Value::Object(card)) => card,
            _ => Map::new(),
        };
        card.insert("column".to_owned(), column(state).into());
        card.insert("project".to_owned(), project.into());
        if let Some(facts) = facts {
            add(&mut card, facts, state);
        }
        Value::Object(card)
    }
}

fn add(card: &mut Map<String, Value>, facts: &Facts, state: State) {
    let mut put = |name: &str, value: Value| drop(card.insert(name.to_owned(), value));
    let sums = facts.sums();
    put(
        "tokens",
        json!({
            "input": sums.input, "output": sums.output, "cacheRead": sums.cache_read, "cacheWrite": sums.cache_write,
            "total": sums.total(),
        }),
    );
    sums.cost.into_iter().for_each(|cost| put("costUsd", json!(cost)));
    facts.model().into_iter().for_each(|model| put("model", model.into()));
    facts.context().into_iter().for_each(|context| put("context", json!(context)));
    if !state.is_final() {
        facts.activity().into_iter().for_each(|activity| put("activityText", activity.into()));
        facts.waiting.first().into_iter().for_each(|first| put("waitingFor", first.title.as_str().into()));
    }
}

/// What can be chosen in a session, and what is.
pub fn choices(facts: &Facts) -> Value {
    let info = &facts.info;
    json!({
        "models": info.models, "modes": info.modes, "commands": info.commands, "options": info.options,
        "model": facts.model(), "mode": info.mode,
    })
}

fn shorten(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(MOST_PROMPT) {
        text.truncate(end);
        text.push('…');
    }
}
