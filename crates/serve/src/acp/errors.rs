//! Errors in the protocol's terms: its code, a message with the remedy, and Switchboard's own code as data.

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

pub fn agent_error(fault: &Fault) -> Error {
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

pub fn invalid_params(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::INVALID_PARAMS, message.into())
}

pub fn login_required(agent: &str, hint: &str) -> Error {
    let message = format!("{agent} is not logged in: {hint}");
    Error::new(ErrorCode::AUTH_REQUIRED, message).data(json!({"code": Code::ProviderAuth, "hint": hint}))
}

pub fn busy(id: &str) -> Error {
    let message =
        format!("session {id} is working on a prompt of this connection; wait for the answer or cancel it first");
    Error::new(ErrorCode::INVALID_REQUEST, message).data(json!({"code": "busy", "sessionId": id}))
}

pub fn not_open(id: &str) -> Error {
    let message = format!("session {id} is not open on this connection; create, load or resume it first");
    Error::new(ErrorCode::RESOURCE_NOT_FOUND, message).data(json!({"code": "no_session", "sessionId": id}))
}
