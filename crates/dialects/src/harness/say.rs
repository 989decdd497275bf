//! Messages that a connection writes itself: responses and three notifications.

use serde::Serialize;
use switchboard_event::{Level, Topic};

use super::{
    HarnessRequestId,
    wire::{NoticeParams, Notification, ReplayCompleted, RpcError, Thread, ThreadStarted},
};

#[derive(Serialize)]
struct RpcResultMessage<'a, T> {
    id: &'a HarnessRequestId,
    result: T,
}

#[derive(Serialize)]
struct RpcErrorMessage<'a> {
    /// `null` if the request id could not be read.
    id: Option<&'a HarnessRequestId>,
    error: &'a RpcError,
}

/// Builds the result response of a request.
#[must_use]
pub fn result_response(id: &HarnessRequestId, result: impl Serialize) -> Vec<u8> {
    to_json_bytes(&RpcResultMessage { id, result })
}

/// Builds the error response of a request.
#[must_use]
pub fn error_response(id: Option<&HarnessRequestId>, error: &RpcError) -> Vec<u8> {
    to_json_bytes(&RpcErrorMessage { id, error })
}

/// Builds the notification that a thread was created or resumed.
#[must_use]
pub fn thread_started(thread: Thread<'_>) -> Vec<u8> {
    to_json_bytes(&Notification::ThreadStarted(ThreadStarted { thread }))
}

/// Builds the notification that the history of a thread is complete.
#[must_use]
pub fn replay_completed(thread_id: &str) -> Vec<u8> {
    to_json_bytes(&Notification::ReplayCompleted(ReplayCompleted { thread_id }))
}

/// Builds a warning about a client message that has no effect.
#[must_use]
pub fn warning_notice(thread_id: &str, text: &str) -> Vec<u8> {
    to_json_bytes(&Notification::Notice(NoticeParams {
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

fn to_json_bytes(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_default()
}
