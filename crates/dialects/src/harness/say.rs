//! What a connection says of its own, beside what the projection gives: responses, and three notifications.

use serde::Serialize;
use switchboard_event::{Level, Topic};

use super::{
    RequestId,
    wire::{NoticeParams, Notification, ReplayCompleted, RpcError, Thread, ThreadStarted},
};

#[derive(Serialize)]
struct Response<'a, T> {
    id: &'a RequestId,
    result: T,
}

#[derive(Serialize)]
struct Failure<'a> {
    /// `null` where the request could not be read so far.
    id: Option<&'a RequestId>,
    error: &'a RpcError,
}

/// The result of a request.
#[must_use]
pub fn result(id: &RequestId, result: impl Serialize) -> Vec<u8> {
    line(&Response { id, result })
}

/// What went wrong with a request.
#[must_use]
pub fn failed(id: Option<&RequestId>, error: &RpcError) -> Vec<u8> {
    line(&Failure { id, error })
}

/// A thread was created or resumed.
#[must_use]
pub fn thread_started(thread: Thread<'_>) -> Vec<u8> {
    line(&Notification::ThreadStarted(ThreadStarted { thread }))
}

/// The history of a thread was told.
#[must_use]
pub fn history_told(thread_id: &str) -> Vec<u8> {
    line(&Notification::ReplayCompleted(ReplayCompleted { thread_id }))
}

/// Something that the client did makes no sense, and nothing comes of it.
#[must_use]
pub fn warning(thread_id: &str, text: &str) -> Vec<u8> {
    line(&Notification::Notice(NoticeParams {
        thread_id,
        turn_id: None,
        item_id: None,
        topic: Topic::Warning,
        level: Level::Warning,
        text: Some(text),
        name: None,
        status: None,
        error: None,
        detail: None,
    }))
}

fn line(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_default()
}
