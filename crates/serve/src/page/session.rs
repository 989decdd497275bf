//! The page of one session: some of its entries, and how long each is.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use switchboard_store::StoreError;

use super::{
    card::choices,
    desk::{Desk, Painted, Window},
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
    pub entries: Vec<Painted>,
    pub choices: Value,
}

impl Shown {
    pub fn new(window: Window, session: Value) -> Self {
        let Window { entries, from, total, seq, facts } = window;
        Self { session, total, seq, from, entries, choices: choices(&facts) }
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
    /// Asks the entries of a session, where that may take its time.
    pub(super) async fn at_desk<T: Send + 'static>(
        &self,
        session: &str,
        ask: impl FnOnce(&Desk) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let (service, id) = (self.clone(), switchboard_event::Id::from(session));
        self.ask(move |_| {
            let desk = service.desk(&id);
            let answer = ask(&desk);
            if matches!(answer, Err(StoreError::NoSession(_))) {
                service.desks().forget(&id);
            }
            service.desks().tidy();
            answer
        })
        .await
    }

    /// The entries of a session.
    pub(super) fn desk(&self, session: &switchboard_event::Id) -> Arc<Desk> {
        self.desks().of(session, self.engine().log(), &self.ledger().prices)
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
    let json = service.at_desk(&id, move |desk| {
        let window = desk.window(from, count)?;
        let card = shower.card(stored, Some(&window.facts));
        Ok(Shown::new(window, card).json())
    });
    Ok(answer(json.await?))
}

/// How long each entry is.
pub async fn outline(State(service): State<Service>, Path(id): Path<String>) -> Result<Response, Problem> {
    Ok(answer(service.at_desk(&id, |desk| desk.sizes().map(Outline::json)).await?))
}
