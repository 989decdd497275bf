//! The page of one session: some of its entries, and how long each is.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_store::StoreError;

use super::{
    card::choices,
    session_timeline::{RenderedEntry, SessionTimeline, Window},
};
use crate::{
    Problem, Service,
    api::answer,
    input::{Path, Query},
};

/// So many entries are given at once, unless said, and at most.
const USUAL: u32 = 60;
const MOST: u32 = 300;

/// Which entries.
#[derive(Debug, Default, Deserialize)]
pub struct WindowQuery {
    /// From this one on, counted from 0; else the last ones.
    from: Option<u32>,
    /// So many.
    count: Option<u32>,
}

impl WindowQuery {
    /// From where, and how many.
    pub fn wanted(&self) -> Result<(Option<u32>, u32), Problem> {
        let count = self.count.unwrap_or(USUAL);
        if !(1..=MOST).contains(&count) {
            return Err(Problem::bad_field("count", &format!("a number from 1 to {MOST}")));
        }
        Ok((self.from, count))
    }
}

/// Entries, as they are answered.
#[derive(Serialize)]
pub struct Shown {
    pub session: Value,
    pub total: u32,
    pub seq: u64,
    pub from: u32,
    pub entries: Vec<RenderedEntry>,
    pub choices: Value,
}

impl Shown {
    pub fn new(window: Window, session: Value) -> Self {
        let Window { entries, from, total, seq, summary } = window;
        Self { session, total, seq, from, entries, choices: choices(&summary) }
    }

    pub fn json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// How long each entry is.
#[derive(Serialize)]
pub struct Outline {
    total: usize,
    sizes: Vec<u32>,
}

impl Outline {
    pub fn json(sizes: Vec<u32>) -> Vec<u8> {
        serde_json::to_vec(&Self { total: sizes.len(), sizes }).unwrap_or_default()
    }
}

impl Service {
    /// Asks the timeline of a session, where that may take its time.
    pub(super) async fn with_timeline<T: Send + 'static>(
        &self,
        session: &str,
        ask: impl FnOnce(&SessionTimeline) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let (service, id) = (self.clone(), switchboard_event::Id::from(session));
        self.ask(move |_| {
            let answer = ask(&service.timeline(&id));
            if matches!(answer, Err(StoreError::NoSession(_))) {
                service.timelines().remove(&id);
            }
            service.timelines().shrink();
            answer
        })
        .await
    }

    /// Returns the timeline of a session.
    pub(super) fn timeline(&self, session: &switchboard_event::Id) -> Arc<SessionTimeline> {
        self.timelines().get(session, self.engine(), &self.summaries().prices)
    }
}

/// Some entries of a session.
pub async fn window(
    State(service): State<Service>,
    Path(id): Path<String>,
    Query(query): Query<WindowQuery>,
) -> Result<Response, Problem> {
    let (from, count) = query.wanted()?;
    let stored = service.stored(&id).await?;
    let shower = service.clone();
    let json = service.with_timeline(&id, move |timeline| {
        let window = timeline.window(from, count)?;
        let card = shower.card(stored, Some(&window.summary));
        Ok(Shown::new(window, card).json())
    });
    Ok(answer(json.await?))
}

/// How long each entry is.
pub async fn outline(State(service): State<Service>, Path(id): Path<String>) -> Result<Response, Problem> {
    Ok(answer(service.with_timeline(&id, |timeline| timeline.sizes().map(Outline::json)).await?))
}
