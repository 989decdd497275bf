//! Maps turn results, requests, authentication and process output.

use super::super::{
    State,
    unified::{UnifiedMessage, VerbatimFields, VerbatimJson},
    wire::{
        AuthStatus, Permission, PermissionCancelled, ResultData, ResultSubtype, ServerMessage, Stream, Tokens,
        TurnTokens,
    },
};

/// Returns the subtype of a message.
pub fn message_subtype(message: &UnifiedMessage) -> String {
    message.metadata.get_text("subtype").unwrap_or_else(|| "unknown".to_owned())
}

/// Maps the result of a turn.
pub fn map_result(message: &UnifiedMessage, state: &State) -> ServerMessage {
    let about = &message.metadata;
    let (is_error, error_code) = (about.is_true("is_error"), about.get_text("error_code"));
    ServerMessage::Result {
        data: Box::new(ResultData {
            subtype: result_subtype(is_error, error_code.as_deref()),
            is_error,
            result: about.get_text("result"),
            errors: about.get_list("errors"),
            duration_ms: about.read("duration_ms").unwrap_or_default(),
            duration_api_ms: about.read("duration_api_ms").unwrap_or_default(),
            num_turns: about.read("num_turns").unwrap_or_default(),
            total_cost_usd: state.total_cost_usd,
            cost_usd: about.read("cost_usd"),
            stop_reason: about.get_text("stop_reason"),
            usage: Tokens::from(about.read::<TurnTokens>("usage").unwrap_or_default()),
            error_code,
            error_message: about.first_text(&["error", "error_message"]),
            status: about.get_text("status"),
            turn: about.read("turn"),
            model: about.first_text(&["model", "model_id"]),
            permission_denials: about.get_list("permission_denials"),
        }),
    }
}

fn result_subtype(is_error: bool, code: Option<&str>) -> ResultSubtype {
    match code {
        Some("max_turns") => ResultSubtype::ErrorMaxTurns,
        Some("max_budget") => ResultSubtype::ErrorMaxBudgetUsd,
        // An interrupted turn has an error code but is not an error.
        Some(_) => ResultSubtype::ErrorDuringExecution,
        None if is_error => ResultSubtype::ErrorDuringExecution,
        None => ResultSubtype::Success,
    }
}

/// Maps a request of the agent. Per the specification only tool requests are permission requests; other requests also
/// need an answer and have a separate type.
pub fn map_permission_request(message: &UnifiedMessage) -> ServerMessage {
    let request = Box::new(map_permission(message));
    match request.subtype.as_str() {
        "can_use_tool" => ServerMessage::PermissionRequest { request },
        _ => ServerMessage::AgentRequest { request },
    }
}

/// Reads the request in a message.
#[must_use]
pub fn map_permission(message: &UnifiedMessage) -> Permission {
    let about = &message.metadata;
    Permission {
        request_id: about.get_text("request_id").unwrap_or_default(),
        subtype: about.get_text("subtype").unwrap_or_else(|| "can_use_tool".to_owned()),
        tool_name: about.get_text("tool_name").unwrap_or_default(),
        input: about.get("input").filter(|input| input.is_object()).cloned().unwrap_or_default(),
        description: about.get_text("description"),
        tool_use_id: about.get_text("tool_use_id").unwrap_or_default(),
        agent_id: about.first_text(&["agent_id", "thread_id"]),
        timestamp: message.timestamp,
        about: about.get_text("about"),
        title: about.get_text("title"),
        command: about.get_text("command"),
        cwd: about.get_text("cwd"),
        changes: about.get_list("changes"),
        questions: about.get_list("questions"),
        options: about.get_list("options"),
        expires_at: about.read("expires_at"),
    }
}

/// Maps a request that no longer needs an answer.
pub fn map_permission_cancelled(message: &UnifiedMessage) -> ServerMessage {
    let about = &message.metadata;
    ServerMessage::PermissionCancelled(PermissionCancelled {
        request_id: about.get_text("request_id").unwrap_or_default(),
        outcome: about.get_text("outcome"),
        by: about.get_text("by"),
        behavior: about.get_text("behavior"),
        message: about.get_text("message"),
    })
}

/// Maps an authentication status.
pub fn map_auth_status(message: &UnifiedMessage) -> ServerMessage {
    let about = &message.metadata;
    let error = about.first_text(&["error", "error_message"]);
    let stage = about.get_text("stage").unwrap_or_default();
    let goes_on = matches!(stage.as_str(), "started" | "running" | "pending" | "in_progress");
    let mut output: Vec<String> = about.get_list("output");
    output.extend(about.get_text("text"));
    ServerMessage::AuthStatus(AuthStatus {
        is_authenticating: about.read("isAuthenticating").unwrap_or(goes_on && error.is_none()),
        output,
        error,
        validation_link: about.first_text(&["validationLink", "url"]),
        metadata: about.clone(),
    })
}

/// Maps a line that the agent's process printed outside its protocol.
pub fn map_process_output(message: &UnifiedMessage) -> Option<ServerMessage> {
    let about = &message.metadata;
    let stream = match about.get_text("subtype").as_deref() {
        Some("stdout") => Stream::Stdout,
        Some("stderr") => Stream::Stderr,
        _ => return None,
    };
    Some(ServerMessage::ProcessOutput { stream, data: printed_text(about)? })
}

fn printed_text(about: &VerbatimFields) -> Option<String> {
    about.get_text("text").or_else(|| about.get("detail").and_then(VerbatimJson::read))
}
