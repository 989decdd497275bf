//! What went wrong, in the protocol's words: a code, a message for people that says what can be done, and our own code
//! beside it.

use agent_client_protocol::{Error, ErrorCode};
use serde_json::{Map, Value, json};
use switchboard_event::{ErrorCode as Code, Fault};

use crate::Problem;

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        let code = match (problem.status, &*problem.code) {
            (404, _) | (_, "not_resumable") => ErrorCode::RESOURCE_NOT_FOUND,
            (400, _) | (_, "bad_folder" | "unsupported" | "bad_answer") => ErrorCode::INVALID_PARAMS,
            (409, _) => ErrorCode::INVALID_REQUEST,
            _ => ErrorCode::INTERNAL_ERROR,
        };
        let message = match &problem.hint {
            Some(hint) => format!("{} ({hint})", problem.detail),
            None => problem.detail.to_string(),
        };
        Self::new(code, message).data(json!({"code": problem.code}))
    }
}

/// A turn failed, or the agent did not start.
pub fn fault(fault: &Fault) -> Error {
    let code = match fault.code {
        Code::ProviderAuth => ErrorCode::AUTH_REQUIRED,
        Code::SessionNotFound => ErrorCode::RESOURCE_NOT_FOUND,
        _ => ErrorCode::INTERNAL_ERROR,
    };
    let message = if fault.message.is_empty() { "the agent failed" } else { &fault.message };
    let mut data = Map::from_iter([("code".to_owned(), json!(fault.code))]);
    data.extend(fault.http_status.map(|status| ("httpStatus".to_owned(), json!(status))));
    data.extend(fault.retryable.map(|retryable| ("retryable".to_owned(), json!(retryable))));
    data.extend(fault.info.as_ref().map(|info| ("info".to_owned(), json!(info))));
    Error::new(code, message).data(Value::Object(data))
}

/// The request makes no sense.
pub fn invalid(why: impl Into<String>) -> Error {
    Error::new(ErrorCode::INVALID_PARAMS, why.into())
}

/// The agent is not logged in, and this would help.
pub fn login(agent: &str, how: &str) -> Error {
    let message = format!("{agent} is not logged in: {how}");
    Error::new(ErrorCode::AUTH_REQUIRED, message).data(json!({"code": Code::ProviderAuth, "hint": how}))
}

/// The editor waits for the answer to a prompt of this session.
pub fn busy(id: &str) -> Error {
    let message = format!("session {id} works on a prompt of this connection: wait for its answer or cancel it first");
    Error::new(ErrorCode::INVALID_REQUEST, message).data(json!({"code": "busy", "sessionId": id}))
}

/// The editor has no such session open.
pub fn not_open(id: &str) -> Error {
    let message = format!("session {id} is not open here: create it, load it or resume it first");
    Error::new(ErrorCode::RESOURCE_NOT_FOUND, message).data(json!({"code": "no_session", "sessionId": id}))
}
