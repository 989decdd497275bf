//! The errors of session events in our taxonomy. Most have a message and nothing else, so its words decide.

use switchboard_event::{ErrorCode, Fault};

use crate::Object;

/// The payload of an `error`.
pub fn fault(payload: &Object<'_>) -> Fault {
    let message = payload.filled("message").unwrap_or_else(|| "the session failed without a message".to_owned());
    match payload.str("errorType").as_deref().and_then(known) {
        Some(code) => Fault::new(code, message),
        None => from_message(message),
    }
}

/// A failure of which there is a message only.
pub fn from_message(message: String) -> Fault {
    Fault::new(code(&message), message)
}

/// What another Switchboard says beside the message.
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
