//! Thread information, errors and Switchboard's extension notifications.

use switchboard_event::{ErrorCode, Event, Fault, Info, Level, Notice, Selector, SessionEnded, Topic};

use super::wire::{
    ConfigKind, ConfigOption, ConfigSelectOption, ErrorMeta, Extension, Model, NoticeParams, Notification, ThreadEnded,
    ThreadInfo, TurnError, TurnId,
};
use crate::MessageBuffer;

/// Sends a notice unless it only concerns host and agent. A vendor-specific notice uses the vendor's method name.
pub fn push_notice(event: &Event, notice: &Notice, out: &mut MessageBuffer) {
    let internal = matches!(notice.topic, Topic::Heartbeat | Topic::Unknown | Topic::Control | Topic::Echo);
    // Rate limit usage has level debug, but clients display it.
    if internal || notice.level == Level::Debug && notice.topic != Topic::RateLimit {
        return;
    }
    let params = notice_params(event, notice);
    match extension_method(notice) {
        Some(method) => out.push(&Extension { method: &method, params }),
        None => out.push(&Notification::Notice(params)),
    }
}

/// Returns the `VENDOR/NAME` method of a vendor-specific notice.
fn extension_method(notice: &Notice) -> Option<String> {
    let plain =
        |name: &&str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-./".contains(&b));
    let vendor = notice.vendor.as_deref()?;
    let name = match notice.topic {
        Topic::RateLimit => "rate_limits_updated",
        _ => notice.name.as_deref().filter(plain)?,
    };
    Some(format!("{vendor}/{name}"))
}

fn notice_params<'a>(event: &'a Event, notice: &'a Notice) -> NoticeParams<'a> {
    NoticeParams {
        thread_id: &event.session,
        turn_id: event.turn.map(TurnId),
        item_id: event.item.as_deref(),
        topic: notice.topic,
        level: notice.level,
        text: notice.text.as_deref(),
        name: notice.name.as_deref(),
        status: notice.status.as_deref(),
        error: notice.error.as_ref().map(to_turn_error),
        detail: notice.detail.as_deref(),
    }
}

/// Builds the notification that the agent's process ended.
pub fn thread_ended<'a>(event: &'a Event, ended: &'a SessionEnded) -> Notification<'a> {
    Notification::ThreadEnded(ThreadEnded {
        thread_id: &event.session,
        reason: ended.reason,
        error: ended.error.as_ref().map(to_turn_error),
        exit_code: ended.exit_code,
        signal: ended.signal,
        duration_ms: ended.duration_ms,
    })
}

/// Converts a fault. Names shared by all agents take precedence over the agent's own.
pub fn to_turn_error(fault: &Fault) -> TurnError<'_> {
    TurnError {
        message: &fault.message,
        error_info: error_info(fault.code).or(fault.info.as_deref()),
        http_status_code: fault.http_status,
        meta: Some(ErrorMeta { code: fault.code, info: fault.info.as_deref(), retryable: fault.retryable }),
    }
}

fn error_info(code: ErrorCode) -> Option<&'static str> {
    Some(match code {
        ErrorCode::ProviderAuth => "Unauthorized",
        ErrorCode::RateLimit | ErrorCode::Quota => "UsageLimitExceeded",
        ErrorCode::ModelNotFound => "ModelNotFound",
        ErrorCode::ContextOverflow => "ContextWindowExceeded",
        ErrorCode::OutputLength => "OutputLengthExceeded",
        ErrorCode::Refused => "Refused",
        ErrorCode::MaxTurns => "TurnLimitExceeded",
        ErrorCode::MaxBudget => "BudgetExceeded",
        ErrorCode::Aborted => "Aborted",
        ErrorCode::ConnectionFailed => "HttpConnectionFailed",
        ErrorCode::SessionNotFound => "ThreadNotFound",
        ErrorCode::PermissionDenied => "PermissionDenied",
        ErrorCode::Timeout => "Timeout",
        ErrorCode::ApiError
        | ErrorCode::ToolFailed
        | ErrorCode::ProtocolError
        | ErrorCode::ExecutionError
        | ErrorCode::Unknown => return None,
    })
}

/// Converts the session info of an agent.
pub fn thread_info(info: &Info) -> ThreadInfo<'_> {
    ThreadInfo {
        cwd: info.cwd.as_deref(),
        model: info.model.as_deref(),
        model_provider: info.provider.as_deref(),
        mode: info.mode.as_deref(),
        title: info.title.as_deref(),
        version: info.version.as_deref(),
        status: info.status,
        tools: &info.tools,
        commands: &info.commands,
        modes: &info.modes,
        models: info.models.iter().map(to_model).collect(),
        options: info.options.iter().map(to_config_option).collect(),
        mcp_servers: &info.mcp,
        agents: &info.agents,
        context: info.context,
        capabilities: info.capabilities.as_deref(),
    }
}

/// Converts a model.
#[must_use]
pub fn to_model(model: &switchboard_event::Model) -> Model<'_> {
    Model {
        id: &model.id,
        display_name: &model.name,
        description: model.description.as_deref(),
        is_default: model.default,
    }
}

/// Converts a selector to a config option.
#[must_use]
pub fn to_config_option(selector: &Selector) -> ConfigOption<'_> {
    let values = selector.values.iter().map(|value| ConfigSelectOption {
        id: &value.id,
        name: &value.name,
        description: value.description.as_deref(),
    });
    ConfigOption {
        kind: ConfigKind::Select,
        id: &selector.id,
        name: &selector.name,
        description: selector.description.as_deref(),
        group: selector.group.as_deref(),
        options: values.collect(),
        value: &selector.value,
    }
}
