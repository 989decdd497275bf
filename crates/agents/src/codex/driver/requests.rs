//! What the app-server asks of us. Everything is answered: by somebody, or at once with an error.

use serde_json::{json, value::RawValue};
use switchboard_event::{Body, Event, Id, RequestOption};

use super::conversation::Conversation;
use crate::{Effects, Json, Object};

/// How many requests can wait.
const LIMIT: usize = 256;

/// Their requests that wait for an answer.
#[derive(Default)]
pub struct Requests {
    waiting: Vec<Waiting>,
}

/// A request that waits for an answer.
pub struct Waiting {
    /// Its id in the session.
    pub request: Id,
    /// Its id on the wire.
    pub key: Box<RawValue>,
    /// What it asks for.
    pub method: String,
    /// How.
    pub params: Box<RawValue>,
    /// The answers that were offered.
    pub options: Vec<RequestOption>,
}

impl Waiting {
    /// How it asks.
    pub fn params(&self) -> Object<'_> {
        Json::of(&self.params).object()
    }
}

impl Requests {
    fn push(&mut self, waiting: Waiting) -> Option<Waiting> {
        self.waiting.push(waiting);
        (self.waiting.len() > LIMIT).then(|| self.waiting.remove(0))
    }

    /// Takes a request out by its id in the session.
    pub fn take(&mut self, request: &Id) -> Option<Waiting> {
        let index = self.waiting.iter().position(|waiting| waiting.request == *request)?;
        Some(self.waiting.remove(index))
    }

    /// Takes all of them out.
    pub fn take_all(&mut self) -> Vec<Waiting> {
        std::mem::take(&mut self.waiting)
    }

    /// It needs no answer any more.
    pub fn forget(&mut self, key: Option<Json<'_>>) {
        let key = key.map(Json::text).unwrap_or_default();
        self.waiting.retain(|waiting| waiting.key.get() != key);
    }
}

impl Conversation {
    /// What the reader takes for a question to somebody waits for the answer. Nobody here can do the rest: run a tool
    /// of the host, make new tokens, attest to something.
    pub(super) fn asked(
        &mut self,
        method: &str,
        id: Json<'_>,
        params: Option<Json<'_>>,
        events: &[Event],
        effects: &mut Effects,
    ) {
        let opened = events.iter().find_map(|event| match &event.body {
            Body::RequestOpened(opened) => Some(opened),
            _ => None,
        });
        let Some(opened) = opened else { return refuse(id.to_raw(), method, effects) };
        let waiting = Waiting {
            request: opened.request.clone(),
            key: id.to_raw(),
            method: method.to_owned(),
            params: params.map_or_else(|| RawValue::NULL.to_owned(), Json::to_raw),
            options: opened.options.clone(),
        };
        if let Some(forgotten) = self.requests.push(waiting) {
            refuse(forgotten.key, &forgotten.method, effects);
        }
    }
}

fn refuse(id: Box<RawValue>, method: &str, effects: &mut Effects) {
    let error = json!({ "code": -32601, "message": format!("Switchboard does not do {method}") });
    effects.send(&Refusal { id, error });
}

#[derive(serde::Serialize)]
struct Refusal {
    id: Box<RawValue>,
    error: serde_json::Value,
}
