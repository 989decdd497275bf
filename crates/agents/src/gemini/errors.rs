//! Maps Gemini's errors to `Fault`. Most are sentences; some contain the provider's response body.

use switchboard_event::{ErrorCode, Fault};

use crate::{JsonObject, JsonView};

/// Reads `{"type"|"code","message"}` of a `result`, or of an `error` in older documentation.
pub fn parse_fault(error: &JsonObject<'_>) -> Fault {
    let info =
        error.get_non_empty("type").or_else(|| error.get_non_empty("code")).or_else(|| error.get_non_empty("status"));
    let said = error.get_non_empty("message").unwrap_or_else(|| "Gemini failed without a message".to_owned());
    let provider = parse_provider_error(&said);
    let status = error.get_http_status("code").or(provider.status);
    let code = info.as_deref().and_then(code_by_name).unwrap_or_else(|| code_by_status(status, &provider.message));
    Fault { info, ..Fault::new(code, provider.message).with_status(status) }
}

/// Reads `{"severity","message"}`: an error that did not end the run.
pub fn parse_warning(error: &JsonObject<'_>) -> Fault {
    let message = error.get_non_empty("message").unwrap_or_else(|| "Gemini warns without a message".to_owned());
    Fault::new(code_by_message(&message).unwrap_or(ErrorCode::ExecutionError), message)
}

/// Fault for a reply that ended abnormally: `SAFETY`, `MALFORMED_FUNCTION_CALL`, …
pub fn blocked_reply(reason: &str) -> Fault {
    let code = match reason {
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" | "OTHER" => {
            ErrorCode::Refused
        }
        _ => ErrorCode::ApiError,
    };
    Fault::new(code, format!("the reply ended with {reason}")).with_info(reason)
}

/// Maps Gemini's error classes, tool error types, and names of older documentation.
fn code_by_name(name: &str) -> Option<ErrorCode> {
    Some(match name {
        "FatalTurnLimitedError" => ErrorCode::MaxTurns,
        "FatalCancellationError" | "CanceledError" | "AbortError" => ErrorCode::Aborted,
        "FatalAuthenticationError"
        | "UnauthorizedError"
        | "ForbiddenError"
        | "AccountSuspendedError"
        | "ValidationRequiredError" => ErrorCode::ProviderAuth,
        "FatalSandboxError" | "FatalUntrustedWorkspaceError" => ErrorCode::PermissionDenied,
        "FatalToolExecutionError" | "no_space_left" => ErrorCode::ToolFailed,
        "TerminalQuotaError" => ErrorCode::Quota,
        "RetryableQuotaError" => ErrorCode::RateLimit,
        "ModelNotFoundError" => ErrorCode::ModelNotFound,
        "INVALID_CHUNK" | "INVALID_STREAM" => ErrorCode::ProtocolError,
        _ => return None,
    })
}

fn code_by_status(status: Option<u16>, message: &str) -> ErrorCode {
    let named = code_by_message(message);
    match (status, named) {
        // The API answers 400 to an invalid key and to a context that is too long.
        (Some(400) | None, Some(code)) => code,
        (Some(status), _) => ErrorCode::from_http_status(status),
        (None, None) => ErrorCode::ExecutionError,
    }
}

fn code_by_message(message: &str) -> Option<ErrorCode> {
    const WORDS: &[(&str, ErrorCode)] = &[
        ("Maximum session turns", ErrorCode::MaxTurns),
        ("exceeded the token limit", ErrorCode::OutputLength),
        ("input token count", ErrorCode::ContextOverflow),
        ("blocked due to", ErrorCode::Refused),
        ("empty response", ErrorCode::ApiError),
        ("no final response text", ErrorCode::ApiError),
        ("API key not valid", ErrorCode::ProviderAuth),
        ("API_KEY_INVALID", ErrorCode::ProviderAuth),
        ("Agent execution blocked", ErrorCode::PermissionDenied),
        ("fetch failed", ErrorCode::ConnectionFailed),
    ];
    WORDS.iter().find(|(words, _)| message.contains(words)).map(|(_, code)| *code)
}

struct GeminiProviderError {
    message: String,
    status: Option<u16>,
}

/// Parses `[API Error: …]`, possibly followed by advice. It contains the provider's response body as JSON, or
/// `MESSAGE (Status: NAME)`.
fn parse_provider_error(said: &str) -> GeminiProviderError {
    let unchanged = || GeminiProviderError { message: said.to_owned(), status: None };
    let Some((inner, _)) = said.strip_prefix("[API Error: ").and_then(|rest| rest.rsplit_once(']')) else {
        return unchanged();
    };
    if let Some(body) = JsonView::parse(inner).map(JsonView::as_object).filter(|body| !body.is_empty()) {
        let error = if body.contains_key("error") { body.get_object("error") } else { body };
        let named = || error.get_str("status").and_then(|name| http_status(&name));
        let status = error.get_http_status("code").or_else(named);
        return GeminiProviderError {
            message: error.get_non_empty("message").unwrap_or_else(|| said.to_owned()),
            status,
        };
    }
    match inner.rsplit_once(" (Status: ") {
        Some((message, name)) => {
            GeminiProviderError { message: message.to_owned(), status: http_status(name.trim_end_matches(')')) }
        }
        None => GeminiProviderError { message: inner.to_owned(), status: None },
    }
}

/// Maps Google's status names to HTTP status codes.
fn http_status(name: &str) -> Option<u16> {
    Some(match name {
        "INVALID_ARGUMENT" | "FAILED_PRECONDITION" => 400,
        "UNAUTHENTICATED" => 401,
        "PERMISSION_DENIED" => 403,
        "NOT_FOUND" => 404,
        "RESOURCE_EXHAUSTED" => 429,
        "INTERNAL" => 500,
        "UNAVAILABLE" => 503,
        "DEADLINE_EXCEEDED" => 504,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {

    use switchboard_event::ErrorCode;

    use super::{parse_fault, parse_warning};
    use crate::JsonView;

    fn check_fault(error: &str, code: ErrorCode, message: &str, status: Option<u16>) {
        let fault = parse_fault(&JsonView::parse(error).unwrap().as_object());
        assert_eq!((fault.code, fault.message.as_str(), fault.http_status), (code, message, status), "{error}");
    }

    #[test]
    fn the_providers_body_is_read() {
        let body = r#"[API Error: {\"error\":{\"code\":400,\"message\":\"bad\",\"status\":\"X\"}}]"#;
        check_fault(&format!(r#"{{"type":"unknown","message":"{body}"}}"#), ErrorCode::ApiError, "bad", Some(400));
        let named = r"[API Error: no more (Status: RESOURCE_EXHAUSTED)]\nPlease wait";
        check_fault(&format!(r#"{{"type":"Error","message":"{named}"}}"#), ErrorCode::RateLimit, "no more", Some(429));
        let key = r#"[API Error: {\"error\":{\"code\":400,\"message\":\"API key not valid.\"}}]"#;
        check_fault(&format!(r#"{{"message":"{key}"}}"#), ErrorCode::ProviderAuth, "API key not valid.", Some(400));
        check_fault(r#"{"message":"[API Error: plain]"}"#, ErrorCode::ExecutionError, "plain", None);
    }

    #[test]
    fn names_go_before_words() {
        check_fault(r#"{"type":"FatalTurnLimitedError","message":"m"}"#, ErrorCode::MaxTurns, "m", None);
        check_fault(r#"{"type":"TerminalQuotaError","message":"m"}"#, ErrorCode::Quota, "m", None);
        check_fault(r#"{"type":"FatalCancellationError","message":"m"}"#, ErrorCode::Aborted, "m", None);
        check_fault(r#"{"code":"INVALID_CHUNK","message":"m"}"#, ErrorCode::ProtocolError, "m", None);
        check_fault(r#"{"code":503,"message":"m","status":"UNAVAILABLE"}"#, ErrorCode::ApiError, "m", Some(503));
        check_fault("{}", ErrorCode::ExecutionError, "Gemini failed without a message", None);
    }

    #[test]
    fn warnings_are_known_by_their_words() {
        for (message, code) in [
            ("Maximum session turns exceeded", ErrorCode::MaxTurns),
            ("The model response was blocked due to safety settings.", ErrorCode::Refused),
            ("Loop detected, stopping execution", ErrorCode::ExecutionError),
        ] {
            let error = format!(r#"{{"severity":"error","message":"{message}"}}"#);
            assert_eq!(parse_warning(&JsonView::parse(&error).unwrap().as_object()).code, code);
        }
    }
}
