//! Requests of the app-server. Each is answered: by a client of the session, or immediately with an error.

use serde_json::{json, value::RawValue};
use switchboard_event::{Event, EventBody, Id, RequestOption};

use super::conversation::CodexDriver;
use crate::{DriverEffects, JsonObject, JsonView};

const MAX_PENDING_SERVER_REQUESTS: usize = 256;

/// Server requests that await an answer.
#[derive(Default)]
pub struct CodexServerRequests {
    waiting: Vec<CodexServerRequest>,
}

pub struct CodexServerRequest {
    /// Id in the session.
    pub request: Id,
    /// Id on the wire.
    pub key: Box<RawValue>,
    pub method: String,
    pub params: Box<RawValue>,
    /// The offered answers.
    pub options: Vec<RequestOption>,
}

impl CodexServerRequest {
    pub fn parse_params(&self) -> JsonObject<'_> {
        JsonView::from_raw(&self.params).as_object()
    }
}

impl CodexServerRequests {
    fn push(&mut self, waiting: CodexServerRequest) -> Option<CodexServerRequest> {
        self.waiting.push(waiting);
        (self.waiting.len() > MAX_PENDING_SERVER_REQUESTS).then(|| self.waiting.remove(0))
    }

    /// Removes and returns a request by its id in the session.
    pub fn take(&mut self, request: &Id) -> Option<CodexServerRequest> {
        let index = self.waiting.iter().position(|waiting| waiting.request == *request)?;
        Some(self.waiting.remove(index))
    }

    pub fn take_all(&mut self) -> Vec<CodexServerRequest> {
        std::mem::take(&mut self.waiting)
    }

    /// Forgets a request that needs no answer any more.
    pub fn forget_request(&mut self, key: Option<JsonView<'_>>) {
        let key = key.map(JsonView::raw_text).unwrap_or_default();
        self.waiting.retain(|waiting| waiting.key.get() != key);
    }
}

impl CodexDriver {
    /// A request that the reader reports as opened waits for its answer. All others are refused, because Switchboard
    /// cannot run tools of the host, refresh tokens or attest.
    pub(super) fn handle_request(
        &mut self,
        method: &str,
        id: JsonView<'_>,
        params: Option<JsonView<'_>>,
        events: &[Event],
        effects: &mut DriverEffects,
    ) {
        let opened = events.iter().find_map(|event| match &event.body {
            EventBody::RequestOpened(opened) => Some(opened),
            _ => None,
        });
        let Some(opened) = opened else { return refuse_request(id.to_raw(), method, effects) };
        let waiting = CodexServerRequest {
            request: opened.request.clone(),
            key: id.to_raw(),
            method: method.to_owned(),
            params: params.map_or_else(|| RawValue::NULL.to_owned(), JsonView::to_raw),
            options: opened.options.clone(),
        };
        if let Some(forgotten) = self.requests.push(waiting) {
            refuse_request(forgotten.key, &forgotten.method, effects);
        }
    }
}

fn refuse_request(id: Box<RawValue>, method: &str, effects: &mut DriverEffects) {
    let error = json!({ "code": -32601, "message": format!("Switchboard does not do {method}") });
    effects.send_record(&CodexRpcRefusal { id, error });
}

#[derive(serde::Serialize)]
struct CodexRpcRefusal {
    id: Box<RawValue>,
    error: serde_json::Value,
}
