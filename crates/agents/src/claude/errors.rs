//! Claude's errors in our taxonomy.

use switchboard_event::{ErrorCode, Fault};

use crate::{Json, Object};

/// How Claude begins to say that there is no such session.
pub const NOT_FOUND: &str = "No conversation found";

/// What it does not say then.
pub const ELSEWHERE: &str = "\nhint: Claude Code finds a session only in the folder where it began";

/// The `error` of an `assistant` record, with its `api_error`, which says more, and the text that stands in place of an
/// answer.
pub fn of_reply(error: &str, cause: &str, text: &str) -> Fault {
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

/// A `result` that is an error, with the reply that was none, if there was one, and the status of the last call
/// that failed: after 529, Claude Code 2.1.197 no longer says it.
pub fn of_result(fields: &Object<'_>, reply: Option<&Fault>, failed: Option<u16>) -> Fault {
    let subtype = fields.string("subtype").unwrap_or_default();
    let status = fields.status("api_error_status").or(failed);
    let said = fields.filled("result").or_else(|| Some(fields.strings("errors").join("\n")).filter(|e| !e.is_empty()));
    let message = said.unwrap_or_else(|| subtype.clone());
    let code = match subtype.as_str() {
        "error_max_turns" => ErrorCode::MaxTurns,
        "error_max_budget_usd" => ErrorCode::MaxBudget,
        _ if fields.is("stop_reason", "refusal") => ErrorCode::Refused,
        _ if fields.is("terminal_reason", "prompt_too_long") => ErrorCode::ContextOverflow,
        _ if message.starts_with(NOT_FOUND) || message.starts_with("Error: --resume requires") => {
            ErrorCode::SessionNotFound
        }
        _ if fields.is("api_error", "connection_failed") => ErrorCode::ConnectionFailed,
        _ => reply.map(|f| f.code).or(status.map(ErrorCode::from_http_status)).unwrap_or(ErrorCode::ExecutionError),
    };
    let hint = match code {
        ErrorCode::SessionNotFound => ELSEWHERE,
        _ => "",
    };
    let info = reply.and_then(|f| f.info.clone()).or(Some(subtype)).filter(|i| !i.is_empty() && i != "success");
    Fault { info, ..Fault::new(code, message + hint).with_status(status) }
}

/// `api_retry`: a call of the model failed and is tried again.
pub fn of_retry(fields: &Object<'_>) -> Fault {
    let status = fields.status("error_status");
    let error = fields.string("error").unwrap_or_default();
    let text = match (fields.u64("attempt"), fields.u64("max_retries")) {
        (Some(attempt), Some(most)) => format!("the model's API failed, trying again ({attempt} of {most})"),
        _ => "the model's API failed, trying again".to_owned(),
    };
    let code = match (of_reply(&error, "", "").code, status) {
        (ErrorCode::ApiError, Some(status)) => ErrorCode::from_http_status(status),
        (_, None) if error == "unknown" => ErrorCode::ConnectionFailed,
        (code, _) => code,
    };
    Fault { retryable: Some(true), ..Fault::new(code, text).with_status(status).with_info(error) }
}

/// Whether a person or a policy refused a call, as far as fields say so: `tool_result_meta` of 2.1.326 on its standard
/// output, and what stands in its place in a log. What merely failed was not refused.
pub fn is_refused(fields: &Object<'_>, call: &str) -> Option<bool> {
    let of_call = |entry: &Object<'_>| entry.is("id", call);
    if let Some(meta) = fields.array("tool_result_meta").into_iter().map(Json::object).find(of_call) {
        let kind = meta.str("non_execution_kind").unwrap_or_default();
        let is_rejected = meta.object("permission_decision").is("decision", "reject");
        return Some(is_rejected || matches!(kind.as_ref(), "permission-rule" | "user-rejected"));
    }
    if fields.get("toolDenialKind").is_some() {
        return Some(true);
    }
    let decision =
        fields.object("permissionDecision").filled("decision").or_else(|| fields.filled("permissionDecision"));
    decision.map(|decision| decision == "reject")
}

/// The text of a tool result that says that the tool was not allowed. Claude Code 2.1.197 marks it in no other
/// way until the turn ends.
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
