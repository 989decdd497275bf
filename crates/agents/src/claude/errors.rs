//! Claude Code's errors in Switchboard's taxonomy.

use switchboard_event::{ErrorCode, Fault};

use crate::{JsonObject, JsonView};

/// The beginning of Claude Code's message for an unknown session.
pub const SESSION_NOT_FOUND_PREFIX: &str = "No conversation found";

/// The hint that is added to that message.
pub const SESSION_DIRECTORY_HINT: &str = "\nhint: Claude Code finds a session only in the folder where it began";

/// Maps the `error` of an `assistant` record. Its `api_error` is more specific, and `text` stands in place of a reply.
pub fn reply_fault(error: &str, cause: &str, text: &str) -> Fault {
    let code = match error {
        _ if cause == "connection_failed" => ErrorCode::ConnectionFailed,
        "authentication_failed" | "oauth_org_not_allowed" => ErrorCode::ProviderAuth,
        "billing_error" => ErrorCode::Quota,
        "rate_limit" => ErrorCode::RateLimit,
        "model_not_found" => ErrorCode::ModelNotFound,
        "max_output_tokens" => ErrorCode::OutputLength,
        "server_error" if text.contains("Unable to connect") => ErrorCode::ConnectionFailed,
        "server_error" | "overloaded" => ErrorCode::ApiError,
        "invalid_request" if text.contains("too long") => ErrorCode::ContextOverflow,
        "invalid_request" if text.contains("unable to respond") => ErrorCode::Refused,
        _ => ErrorCode::ApiError,
    };
    let message = if text.is_empty() { error } else { text };
    let info = if code == ErrorCode::ConnectionFailed && !cause.is_empty() { cause } else { error };
    Fault::new(code, message).with_info(info)
}

/// Maps a failed `result`, using the error reply of the turn, if any, and the HTTP status of the last failed API call:
/// after a 529, Claude Code 2.1.197 does not repeat the status.
pub fn result_fault(fields: &JsonObject<'_>, reply: Option<&Fault>, failed: Option<u16>) -> Fault {
    let subtype = fields.get_string("subtype").unwrap_or_default();
    let status = fields.get_http_status("api_error_status").or(failed);
    let said = fields
        .get_non_empty("result")
        .or_else(|| Some(fields.get_strings("errors").join("\n")).filter(|e| !e.is_empty()));
    let message = said.unwrap_or_else(|| subtype.clone());
    let code = match subtype.as_str() {
        "error_max_turns" => ErrorCode::MaxTurns,
        "error_max_budget_usd" => ErrorCode::MaxBudget,
        _ if fields.str_equals("stop_reason", "refusal") => ErrorCode::Refused,
        _ if fields.str_equals("terminal_reason", "prompt_too_long") => ErrorCode::ContextOverflow,
        _ if message.starts_with(SESSION_NOT_FOUND_PREFIX) || message.starts_with("Error: --resume requires") => {
            ErrorCode::SessionNotFound
        }
        _ if fields.str_equals("api_error", "connection_failed") => ErrorCode::ConnectionFailed,
        _ => reply.map(|f| f.code).or(status.map(ErrorCode::from_http_status)).unwrap_or(ErrorCode::ExecutionError),
    };
    let hint = match code {
        ErrorCode::SessionNotFound => SESSION_DIRECTORY_HINT,
        _ => "",
    };
    let info = reply.and_then(|f| f.info.clone()).or(Some(subtype)).filter(|i| !i.is_empty() && i != "success");
    Fault { info, ..Fault::new(code, message + hint).with_status(status) }
}

/// Maps `api_retry`: an API call failed and is retried.
pub fn retry_fault(fields: &JsonObject<'_>) -> Fault {
    let status = fields.get_http_status("error_status");
    let error = fields.get_string("error").unwrap_or_default();
    let text = match (fields.get_u64("attempt"), fields.get_u64("max_retries")) {
        (Some(attempt), Some(most)) => format!("the model's API failed, trying again ({attempt} of {most})"),
        _ => "the model's API failed, trying again".to_owned(),
    };
    let code = match (reply_fault(&error, "", "").code, status) {
        (ErrorCode::ApiError, Some(status)) => ErrorCode::from_http_status(status),
        (_, None) if error == "unknown" => ErrorCode::ConnectionFailed,
        (code, _) => code,
    };
    Fault { retryable: Some(true), ..Fault::new(code, text).with_status(status).with_info(error) }
}

/// Returns whether a person or a policy refused a call, if the fields tell: `tool_result_meta` of 2.1.326 on its
/// standard output, and its counterparts in a log. A call that merely failed was not refused.
pub fn is_call_refused(fields: &JsonObject<'_>, call: &str) -> Option<bool> {
    let of_call = |entry: &JsonObject<'_>| entry.str_equals("id", call);
    if let Some(meta) = fields.get_array("tool_result_meta").into_iter().map(JsonView::as_object).find(of_call) {
        let kind = meta.get_str("non_execution_kind").unwrap_or_default();
        let is_rejected = meta.get_object("permission_decision").str_equals("decision", "reject");
        return Some(is_rejected || matches!(kind.as_ref(), "permission-rule" | "user-rejected"));
    }
    if fields.get("toolDenialKind").is_some() {
        return Some(true);
    }
    let decision = fields
        .get_object("permissionDecision")
        .get_non_empty("decision")
        .or_else(|| fields.get_non_empty("permissionDecision"));
    decision.map(|decision| decision == "reject")
}

/// Returns whether the text of a tool result reports a denied permission. Claude Code 2.1.197 marks a denial in no
/// other way until the turn ends.
pub fn is_denial(text: &str) -> bool {
    const BEGINNINGS: &[&str] = &[
        "Claude requested permissions to",
        "Permission to use",
        "The user doesn't want to proceed with this tool use",
        "Permission for this",
        "Tool permission request failed",
        "Tool permission stream closed",
        "PreToolUse:",
    ];
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
        || text.contains("was blocked. For security")
        || text.contains("because Claude Code is running in don't ask mode")
}
