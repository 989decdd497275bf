//! The book that the model keeps: every request, in the order in which they came, and what became of it.

use std::{
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::record::Request;

/// The book.
#[derive(Default)]
pub struct Book {
    requests: Mutex<Vec<Request>>,
    written: Condvar,
    numbers: AtomicU64,
}

impl Book {
    /// A number that was not given before.
    pub fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Everything so far.
    pub fn all(&self) -> Vec<Request> {
        self.lock().clone()
    }

    /// Writes a request down; gives its place.
    pub fn write(&self, request: Request) -> usize {
        let mut requests = self.lock();
        requests.push(request);
        self.written.notify_all();
        requests.len() - 1
    }

    /// The client of a request went away before the end.
    pub fn abandon(&self, place: usize) {
        if let Some(request) = self.lock().get_mut(place) {
            request.abandoned = true;
        }
        self.written.notify_all();
    }

    /// How often this point of a conversation was answered with an error.
    pub fn failures(&self, prompt: &str, step: usize) -> usize {
        let failed = |request: &&Request| request.prompt == prompt && request.step == step && request.answer.is_none();
        self.lock().iter().filter(failed).count()
    }

    /// The first request that is as it should be, as soon as there is one.
    pub fn wait(&self, patience: Duration, wanted: impl Fn(&Request) -> bool) -> Option<Request> {
        self.watch(patience, |requests| requests.iter().find(|request| wanted(request)))
    }

    /// A request by its place, as soon as it is there.
    pub fn nth(&self, patience: Duration, place: usize) -> Option<Request> {
        self.watch(patience, |requests| requests.get(place))
    }

    fn watch(&self, patience: Duration, find: impl Fn(&[Request]) -> Option<&Request>) -> Option<Request> {
        let end = Instant::now() + patience;
        let mut requests = self.lock();
        loop {
            if let Some(request) = find(&requests) {
                return Some(request.clone());
            }
            let left = end.checked_duration_since(Instant::now())?;
            let woken = self.written.wait_timeout(requests, left).unwrap_or_else(PoisonError::into_inner);
            requests = woken.0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Request>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
