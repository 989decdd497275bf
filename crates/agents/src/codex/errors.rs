//! Maps Codex's errors to `Fault`. The app-server names the error; `exec` only has a message, so its wording decides.

use switchboard_event::{ErrorCode, Fault, Stop, TurnCompleted, TurnStatus};

use crate::{JsonObject, JsonView};

/// Classifies an error by its message alone.
pub fn from_message(message: &str) -> Fault {
    if let Some(fault) = from_body(message) {
        return fault;
    }
    let status = http_status_in(message);
    let code = status.map_or_else(|| code_by_message(message), ErrorCode::from_http_status);
    Fault::new(code, message).with_status(status)
}

/// Reads `{message, codexErrorInfo, additionalDetails}` of a turn or of an `error` notification.
pub fn from_turn(error: &JsonObject<'_>) -> Fault {
    let said = error.get_non_empty("message").unwrap_or_else(|| "Codex failed without a message".to_owned());
    let mut fault = from_message(&said);
    if let Some(details) = error.get_non_empty("additionalDetails") {
        fault.message = format!("{} ({details})", fault.message);
    }
    let Some(info) = error.get("codexErrorInfo") else { return fault };
    let (name, inner) = match info.as_str() {
        Some(name) => (name.into_owned(), JsonObject::default()),
        None => info.as_object().iter().next().map_or_else(
            || (String::new(), JsonObject::default()),
            |(name, inner)| (name.to_owned(), inner.as_object()),
        ),
    };
    fault.http_status = inner.get_http_status("httpStatusCode").or(fault.http_status);
    fault.code = code_by_error_info(&name, fault.http_status).unwrap_or(fault.code);
    fault.info = Some(name).filter(|name| !name.is_empty()).or(fault.info);
    fault
}

/// Reads `{code, message}` of a refused request.
pub fn from_rpc(error: &JsonObject<'_>) -> Fault {
    let mut fault =
        from_message(&error.get_non_empty("message").unwrap_or_else(|| "the request was refused".to_owned()));
    fault.info = error.get("code").map(|code| code.raw_text().to_owned());
    if error.get("code").and_then(JsonView::as_i64) == Some(-32001) {
        (fault.code, fault.retryable) = (ErrorCode::RateLimit, Some(true));
    }
    fault
}

/// Reads the status of a response of the model's API, which ends a turn in older Codex documentation.
pub fn from_response(response: &JsonObject<'_>) -> Fault {
    let error = response.get_object("error");
    if let Some(message) = error.get_non_empty("message") {
        return Fault {
            info: error.get_non_empty("code"),
            ..fault_by_api_code(error.get_str("code").as_deref(), message)
        };
    }
    let status = response.get_non_empty("status").unwrap_or_else(|| "unknown_error".to_owned());
    let reason = response.get_object("incomplete_details").get_non_empty("reason");
    let (code, message) = match status.as_str() {
        "rate_limited" => (ErrorCode::RateLimit, "the rate limit was exceeded".to_owned()),
        "incomplete" => (ErrorCode::OutputLength, format!("incomplete: {}", reason.as_deref().unwrap_or("too long"))),
        "cancelled" => (ErrorCode::Aborted, "the request was cancelled".to_owned()),
        status => (ErrorCode::ExecutionError, format!("execution failed: {status}")),
    };
    let code = if reason.as_deref() == Some("content_filter") { ErrorCode::Refused } else { code };
    Fault::new(code, message).with_info(status)
}

/// Returns the end of a failed turn. A cancelled turn counts as interrupted, not as failed.
pub fn failed_turn(fault: Fault, duration_ms: Option<u64>) -> TurnCompleted {
    let (status, stop) = match fault.code {
        ErrorCode::Aborted => (TurnStatus::Interrupted, Stop::Cancelled),
        ErrorCode::OutputLength => (TurnStatus::Failed, Stop::MaxTokens),
        ErrorCode::MaxBudget => (TurnStatus::Failed, Stop::Budget),
        ErrorCode::Refused => (TurnStatus::Failed, Stop::Refusal),
        _ => (TurnStatus::Failed, Stop::Error),
    };
    TurnCompleted { status, stop, error: Some(fault), duration_ms, ..TurnCompleted::default() }
}

/// Returns whether the model is called again: `Reconnecting... 1/5`.
pub fn is_retry(message: &str) -> bool {
    message.starts_with("Reconnecting")
}

/// Reads a provider's error whose JSON body is the message.
fn from_body(message: &str) -> Option<Fault> {
    let body = JsonView::parse(message.trim()).filter(|body| body.is_object())?.as_object();
    let error = body.get_object("error");
    let text = error
        .get_non_empty("message")
        .or_else(|| body.get_non_empty("message"))
        .or_else(|| body.get_non_empty("detail"))?;
    let info = error.get_non_empty("code").or_else(|| error.get_non_empty("type"));
    Some(Fault { info: info.clone(), ..fault_by_api_code(info.as_deref(), text) })
}

/// Classifies an error of the model's API by its code.
fn fault_by_api_code(name: Option<&str>, message: String) -> Fault {
    let code = match name {
        Some("context_length_exceeded") => ErrorCode::ContextOverflow,
        Some("insufficient_quota" | "usage_limit_reached") => ErrorCode::Quota,
        Some("rate_limit_exceeded" | "server_is_overloaded" | "slow_down") => ErrorCode::RateLimit,
        Some("invalid_api_key" | "authentication_error") => ErrorCode::ProviderAuth,
        Some("model_not_found") => ErrorCode::ModelNotFound,
        Some("content_filter" | "invalid_prompt" | "cyber_policy") => ErrorCode::Refused,
        _ => ErrorCode::ApiError,
    };
    Fault::new(code, message)
}

fn code_by_error_info(name: &str, status: Option<u16>) -> Option<ErrorCode> {
    Some(match name {
        "contextWindowExceeded" => ErrorCode::ContextOverflow,
        "sessionBudgetExceeded" => ErrorCode::MaxBudget,
        "usageLimitExceeded" => ErrorCode::Quota,
        "rateLimitExceeded" => ErrorCode::RateLimit,
        "modelNotFound" => ErrorCode::ModelNotFound,
        "internalServerError" | "badRequest" | "serverOverloaded" => ErrorCode::ApiError,
        "unauthorized" => ErrorCode::ProviderAuth,
        "sandboxError" => ErrorCode::PermissionDenied,
        "cyberPolicy" | "misalignmentPolicyViolation" => ErrorCode::Refused,
        "activeTurnNotSteerable" | "threadRollbackFailed" => ErrorCode::ExecutionError,
        "httpConnectionFailed"
        | "responseStreamConnectionFailed"
        | "responseStreamDisconnected"
        | "responseTooManyFailedAttempts" => status.map_or(ErrorCode::ConnectionFailed, ErrorCode::from_http_status),
        _ => return None,
    })
}

/// Finds the status in `unexpected status 401 Unauthorized: …` and
/// `exceeded retry limit, last status: 429 Too Many Requests`.
fn http_status_in(message: &str) -> Option<u16> {
    let (_, after) = message.split_once("unexpected status ").or_else(|| message.split_once("last status: "))?;
    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok().filter(|status| (400..600).contains(status))
}

fn code_by_message(message: &str) -> ErrorCode {
    const WORDS: &[(&str, ErrorCode)] = &[
        ("context window", ErrorCode::ContextOverflow),
        ("quota", ErrorCode::Quota),
        ("usage limit", ErrorCode::Quota),
        ("rate limit", ErrorCode::RateLimit),
        ("high demand", ErrorCode::ApiError),
        ("overloaded", ErrorCode::ApiError),
        ("invalid request", ErrorCode::ProtocolError),
        ("not initialized", ErrorCode::ProtocolError),
        ("max_output_tokens", ErrorCode::OutputLength),
        ("content_filter", ErrorCode::Refused),
        ("no rollout found", ErrorCode::SessionNotFound),
        ("thread not found", ErrorCode::SessionNotFound),
        ("invalid thread id", ErrorCode::SessionNotFound),
        ("invalid session id", ErrorCode::SessionNotFound),
        ("not logged in", ErrorCode::ProviderAuth),
        ("missing environment variable", ErrorCode::ProviderAuth),
        ("not inside a trusted directory", ErrorCode::PermissionDenied),
        ("timed out", ErrorCode::Timeout),
        ("timeout", ErrorCode::Timeout),
        ("stream disconnected", ErrorCode::ConnectionFailed),
        ("error sending request", ErrorCode::ConnectionFailed),
        ("connection", ErrorCode::ConnectionFailed),
        ("reconnecting", ErrorCode::ConnectionFailed),
        ("interrupted", ErrorCode::Aborted),
        ("aborted", ErrorCode::Aborted),
    ];
    let message = message.to_lowercase();
    let known = WORDS.iter().find(|(words, _)| message.contains(words));
    known.map_or(ErrorCode::ExecutionError, |(_, code)| *code)
}

#[cfg(test)]
mod tests {

    use switchboard_event::ErrorCode;

    use super::{from_message, from_turn};
    use crate::JsonView;

    fn check_message(message: &str, code: ErrorCode, status: Option<u16>, said: &str) {
        let fault = from_message(message);
        assert_eq!((fault.code, fault.http_status, fault.message.as_str()), (code, status, said), "{message}");
    }

    #[test]
    fn messages_of_exec() {
        let same = |message: &str, code, status| check_message(message, code, status, message);
        same("unexpected status 401 Unauthorized: bad key, url: http://x/", ErrorCode::ProviderAuth, Some(401));
        same("exceeded retry limit, last status: 429 Too Many Requests", ErrorCode::RateLimit, Some(429));
        same("Quota exceeded. Check your plan and billing details.", ErrorCode::Quota, None);
        same("Incomplete response returned, reason: max_output_tokens", ErrorCode::OutputLength, None);
        same("stream disconnected before completion: stream closed", ErrorCode::ConnectionFailed, None);
        same("boom", ErrorCode::ExecutionError, None);
        let body = r#"{"error": {"message": "fake bad request", "type": "t", "code": "bad_request"}}"#;
        check_message(body, ErrorCode::ApiError, None, "fake bad request");
    }

    #[test]
    fn errors_of_turns() {
        let check = |error: &str, code, status| {
            let fault = from_turn(&JsonView::parse(error).unwrap().as_object());
            assert_eq!((fault.code, fault.http_status), (code, status), "{error}");
        };
        check(r#"{"message":"m","codexErrorInfo":"contextWindowExceeded"}"#, ErrorCode::ContextOverflow, None);
        let disconnected = r#"{"message":"m","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}}}"#;
        check(disconnected, ErrorCode::ConnectionFailed, None);
        let refused = r#"{"message":"m","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":401}}}"#;
        check(refused, ErrorCode::ProviderAuth, Some(401));
        check(r#"{"message":"Quota exceeded","codexErrorInfo":"other"}"#, ErrorCode::Quota, None);
        check(r#"{"message":"m","codexErrorInfo":{}}"#, ErrorCode::ExecutionError, None);
    }
}
