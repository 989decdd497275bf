//! The log of all requests to the model, in order, with their results.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use serde_json::Value;

use super::{answer::ModelAnswer, conversation::SideRequest};

#[derive(Default)]
pub struct ModelRequestLog {
    requests: Mutex<Vec<RecordedModelRequest>>,
    written: Condvar,
    numbers: AtomicU64,
}

impl ModelRequestLog {
    pub fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn all_requests(&self) -> Vec<RecordedModelRequest> {
        self.requests.lock().clone()
    }

    /// Appends a request and returns its index.
    pub fn push_request(&self, request: RecordedModelRequest) -> usize {
        let mut requests = self.requests.lock();
        requests.push(request);
        self.written.notify_all();
        requests.len() - 1
    }

    /// Marks a request whose client disconnected before the end.
    pub fn mark_abandoned(&self, place: usize) {
        if let Some(request) = self.requests.lock().get_mut(place) {
            request.abandoned = true;
        }
        self.written.notify_all();
    }

    /// Returns how often this point of a conversation was answered with an error.
    pub fn count_failures(&self, prompt: &str, step: usize) -> usize {
        let failed = |request: &&RecordedModelRequest| {
            request.prompt == prompt && request.step == step && request.answer.is_none()
        };
        self.requests.lock().iter().filter(failed).count()
    }

    /// Waits for the first matching request.
    pub fn wait_for_request(
        &self,
        patience: Duration,
        wanted: impl Fn(&RecordedModelRequest) -> bool,
    ) -> Option<RecordedModelRequest> {
        self.wait_until(patience, |requests| requests.iter().find(|request| wanted(request)))
    }

    /// Waits for the request with an index.
    pub fn wait_for_nth(&self, patience: Duration, place: usize) -> Option<RecordedModelRequest> {
        self.wait_until(patience, |requests| requests.get(place))
    }

    fn wait_until(
        &self,
        patience: Duration,
        find: impl Fn(&[RecordedModelRequest]) -> Option<&RecordedModelRequest>,
    ) -> Option<RecordedModelRequest> {
        let end = Instant::now() + patience;
        let mut requests = self.requests.lock();
        loop {
            if let Some(request) = find(&requests) {
                return Some(request.clone());
            }
            let left = end.checked_duration_since(Instant::now())?;
            self.written.wait_for(&mut requests, left);
        }
    }
}

#[derive(Clone, Debug)]
pub struct RecordedModelRequest {
    /// The API, by the name of its file.
    pub api: &'static str,
    /// The path with its query.
    pub path: String,
    /// Headers with lower-case names.
    pub headers: Vec<(String, String)>,
    pub model: String,
    /// The agent's instructions.
    pub system: String,
    pub tools: Vec<String>,
    pub images: usize,
    /// The user's latest text.
    pub prompt: String,
    /// Number of tool rounds since then.
    pub step: usize,
    /// The last tool results, shortened.
    pub results: Vec<String>,
    /// The purpose, if it is not the conversation.
    pub side: Option<SideRequest>,
    pub body: Value,
    /// The answer, or `None` if it was an error.
    pub answer: Option<ModelAnswer>,
    /// The client disconnected before the end of the answer.
    pub abandoned: bool,
}

impl RecordedModelRequest {
    #[must_use]
    pub fn is_conversation(&self) -> bool {
        self.side.is_none()
    }

    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
