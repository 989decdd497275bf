//! Turns, requests, logging in, and what the agent's process printed.

use super::super::{
    State,
    unified::{Fields, Json, Unified},
    wire::{
        AuthStatus, Permission, PermissionCancelled, ResultData, ResultSubtype, ServerMessage, Stream, Tokens,
        TurnTokens,
    },
};

/// What the message is about, within its type.
pub fn subtype(message: &Unified) -> String {
    message.metadata.text("subtype").unwrap_or_else(|| "unknown".to_owned())
}

/// A turn ended.
pub fn result(message: &Unified, state: &State) -> ServerMessage {
    let about = &message.metadata;
    let (is_error, error_code) = (about.is_true("is_error"), about.text("error_code"));
    ServerMessage::Result {
        data: Box::new(ResultData {
            subtype: outcome(is_error, error_code.as_deref()),
            is_error,
            result: about.text("result"),
            errors: about.list("errors"),
            duration_ms: about.read("duration_ms").unwrap_or_default(),
            duration_api_ms: about.read("duration_api_ms").unwrap_or_default(),
            num_turns: about.read("num_turns").unwrap_or_default(),
            total_cost_usd: state.total_cost_usd,
            cost_usd: about.read("cost_usd"),
            stop_reason: about.text("stop_reason"),
            usage: Tokens::from(about.read::<TurnTokens>("usage").unwrap_or_default()),
            error_code,
            error_message: about.first_text(&["error", "error_message"]),
            status: about.text("status"),
            turn: about.read("turn"),
            model: about.first_text(&["model", "model_id"]),
            permission_denials: about.list("permission_denials"),
        }),
    }
}

fn outcome(is_error: bool, code: Option<&str>) -> ResultSubtype {
    match code {
        Some("max_turns") => ResultSubtype::ErrorMaxTurns,
        Some("max_budget") => ResultSubtype::ErrorMaxBudgetUsd,
        // A turn that was interrupted has a code, and is no error.
        Some(_) => ResultSubtype::ErrorDuringExecution,
        None if is_error => ResultSubtype::ErrorDuringExecution,
        None => ResultSubtype::Success,
    }
}

/// What the agent asks. Only what is about tools is a permission request, as the specification has it; the rest must
/// be answered too, and has a type of its own.
pub fn permission_request(message: &Unified) -> ServerMessage {
    let request = Box::new(permission(message));
    match request.subtype.as_str() {
        "can_use_tool" => ServerMessage::PermissionRequest { request },
        _ => ServerMessage::AgentRequest { request },
    }
}

/// The request in a message.
#[must_use]
pub fn permission(message: &Unified) -> Permission {
    let about = &message.metadata;
    Permission {
        request_id: about.text("request_id").unwrap_or_default(),
        subtype: about.text("subtype").unwrap_or_else(|| "can_use_tool".to_owned()),
        tool_name: about.text("tool_name").unwrap_or_default(),
        input: about.get("input").filter(|input| input.is_object()).cloned().unwrap_or_default(),
        description: about.text("description"),
        tool_use_id: about.text("tool_use_id").unwrap_or_default(),
        agent_id: about.first_text(&["agent_id", "thread_id"]),
        timestamp: message.timestamp,
        about: about.text("about"),
        title: about.text("title"),
        command: about.text("command"),
        cwd: about.text("cwd"),
        changes: about.list("changes"),
        questions: about.list("questions"),
        options: about.list("options"),
        expires_at: about.read("expires_at"),
    }
}

/// What was asked needs no answer any more.
pub fn permission_cancelled(message: &Unified) -> ServerMessage {
    let about = &message.metadata;
    ServerMessage::PermissionCancelled(PermissionCancelled {
        request_id: about.text("request_id").unwrap_or_default(),
        outcome: about.text("outcome"),
        by: about.text("by"),
        behavior: about.text("behavior"),
        message: about.text("message"),
    })
}

/// Logging in.
pub fn auth_status(message: &Unified) -> ServerMessage {
    let about = &message.metadata;
    let error = about.first_text(&["error", "error_message"]);
    let stage = about.text("stage").unwrap_or_default();
    let goes_on = matches!(stage.as_str(), "started" | "running" | "pending" | "in_progress");
    let mut output: Vec<String> = about.list("output");
    output.extend(about.text("text"));
    ServerMessage::AuthStatus(AuthStatus {
        is_authenticating: about.read("isAuthenticating").unwrap_or(goes_on && error.is_none()),
        output,
        error,
        validation_link: about.first_text(&["validationLink", "url"]),
        metadata: about.clone(),
    })
}

/// What the agent's process printed beside its protocol.
pub fn printed(message: &Unified) -> Option<ServerMessage> {
    let about = &message.metadata;
    let stream = match about.text("subtype").as_deref() {
        Some("stdout") => Stream::Stdout,
        Some("stderr") => Stream::Stderr,
        _ => return None,
    };
    Some(ServerMessage::ProcessOutput { stream, data: text(about)? })
}

fn text(about: &Fields) -> Option<String> {
    about.text("text").or_else(|| about.get("detail").and_then(Json::read))
}
