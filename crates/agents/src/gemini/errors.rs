//! Gemini's errors in our taxonomy.

use switchboard_event::{ErrorCode, Fault};

use crate::{Json, Object};

/// `{"type"|"code","message"}` of a `result` or of the seed's `error`.
pub fn fault(error: &Object<'_>) -> Fault {
    let info = error.filled("type").or_else(|| error.filled("code"));
    let message = error.filled("message").unwrap_or_else(|| "Gemini failed without a message".to_owned());
    let status = status_in(&message);
    let code = match info.as_deref() {
        Some("FatalTurnLimitedError") => ErrorCode::MaxTurns,
        Some("FatalAuthenticationError") => ErrorCode::ProviderAuth,
        Some("FatalCancellationError") => ErrorCode::Aborted,
        Some("FatalToolExecutionError") => ErrorCode::ToolFailed,
        Some("FatalSandboxError" | "FatalUntrustedWorkspaceError") => ErrorCode::PermissionDenied,
        Some("INVALID_CHUNK" | "INVALID_STREAM") => ErrorCode::ProtocolError,
        _ => status.map_or(ErrorCode::ExecutionError, ErrorCode::from_http_status),
    };
    Fault { info, ..Fault::new(code, message).with_status(status) }
}

/// `[API Error: {"error":{"code":400,…}}]`: the provider's body stands verbatim in the message.
fn status_in(message: &str) -> Option<u16> {
    let body = message.strip_prefix("[API Error: ")?.strip_suffix(']')?;
    let body = Json::parse(body)?.object();
    body.object("error").status("code").or_else(|| body.status("code"))
}
