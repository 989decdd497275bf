//! Sessions and turns.

use std::borrow::Cow;

use switchboard_event::{
    EndReason, ErrorCode, Fault, Info, Level, Notice, SessionEnded, SessionStarted, SessionStatus, Topic,
    TurnCompleted, TurnStarted, TurnStatus,
};

use super::wire::{
    AuthStatus, ConfigurationChange, Content, ControlResponse, Denial, EndStatus, Facts, Failure, Interrupt, Kind,
    LifecycleSubtype, Remark, SessionInit, SessionLifecycle, StatusChange, StatusSubtype, Tokens, ToolUseSummary,
    TurnResult, Unknown,
};
use super::{MessageProjection, MessageSink};

/// Maximum number of remembered errors per turn.
const MAX_TURN_ERRORS: usize = 16;

impl MessageProjection {
    /// Handles the start of a run.
    pub(super) fn session_started(&mut self, started: &SessionStarted, out: &mut MessageSink<'_>) {
        self.activity.reset();
        self.set_model(started.info.model.as_ref().or(started.config.model.as_ref()));
        let facts = Facts::from(&started.info);
        let config = &started.config;
        out.send(Kind::SessionInit(Box::new(SessionInit {
            place: out.message_place(),
            agent: &out.event.agent,
            agent_session: started.agent_session.as_deref(),
            run: out.event.run,
            resumed: started.resumed.as_ref(),
            config,
            facts: Facts {
                model: facts.model.or(config.model.as_deref()),
                cwd: facts.cwd.or(config.working_directory.as_deref()),
                ..facts
            },
            context: started.info.context,
        })));
        if let Some(status) = started.info.status {
            self.push_status_change(status, out);
        }
    }

    /// Handles changed session info.
    pub(super) fn session_updated(&mut self, info: &Info, out: &mut MessageSink<'_>) {
        self.set_model(info.model.as_ref());
        if let Some(subtype) = changed_key(info) {
            let (facts, remark) = (Facts::from(info), Remark::default());
            let change = ConfigurationChange { place: out.message_place(), subtype, facts, remark };
            out.send(Kind::ConfigurationChange(Box::new(change)));
        }
        if let Some(status) = info.status {
            self.push_status_change(status, out);
        }
        if let Some(context) = info.context {
            let (subtype, context) = (Some(StatusSubtype::Context), Some(context));
            out.send(Kind::StatusChange(Box::new(StatusChange { subtype, context, ..self.current_status(out) })));
        }
    }

    fn set_model(&mut self, model: Option<&String>) {
        if let Some(model) = model {
            self.model = Some(model.clone());
        }
    }

    /// Handles the end of a run.
    pub(super) fn session_ended(&mut self, ended: &SessionEnded, out: &mut MessageSink<'_>) {
        self.activity.reset();
        if self.activity.shown_status().is_some() {
            self.push_status_change(self.activity.derived_status(), out);
        }
        self.push_auth_status(ended.error.as_ref(), out);
        let failed = matches!(ended.reason, EndReason::Failed | EndReason::Timeout);
        let failure = ended.error.as_ref().map_or_else(Failure::default, Failure::from_fault);
        out.send(Kind::SessionLifecycle(SessionLifecycle {
            reason: Some(ended.reason),
            exit_code: ended.exit_code,
            signal: ended.signal,
            duration_ms: Some(ended.duration_ms),
            failure: Some(Failure { is_error: failed, ..failure }),
            ..SessionLifecycle::new(LifecycleSubtype::SessionEnded, out.message_place())
        }));
    }

    /// Handles the start of a turn.
    pub(super) fn turn_started(&mut self, turn: &TurnStarted, out: &mut MessageSink<'_>) {
        self.turn_began = out.event.at;
        self.errors.clear();
        self.told_auth = false;
        self.activity.set_in_turn(true);
        if let Some(change) = self.status_change(self.activity.derived_status(), out) {
            let (origin, prompt) = (Some(turn.origin), turn.prompt.as_deref());
            out.send(Kind::StatusChange(Box::new(StatusChange { origin, prompt, ..change })));
        }
    }

    /// Handles the end of a turn.
    pub(super) fn turn_completed(&mut self, turn: &TurnCompleted, out: &mut MessageSink<'_>) {
        self.activity.set_in_turn(false);
        self.push_auth_status(turn.error.as_ref(), out);
        if turn.status == TurnStatus::Failed {
            self.record_error(turn.error.as_ref());
        }
        let usage = self.usage.take();
        out.send(Kind::Result(Box::new(TurnResult {
            place: out.message_place(),
            status: turn.status,
            stop_reason: turn.stop,
            failure: turn_failure(turn),
            errors: &self.errors,
            model: self.model.as_deref(),
            cost_usd: turn.cost_usd.or(usage.cost_usd),
            usage: Tokens::from(&usage),
            duration_ms: turn.duration_ms.unwrap_or_else(|| out.event.at.millis_since(self.turn_began)),
            num_turns: turn.steps,
            permission_denials: turn.denied.iter().map(to_denial).collect(),
            result: turn.result.as_deref(),
        })));
        self.push_status_change(self.activity.derived_status(), out);
    }

    /// Records an error for the result of the turn. The latest error is always kept.
    fn record_error(&mut self, fault: Option<&Fault>) {
        let Some(fault) = fault else { return };
        if self.errors.last() == Some(&fault.message) {
            return;
        }
        self.errors.truncate(MAX_TURN_ERRORS - 1);
        self.errors.push(fault.message.clone());
    }

    /// Reports missing or rejected credentials once per turn.
    fn push_auth_status(&mut self, fault: Option<&Fault>, out: &mut MessageSink<'_>) {
        let Some(fault) = fault.filter(|fault| fault.code == ErrorCode::ProviderAuth && !self.told_auth) else {
            return;
        };
        self.told_auth = true;
        let (remark, failure) = (Remark::default(), Some(Failure::from_fault(fault)));
        out.send(Kind::AuthStatus(AuthStatus { place: out.message_place(), remark, failure }));
    }
}

/// Returns the failure of a turn. An interrupted turn has an error code but is not an error.
fn turn_failure(turn: &TurnCompleted) -> Failure<'_> {
    let said = turn.error.as_ref().map(Failure::from_fault);
    match turn.status {
        TurnStatus::Completed => Failure::default(),
        TurnStatus::Failed => said.unwrap_or_else(|| Failure::new(ErrorCode::ExecutionError, "the turn failed")),
        TurnStatus::Interrupted => {
            let failure = said.unwrap_or_else(|| Failure::new(ErrorCode::Aborted, "interrupted"));
            Failure { is_error: false, error_code: Some(ErrorCode::Aborted.message_code()), ..failure }
        }
    }
}

fn to_denial(denied: &switchboard_event::Denied) -> Denial<'_> {
    Denial { tool_name: &denied.tool, tool_use_id: denied.item.as_deref(), input: denied.input.as_deref() }
}

/// Returns the changed key, or `several`; none if only the status changed.
fn changed_key(info: &Info) -> Option<&'static str> {
    let changed = [
        (info.cwd.is_some(), "cwd"),
        (info.model.is_some(), "model"),
        (info.provider.is_some(), "provider"),
        (info.mode.is_some(), "mode"),
        (info.title.is_some(), "title"),
        (info.version.is_some(), "version"),
        (!info.tools.is_empty(), "tools"),
        (!info.commands.is_empty(), "commands"),
        (!info.modes.is_empty(), "modes"),
        (!info.models.is_empty(), "models"),
        (!info.options.is_empty(), "options"),
        (!info.mcp.is_empty(), "mcp"),
        (!info.agents.is_empty(), "agents"),
        (info.capabilities.is_some(), "capabilities"),
        (info.auth_methods.is_some(), "authMethods"),
    ];
    let mut keys = changed.into_iter().filter(|(changed, _)| *changed).map(|(_, key)| key);
    let first = keys.next()?;
    Some(if keys.next().is_some() { "several" } else { first })
}

impl MessageProjection {
    /// Handles a notice.
    pub(super) fn push_notice(&mut self, notice: &Notice, out: &mut MessageSink<'_>) {
        self.record_error(notice.error.as_ref());
        let (place, remark) = (out.message_place(), Remark::from(notice));
        let failure = notice.error.as_ref().map(Failure::from_fault);
        match notice.topic {
            Topic::Heartbeat | Topic::Echo => {}
            Topic::Control if notice.status.as_deref() == Some("pending") => self.push_pending_tool(notice, out),
            // Debug details are only available in the event model.
            Topic::Status | Topic::RateLimit | Topic::Control if notice.level == Level::Debug => {}
            Topic::Status => self.push_status(StatusSubtype::Status, notice, out),
            Topic::RateLimit => self.push_status(StatusSubtype::RateLimit, notice, out),
            Topic::Warning => self.push_status(StatusSubtype::Warning, notice, out),
            Topic::Hook => self.push_status(StatusSubtype::Hook, notice, out),
            Topic::Task => self.push_status(StatusSubtype::Task, notice, out),
            Topic::Step => self.push_status(StatusSubtype::Step, notice, out),
            Topic::Retry => {
                self.activity.set_status(SessionStatus::Retrying);
                self.push_status(StatusSubtype::Retry, notice, out);
            }
            Topic::Compaction => self.push_compaction(notice, out),
            Topic::Auth => {
                self.told_auth |= failure.is_some();
                out.send(Kind::AuthStatus(AuthStatus { place, remark, failure }));
            }
            Topic::Control if matches!(notice.status.as_deref(), Some("answered" | "completed" | "failed")) => {
                out.send(Kind::ControlResponse(ControlResponse { place, remark, failure }));
            }
            // Requests and other communication between host and agent.
            Topic::Control => {}
            Topic::Interrupt => out.send(Kind::Interrupt(Interrupt { place, remark })),
            Topic::Retracted => {
                let lifecycle = SessionLifecycle::new(removal_subtype(notice), place);
                let item_id = out.event.item.as_deref();
                out.send(Kind::SessionLifecycle(SessionLifecycle { item_id, remark, failure, ..lifecycle }));
            }
            Topic::ToolSummary => push_tool_summary(notice, out),
            Topic::ModelChanged => self.push_configuration("model", notice, out),
            Topic::Commands => self.push_configuration("commands", notice, out),
            Topic::Late | Topic::Snapshot | Topic::Stdout | Topic::Stderr | Topic::Unknown => {
                let remark = Remark { name: remark.name.or(Some("unknown")), ..remark };
                out.send(Kind::Unknown(Unknown { place, subtype: notice.topic, remark, failure }));
            }
        }
        self.push_auth_status(notice.error.as_ref(), out);
    }

    /// Sends details about the current status.
    fn push_status(&self, subtype: StatusSubtype, notice: &Notice, out: &mut MessageSink<'_>) {
        let mut change = self.current_status(out);
        add_remark(&mut change, subtype, notice);
        out.send(Kind::StatusChange(Box::new(change)));
    }

    /// Reports compaction as a status while it runs and as a lifecycle message when it is done.
    fn push_compaction(&mut self, notice: &Notice, out: &mut MessageSink<'_>) {
        let status = match notice.status.as_deref() {
            Some("started" | "running" | "in_progress" | "compacting") => SessionStatus::Compacting,
            _ => self.activity.derived_status(),
        };
        let failed = notice.error.is_some() || notice.status.as_deref() == Some("failed");
        if status != SessionStatus::Compacting && !failed {
            let lifecycle = SessionLifecycle::new(LifecycleSubtype::SessionCompacted, out.message_place());
            out.send(Kind::SessionLifecycle(SessionLifecycle { remark: Remark::from(notice), ..lifecycle }));
        }
        if let Some(mut change) = self.status_change(status, out) {
            add_remark(&mut change, StatusSubtype::Compaction, notice);
            out.send(Kind::StatusChange(Box::new(change)));
        } else if failed {
            self.push_status(StatusSubtype::Compaction, notice, out);
        }
    }

    /// Reports a configuration change in the agent's words.
    fn push_configuration(&self, subtype: &'static str, notice: &Notice, out: &mut MessageSink<'_>) {
        let nothing = Info::default();
        let model = self.model.as_deref().filter(|_| notice.topic == Topic::ModelChanged);
        let change = ConfigurationChange {
            place: out.message_place(),
            subtype,
            facts: Facts { model, ..Facts::from(&nothing) },
            remark: Remark::from(notice),
        };
        out.send(Kind::ConfigurationChange(Box::new(change)));
    }
}

fn add_remark<'a>(change: &mut StatusChange<'a>, subtype: StatusSubtype, notice: &'a Notice) {
    change.subtype = Some(subtype);
    change.remark = Remark::from(notice);
    change.failure = notice.error.as_ref().map(Failure::from_fault);
}

/// Returns what was removed: a message, or a message part according to the native name.
fn removal_subtype(notice: &Notice) -> LifecycleSubtype {
    let is_part = notice.name.as_deref().is_some_and(|name| name.contains("part"));
    if is_part { LifecycleSubtype::MessagePartRemoved } else { LifecycleSubtype::MessageRemoved }
}

/// Sends the summary of several tool calls.
fn push_tool_summary(notice: &Notice, out: &mut MessageSink<'_>) {
    let summary = notice.text.as_deref().unwrap_or_default();
    let ids: Vec<String> =
        notice.detail.as_ref().and_then(|ids| serde_json::from_str(ids.get()).ok()).unwrap_or_default();
    let metadata = ToolUseSummary {
        place: out.message_place(),
        tool: None,
        tool_use_ids: ids.into_iter().map(Cow::Owned).collect(),
        status: EndStatus::Completed,
        summary: Cow::Borrowed(summary),
        failure: notice.error.as_ref().map_or_else(Failure::default, Failure::from_fault),
        output: None,
        exit_code: None,
        duration_ms: None,
        changes: Vec::new(),
        truncated: false,
        dropped: crate::message::wire::Dropped::default(),
    };
    out.send_with(Kind::ToolUseSummary(Box::new(metadata)), vec![Content::from_text(summary)], None);
}
