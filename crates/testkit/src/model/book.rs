//! The log of all requests to the model, in order, with their results.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};

use super::record::RecordedModelRequest;

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
