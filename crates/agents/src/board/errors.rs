//! Maps the errors of session events to error codes. Most have only a message, so its words decide.

use switchboard_event::{ErrorCode, Fault};

use crate::JsonObject;

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
    Fault::new(code(&message), message)
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

fn code(message: &str) -> ErrorCode {
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

    use super::code;

    #[test]
    fn words_decide() {
        for (message, expected) in [
            ("Session failed: Permission denied", ErrorCode::PermissionDenied),
            ("Authentication required", ErrorCode::ProviderAuth),
            ("the session timed out", ErrorCode::Timeout),
            ("boom", ErrorCode::ExecutionError),
        ] {
            assert_eq!(code(message), expected, "{message}");
        }
    }
}
