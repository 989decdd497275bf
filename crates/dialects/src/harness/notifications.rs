//! Notifications of the harness protocol, and the approvals that it requests.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use switchboard_event::{
    About, ErrorCode, Event, Fault, Info, Level, Notice, RequestOpened, RequestResolved, Selector, SessionEnded, Topic,
};

use super::items::{file_changes, request_item_id};
use super::wire::{
    ApprovalMeta, ApprovalResponse, CommandApproval, ConfigKind, ConfigOption, ConfigSelectOption, Decision, ErrorMeta,
    Extension, FileChangeApproval, Model, NoticeParams, Notification, OpenRequest, Request, RequestMethod,
    RequestResponse, Resolved, ResponseOutcome, ThreadEnded, ThreadInfo, TurnError, TurnId,
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

/// Builds the request message for a client.
pub fn request_message<'a>(event: &'a Event, turn_id: TurnId, request: &'a RequestOpened, cwd: &'a str) -> Request<'a> {
    let (thread_id, item_id) = (&*event.session, request_item_id(event, &request.request));
    let (reason, meta) = (request.reason.as_deref(), approval_meta(event, request));
    let method = match request.about {
        About::Command => RequestMethod::Command(CommandApproval {
            thread_id,
            turn_id,
            item_id,
            command: request.command.as_deref().unwrap_or(&request.title),
            cwd: request.cwd.as_deref().unwrap_or(cwd),
            reason,
            meta,
        }),
        About::FileChange => {
            let changes = file_changes(&request.changes);
            RequestMethod::FileChange(FileChangeApproval { thread_id, turn_id, item_id, changes, reason, meta })
        }
        _ => RequestMethod::Other(OpenRequest { thread_id, turn_id, item_id: event.item.as_deref(), request }),
    };
    Request { id: &request.request, method }
}

fn approval_meta<'a>(event: &'a Event, request: &'a RequestOpened) -> ApprovalMeta<'a> {
    let call = request.call.as_deref();
    ApprovalMeta {
        title: Some(request.title.as_str()).filter(|title| !title.is_empty()),
        tool: call.map(|call| call.name.as_str()).filter(|name| !name.is_empty()),
        input: call.and_then(|call| call.input.as_deref()),
        options: &request.options,
        requires_person: request.requires_person,
        expires_at: request.expires_at,
        thread: event.thread.as_deref(),
        parent_item_id: event.parent.as_deref(),
    }
}

/// Builds the notification that a request is resolved.
pub fn resolved_notification<'a>(event: &'a Event, turn_id: TurnId, resolved: &'a RequestResolved) -> Notification<'a> {
    Notification::Resolved(Resolved {
        thread_id: &event.session,
        turn_id,
        request_id: &resolved.request,
        outcome: resolved.outcome,
        by: resolved.by,
        option: resolved.option.as_deref(),
        input: resolved.input.as_deref(),
        answers: &resolved.answers,
        message: resolved.message.as_deref(),
    })
}

/// The kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HarnessRequestKind {
    /// Approval of a command or of file changes.
    Approval,
    /// Any other request.
    Other,
}

/// The decision of a client.
#[derive(Clone, Debug)]
pub struct RequestVerdict {
    /// Whether the request is accepted.
    pub decision: Decision,
    /// The chosen option among those the agent offered.
    pub option: Option<String>,
    /// The answers by question.
    pub answers: BTreeMap<String, Vec<String>>,
    /// The input to use instead of the requested one.
    pub input: Option<Box<RawValue>>,
    /// The message for the agent.
    pub message: Option<String>,
}

impl RequestVerdict {
    /// Reads a response. An error response declines the request, and its message is passed to the agent.
    ///
    /// # Errors
    /// Returns a description of the expected form if the response is invalid.
    pub fn read_response(asked: HarnessRequestKind, response: Result<&RawValue, &str>) -> Result<Self, String> {
        match (asked, response) {
            (_, Err(message)) => {
                let message = Some(message.to_owned()).filter(|message| !message.is_empty());
                Ok(Self { message, ..Self::from_decision(Decision::Decline) })
            }
            (HarnessRequestKind::Approval, Ok(result)) => {
                let ApprovalResponse { decision } = read_response(result)?;
                Ok(Self::from_decision(decision))
            }
            (HarnessRequestKind::Other, Ok(result)) => read_response::<RequestResponse>(result).map(Self::from),
        }
    }

    fn from_decision(decision: Decision) -> Self {
        Self { decision, option: None, answers: BTreeMap::new(), input: None, message: None }
    }
}

impl From<RequestResponse> for RequestVerdict {
    fn from(response: RequestResponse) -> Self {
        let RequestResponse { outcome, option, answers, input, message } = response;
        let decision = match outcome {
            ResponseOutcome::Allowed | ResponseOutcome::Answered => Decision::Accept,
            ResponseOutcome::Declined => Decision::Decline,
            ResponseOutcome::Cancelled => Decision::Cancel,
        };
        Self { decision, option, answers, input, message }
    }
}

fn read_response<T: DeserializeOwned>(result: &RawValue) -> Result<T, String> {
    if !result.get().starts_with('{') {
        return Err("the result of a response is an object".to_owned());
    }
    serde_json::from_str(result.get()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;
    use serde_json::{Value, json};

    use super::*;

    fn read_response(asked: HarnessRequestKind, result: &Value) -> Result<RequestVerdict, String> {
        RequestVerdict::read_response(asked, Ok(&to_raw_value(result).unwrap()))
    }

    #[test]
    fn decisions_are_read() {
        for (word, decision) in [
            ("accept", Decision::Accept),
            ("acceptForSession", Decision::AcceptForSession),
            ("decline", Decision::Decline),
            ("cancel", Decision::Cancel),
        ] {
            assert_eq!(
                read_response(HarnessRequestKind::Approval, &json!({"decision": word})).unwrap().decision,
                decision
            );
        }
        for wrong in
            [json!({}), json!({"decision": "yes"}), json!({"decision": true}), json!("accept"), json!(["accept"])]
        {
            assert!(read_response(HarnessRequestKind::Approval, &wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn other_answers_are_read() {
        let answered = json!({"outcome": "answered", "answers": {"q": ["a"]}, "message": "m"});
        let verdict = read_response(HarnessRequestKind::Other, &answered).unwrap();
        assert_eq!((verdict.decision, verdict.message.as_deref()), (Decision::Accept, Some("m")));
        assert_eq!(verdict.answers["q"], ["a"]);
        assert_eq!(
            read_response(HarnessRequestKind::Other, &json!({"outcome": "cancelled"})).unwrap().decision,
            Decision::Cancel
        );
        assert!(read_response(HarnessRequestKind::Other, &json!({"outcome": "expired"})).is_err());
    }

    #[test]
    fn an_error_is_a_no() {
        let verdict = RequestVerdict::read_response(HarnessRequestKind::Approval, Err("not now")).unwrap();
        assert_eq!((verdict.decision, verdict.message.as_deref()), (Decision::Decline, Some("not now")));
    }
}
