//! HTTP exchange with a server: outgoing records `{"id","method","path","body"?}`, incoming ones
//! `{"id","method","path","status","body"?}` or with an `error`. Session events have no turns and no requests; these
//! come from the exchange.

use serde::de::DeserializeOwned;
use switchboard_event::{
    About, Decider, ErrorCode, Fault, Id, Item, Level, Notice, Outcome, RequestOpened, RequestResolved, Stop, Topic,
    TurnCompleted, TurnStarted, TurnStatus, UserMessage,
};

use super::{BoardReader, routes::BoardRoute};
use crate::{JsonObject, JsonView, RunRecorder};

/// Returns whether the record is a request to the server or its response.
pub fn is_exchange(fields: &JsonObject<'_>) -> bool {
    fields.contains_key("method") && fields.contains_key("path")
}

/// Returns the fault of a failed request.
pub fn failure(answer: &JsonObject<'_>) -> Option<Fault> {
    if let Some(error) = answer.get_string("error") {
        return Some(Fault::new(ErrorCode::ConnectionFailed, error));
    }
    let status = answer.get_http_status("status").filter(|status| *status >= 400)?;
    let body = answer.get_object("body");
    let said = ["detail", "title", "message", "error"].into_iter().find_map(|key| body.get_non_empty(key));
    let nested = || body.get_object("error").get_non_empty("message");
    let said = said.or_else(nested).unwrap_or_else(|| format!("the server answered with status {status}"));
    let hint = match (body.get_non_empty("hint"), status) {
        // The server's own hint is for clients that use it directly.
        (_, 401) => "\nhint: the variable SWITCHBOARD_BOARD_TOKEN has the token for it".to_owned(),
        (Some(hint), _) => format!("\nhint: {hint}"),
        (None, _) => String::new(),
    };
    let fault = Fault::new(code(status), format!("{said}{hint}")).with_status(Some(status));
    Some(Fault { info: body.get_non_empty("code"), ..fault })
}

fn code(status: u16) -> ErrorCode {
    match status {
        401 => ErrorCode::ProviderAuth,
        403 => ErrorCode::PermissionDenied,
        404 => ErrorCode::SessionNotFound,
        408 | 504 => ErrorCode::Timeout,
        429 => ErrorCode::RateLimit,
        502 | 503 => ErrorCode::ConnectionFailed,
        _ => ErrorCode::ApiError,
    }
}

impl BoardReader {
    /// Reads a request to the server.
    pub(super) fn read_request(&mut self, request: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let (method, path) =
            (request.get_str("method").unwrap_or_default(), request.get_str("path").unwrap_or_default());
        let body = request.get_object("body");
        match BoardRoute::of(&path) {
            BoardRoute::Sessions => {
                know_agent(&body, recorder);
                self.begin_prompted_turn(&body, recorder);
            }
            BoardRoute::Prompt => self.begin_prompted_turn(&body, recorder),
            BoardRoute::Cancel => {
                recorder.mark_interrupted();
                recorder.write_notice(Notice::new(Topic::Interrupt));
            }
            BoardRoute::Approval(id) => resolve_request(&id, &body, recorder),
            _ => {}
        }
        recorder.write_notice_if_no_event(debug_notice(&method, &path));
    }

    fn begin_prompted_turn(&mut self, body: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.begin_turn();
        let prompt = body.get_string("prompt");
        let id = self.generate_id("prompt", recorder);
        recorder.turn_started(TurnStarted { prompt: prompt.clone(), ..TurnStarted::default() });
        recorder.item_completed(&id, Item::new(UserMessage::text(prompt.unwrap_or_default())));
    }

    /// Reads a response of the server.
    pub(super) fn read_response(&mut self, answer: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let (method, path) = (answer.get_str("method").unwrap_or_default(), answer.get_str("path").unwrap_or_default());
        let (route, body) = (BoardRoute::of(&path), answer.get_object("body"));
        match (failure(answer), &route) {
            (Some(fault), BoardRoute::Sessions | BoardRoute::Prompt | BoardRoute::State) => {
                if recorder.in_turn() {
                    recorder.turn_completed(failed_turn(fault.clone()));
                }
                let notice = debug_notice(&method, &path).with_text(fault.message.clone());
                return recorder.write_notice_if_no_event(Notice { error: Some(fault), ..notice });
            }
            (Some(fault), _) => {
                let notice = debug_notice(&method, &path).with_level(Level::Warning).with_text(fault.message.clone());
                return recorder.write_notice(Notice { error: Some(fault), ..notice });
            }
            (None, BoardRoute::Sessions) => {
                know_agent(&body, recorder);
                recorder.set_agent_session(&body.get_str("id").unwrap_or_default());
            }
            (None, BoardRoute::State) => {
                know_agent(&body, recorder);
                recorder.set_agent_session(&body.get_str("id").unwrap_or_default());
                complete_turn(&body, recorder);
            }
            (None, BoardRoute::Approvals) => open_requests(&body, recorder),
            (None, _) => {}
        }
        recorder.write_notice_if_no_event(debug_notice(&method, &path));
    }
}

/// Sets the agent from a session request or a description of the session.
fn know_agent(session: &JsonObject<'_>, recorder: &mut RunRecorder) {
    if let Some(agent) = session.get_non_empty("agentType").or_else(|| session.get_non_empty("agentId")) {
        recorder.adjust_config(|config| config.agent_type = Some(agent));
    }
}

fn debug_notice(method: &str, path: &str) -> Notice {
    Notice::new(Topic::Control).with_level(Level::Debug).with_name(format!("{method} {path}"))
}

fn failed_turn(fault: Fault) -> TurnCompleted {
    TurnCompleted { status: TurnStatus::Failed, stop: Stop::Error, error: Some(fault), ..TurnCompleted::default() }
}

/// Completes the turn at the end of the stream, with the outcome in the session's state.
fn complete_turn(session: &JsonObject<'_>, recorder: &mut RunRecorder) {
    if !recorder.in_turn() {
        return;
    }
    let error = session.get_non_empty("error").or_else(|| session.get_object("error").get_non_empty("message"));
    match session.get_str("state").as_deref() {
        Some("done") => recorder.turn_completed(TurnCompleted::default()),
        Some("failed") => {
            let message = error.unwrap_or_else(|| "the session failed without a message".to_owned());
            recorder.turn_completed(failed_turn(from_message(message)));
        }
        Some("cancelled") => {
            let (status, stop) = (TurnStatus::Interrupted, Stop::Cancelled);
            recorder.turn_completed(TurnCompleted { status, stop, ..TurnCompleted::default() });
        }
        _ => {}
    }
}

/// Opens the pending requests of the remote agent. Known requests are not opened again.
fn open_requests(body: &JsonObject<'_>, recorder: &mut RunRecorder) {
    for approval in body.get_array("approvals").into_iter().map(JsonView::as_object) {
        let Some(id) = approval.get_non_empty("id") else { continue };
        let request = RequestOpened {
            request: Id::from(id),
            about: read(&approval, "about").unwrap_or(About::Other),
            title: approval.get_string("title").unwrap_or_default(),
            reason: approval.get_string("reason"),
            call: read(&approval, "call"),
            command: approval.get_string("command"),
            cwd: approval.get_string("cwd"),
            changes: read(&approval, "changes").unwrap_or_default(),
            questions: read(&approval, "questions").unwrap_or_default(),
            options: read(&approval, "options").unwrap_or_default(),
            expires_at: read(&approval, "expiresAt"),
            ..RequestOpened::default()
        };
        let is_for_a_person = approval.is_true("requiresPerson");
        recorder.request_opened(None, if is_for_a_person { request.require_person() } else { request });
    }
}

/// Parses a field in Switchboard's own event format.
fn read<T: DeserializeOwned>(of: &JsonObject<'_>, key: &str) -> Option<T> {
    serde_json::from_str(of.get(key)?.raw_text()).ok()
}

fn resolve_request(request: &str, answer: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let answers: std::collections::BTreeMap<String, Vec<String>> = read(answer, "answers").unwrap_or_default();
    let outcome = match answer.get_str("decision").as_deref() {
        Some("accept" | "acceptForSession") if !answers.is_empty() => Outcome::Answered,
        Some("accept" | "acceptForSession") => Outcome::Allowed,
        Some("cancel") => Outcome::Cancelled,
        _ => Outcome::Declined,
    };
    recorder.request_resolved(RequestResolved {
        request: Id::from(request),
        outcome,
        by: Decider::Client,
        option: answer.get_string("option"),
        input: answer.get_raw("input"),
        answers,
        message: answer.get_string("reason"),
    });
}

/// Parses the payload of an `error`.
pub fn fault(payload: &JsonObject<'_>) -> Fault {
    let message = payload.get_non_empty("message").unwrap_or_else(|| "the session failed without a message".to_owned());
    match payload.get_str("errorType").as_deref().and_then(known) {
        Some(code) => Fault::new(code, message),
        None => from_message(message),
    }
}

/// Derives a fault from a message.
pub fn from_message(message: String) -> Fault {
    Fault::new(error_code(&message), message)
}

/// Maps the error types that another Switchboard sends in addition to the message.
fn known(kind: &str) -> Option<ErrorCode> {
    Some(match kind {
        "connectionFailed" => ErrorCode::ConnectionFailed,
        "authenticationFailed" => ErrorCode::ProviderAuth,
        "sessionNotFound" => ErrorCode::SessionNotFound,
        "permissionDenied" => ErrorCode::PermissionDenied,
        "toolExecutionFailed" => ErrorCode::ToolFailed,
        "timeout" => ErrorCode::Timeout,
        "protocolError" => ErrorCode::ProtocolError,
        _ => return None,
    })
}

fn error_code(message: &str) -> ErrorCode {
    let message = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if says(&["permission denied", "not allowed", "denied by"]) {
        ErrorCode::PermissionDenied
    } else if says(&["unauthorized", "authentication", "api key", "log in", "login"]) {
        ErrorCode::ProviderAuth
    } else if says(&["rate limit", "too many requests", "overloaded"]) {
        ErrorCode::RateLimit
    } else if says(&["session not found", "no such session"]) {
        ErrorCode::SessionNotFound
    } else if says(&["timed out", "timeout"]) {
        ErrorCode::Timeout
    } else if says(&["connection", "unreachable", "network"]) {
        ErrorCode::ConnectionFailed
    } else {
        ErrorCode::ExecutionError
    }
}

#[cfg(test)]
mod tests {

    use switchboard_event::ErrorCode;

    use super::error_code;

    #[test]
    fn words_decide() {
        for (message, expected) in [
            ("Session failed: Permission denied", ErrorCode::PermissionDenied),
            ("Authentication required", ErrorCode::ProviderAuth),
            ("the session timed out", ErrorCode::Timeout),
            ("boom", ErrorCode::ExecutionError),
        ] {
            assert_eq!(error_code(message), expected, "{message}");
        }
    }
}
