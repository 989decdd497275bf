//! Maps notices: each topic has a message type or is omitted.

use std::borrow::Cow;

use switchboard_event::{Info, Level, Notice, SessionStatus, Topic};

use super::{
    project::MessageProjection,
    sink::MessageSink,
    wire::{
        AuthStatus, ConfigurationChange, Content, ControlResponse, EndStatus, Facts, Failure, Interrupt, Kind,
        LifecycleSubtype, Remark, SessionLifecycle, StatusChange, StatusSubtype, ToolUseSummary, Unknown,
    },
};

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
        dropped: super::wire::Dropped::default(),
    };
    out.send_with(Kind::ToolUseSummary(Box::new(metadata)), vec![Content::from_text(summary)], None);
}
