//! Gemini's errors in our taxonomy. Most of them are sentences; the provider's own body stands inside of some.

use switchboard_event::{ErrorCode, Fault};

use crate::{Json, Object};

/// `{"type"|"code","message"}` of a `result`, and of an `error` in older descriptions.
pub fn fault(error: &Object<'_>) -> Fault {
    let info = error.filled("type").or_else(|| error.filled("code")).or_else(|| error.filled("status"));
    let said = error.filled("message").unwrap_or_else(|| "Gemini failed without a message".to_owned());
    let provider = provider(&said);
    let status = error.status("code").or(provider.status);
    let code = info.as_deref().and_then(by_name).unwrap_or_else(|| by_status(status, &provider.message));
    Fault { info, ..Fault::new(code, provider.message).with_status(status) }
}

/// `{"severity","message"}`: an error that did not end the run.
pub fn warning(error: &Object<'_>) -> Fault {
    let message = error.filled("message").unwrap_or_else(|| "Gemini warns without a message".to_owned());
    Fault::new(by_words(&message).unwrap_or(ErrorCode::ExecutionError), message)
}

/// A reply that ended for a reason that is none: `SAFETY`, `MALFORMED_FUNCTION_CALL`, …
pub fn blocked(reason: &str) -> Fault {
    let code = match reason {
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "IMAGE_SAFETY" | "OTHER" => {
            ErrorCode::Refused
        }
        _ => ErrorCode::ApiError,
    };
    Fault::new(code, format!("the reply ended with {reason}")).with_info(reason)
}

/// The names of Gemini's error classes, of its tools' errors, and of older descriptions.
fn by_name(name: &str) -> Option<ErrorCode> {
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

fn by_status(status: Option<u16>, message: &str) -> ErrorCode {
    let named = by_words(message);
    match (status, named) {
        // The API answers 400 to a wrong key and to a context that is too long.
        (Some(400) | None, Some(code)) => code,
        (Some(status), _) => ErrorCode::from_http_status(status),
        (None, None) => ErrorCode::ExecutionError,
    }
}

fn by_words(message: &str) -> Option<ErrorCode> {
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

/// What the provider said.
struct Provider {
    message: String,
    status: Option<u16>,
}

/// `[API Error: …]`, then perhaps advice. Inside is the provider's body as JSON, or `MESSAGE (Status: NAME)`.
fn provider(said: &str) -> Provider {
    let unchanged = || Provider { message: said.to_owned(), status: None };
    let Some((inner, _)) = said.strip_prefix("[API Error: ").and_then(|rest| rest.rsplit_once(']')) else {
        return unchanged();
    };
    if let Some(body) = Json::parse(inner).map(Json::object).filter(|body| !body.is_empty()) {
        let error = if body.has("error") { body.object("error") } else { body };
        let named = || error.str("status").and_then(|name| status_of(&name));
        let status = error.status("code").or_else(named);
        return Provider { message: error.filled("message").unwrap_or_else(|| said.to_owned()), status };
    }
    match inner.rsplit_once(" (Status: ") {
        Some((message, name)) => {
            Provider { message: message.to_owned(), status: status_of(name.trim_end_matches(')')) }
        }
        None => Provider { message: inner.to_owned(), status: None },
    }
}

/// The HTTP status behind one of Google's names.
fn status_of(name: &str) -> Option<u16> {
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

    use super::{fault, warning};
    use crate::Json;

    fn check(error: &str, code: ErrorCode, message: &str, status: Option<u16>) {
        let fault = fault(&Json::parse(error).unwrap().object());
        assert_eq!((fault.code, fault.message.as_str(), fault.http_status), (code, message, status), "{error}");
    }

    #[test]
    fn the_providers_body_is_read() {
        let body = r#"[API Error: {\"error\":{\"code\":400,\"message\":\"bad\",\"status\":\"X\"}}]"#;
        check(&format!(r#"{{"type":"unknown","message":"{body}"}}"#), ErrorCode::ApiError, "bad", Some(400));
        let named = r"[API Error: no more (Status: RESOURCE_EXHAUSTED)]\nPlease wait";
        check(&format!(r#"{{"type":"Error","message":"{named}"}}"#), ErrorCode::RateLimit, "no more", Some(429));
        let key = r#"[API Error: {\"error\":{\"code\":400,\"message\":\"API key not valid.\"}}]"#;
        check(&format!(r#"{{"message":"{key}"}}"#), ErrorCode::ProviderAuth, "API key not valid.", Some(400));
        check(r#"{"message":"[API Error: plain]"}"#, ErrorCode::ExecutionError, "plain", None);
    }

    #[test]
    fn names_go_before_words() {
        check(r#"{"type":"FatalTurnLimitedError","message":"m"}"#, ErrorCode::MaxTurns, "m", None);
        check(r#"{"type":"TerminalQuotaError","message":"m"}"#, ErrorCode::Quota, "m", None);
        check(r#"{"type":"FatalCancellationError","message":"m"}"#, ErrorCode::Aborted, "m", None);
        check(r#"{"code":"INVALID_CHUNK","message":"m"}"#, ErrorCode::ProtocolError, "m", None);
        check(r#"{"code":503,"message":"m","status":"UNAVAILABLE"}"#, ErrorCode::ApiError, "m", Some(503));
        check("{}", ErrorCode::ExecutionError, "Gemini failed without a message", None);
    }

    #[test]
    fn warnings_are_known_by_their_words() {
        for (message, code) in [
            ("Maximum session turns exceeded", ErrorCode::MaxTurns),
            ("The model response was blocked due to safety settings.", ErrorCode::Refused),
            ("Loop detected, stopping execution", ErrorCode::ExecutionError),
        ] {
            let error = format!(r#"{{"severity":"error","message":"{message}"}}"#);
            assert_eq!(warning(&Json::parse(&error).unwrap().object()).code, code);
        }
    }
}
