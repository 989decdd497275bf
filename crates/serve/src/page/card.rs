//! A session in short: how clients see it, and what people want to know at a glance.

use std::path::Path;

use serde_json::{Map, Value, json};
use switchboard_engine::session_view;
use switchboard_event::Usage;
use switchboard_page::sheet::SessionSummary;
use switchboard_store::{SessionPhase, SessionRecord};

use crate::Service;

/// So much of a prompt is on a card.
const MOST_PROMPT: usize = 2_000;

/// What a session belongs to: its project, else the name of its folder.
pub fn project(stored: &SessionRecord) -> String {
    let folder = || Path::new(&stored.cwd).file_name().map(|name| name.to_string_lossy().into_owned());
    stored.project.clone().or_else(folder).unwrap_or_default()
}

/// The column of the board that a session is in.
fn column(state: SessionPhase) -> &'static str {
    match state {
        SessionPhase::Waiting => "waiting",
        SessionPhase::Running | SessionPhase::Idle | SessionPhase::Other => "running",
        SessionPhase::Done => "done",
        SessionPhase::Failed | SessionPhase::Cancelled => "failed",
    }
}

impl Service {
    /// Returns the card of a session. Without a summary, its figures are left out.
    pub(super) fn card(&self, mut stored: SessionRecord, summary: Option<&SessionSummary>) -> Value {
        let here = self.engine().session(&stored.id).is_some_and(|session| !session.is_over());
        let (state, project) = (stored.state, project(&stored));
        shorten(&mut stored.prompt);
        let open_requests = summary.map_or(0, |summary| summary.state.requests.len());
        let approvals = if state == SessionPhase::Waiting { open_requests.max(1) } else { 0 };
        let mut card = match serde_json::to_value(session_view(stored, here, approvals)) {
            Ok(Value::Object(card)) => card,
            _ => Map::new(),
        };
        card.insert("column".to_owned(), column(state).into());
        card.insert("project".to_owned(), project.into());
        if let Some(summary) = summary {
            add_summary(&mut card, summary, state);
        }
        Value::Object(card)
    }
}

fn add_summary(card: &mut Map<String, Value>, summary: &SessionSummary, state: SessionPhase) {
    add_usage(card, &summary.usage());
    let session = &summary.state;
    let mut put = |name: &str, value: Value| drop(card.insert(name.to_owned(), value));
    session.model().into_iter().for_each(|model| put("model", model.into()));
    session.info.context.into_iter().for_each(|context| put("context", json!(context)));
    if !state.is_final() {
        session.activity().into_iter().for_each(|activity| put("activityText", activity.into()));
        session.waiting_for().into_iter().for_each(|title| put("waitingFor", title.into()));
    }
}

/// Adds tokens and cost to a card.
pub fn add_usage(card: &mut Map<String, Value>, usage: &Usage) {
    let tokens = json!({
        "input": usage.input, "output": usage.output, "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write(), "total": usage.all_input().saturating_add(usage.output),
    });
    card.insert("tokens".to_owned(), tokens);
    usage.cost_usd.into_iter().for_each(|cost| drop(card.insert("costUsd".to_owned(), json!(cost))));
}

/// What can be chosen in a session, and what is.
pub fn choices(summary: &SessionSummary) -> Value {
    let info = &summary.state.info;
    json!({
        "models": info.models, "modes": info.modes, "commands": info.commands, "options": info.options,
        "model": summary.state.model(), "mode": info.mode,
    })
}

fn shorten(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(MOST_PROMPT) {
        text.truncate(end);
        text.push('…');
    }
}
