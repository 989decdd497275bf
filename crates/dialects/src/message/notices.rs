//! Notices: each topic has a type of message, or none.

use std::borrow::Cow;

use switchboard_event::{Info, Level, Notice, SessionStatus, Topic};

use super::{
    project::Messenger,
    sink::Sink,
    wire::{
        AuthStatus, ConfigurationChange, Content, ControlResponse, EndStatus, Facts, Failure, Interrupt, Kind,
        LifecycleSubtype, Remark, SessionLifecycle, StatusChange, StatusSubtype, ToolUseSummary, Unknown,
    },
};

impl Messenger {
    /// Something to know.
    pub(super) fn noticed(&mut self, notice: &Notice, out: &mut Sink<'_>) {
        self.see_error(notice.error.as_ref());
        let (place, remark) = (out.place(), Remark::from(notice));
        let failure = notice.error.as_ref().map(Failure::of);
        match notice.topic {
            Topic::Heartbeat | Topic::Echo => {}
            Topic::Control if notice.status.as_deref() == Some("pending") => self.pending(notice, out),
            // For who looks closely, which is what the event model itself is for.
            Topic::Status | Topic::RateLimit | Topic::Control if notice.level == Level::Debug => {}
            Topic::Status => self.about_status(StatusSubtype::Status, notice, out),
            Topic::RateLimit => self.about_status(StatusSubtype::RateLimit, notice, out),
            Topic::Warning => self.about_status(StatusSubtype::Warning, notice, out),
            Topic::Hook => self.about_status(StatusSubtype::Hook, notice, out),
            Topic::Task => self.about_status(StatusSubtype::Task, notice, out),
            Topic::Step => self.about_status(StatusSubtype::Step, notice, out),
            Topic::Retry => {
                self.activity.change(SessionStatus::Retrying);
                self.about_status(StatusSubtype::Retry, notice, out);
            }
            Topic::Compaction => self.compaction(notice, out),
            Topic::Auth => {
                self.told_auth |= failure.is_some();
                out.send(Kind::AuthStatus(AuthStatus { place, remark, failure }));
            }
            Topic::Control if matches!(notice.status.as_deref(), Some("answered" | "completed" | "failed")) => {
                out.send(Kind::ControlResponse(ControlResponse { place, remark, failure }));
            }
            // Requests and other chatter between host and agent.
            Topic::Control => {}
            Topic::Interrupt => out.send(Kind::Interrupt(Interrupt { place, remark })),
            Topic::Retracted => {
                let lifecycle = SessionLifecycle::new(removed(notice), place);
                let item_id = out.event.item.as_deref();
                out.send(Kind::SessionLifecycle(SessionLifecycle { item_id, remark, failure, ..lifecycle }));
            }
            Topic::ToolSummary => tool_summary(notice, out),
            Topic::ModelChanged => self.configured("model", notice, out),
            Topic::Commands => self.configured("commands", notice, out),
            Topic::Late | Topic::Snapshot | Topic::Stdout | Topic::Stderr | Topic::Unknown => {
                let remark = Remark { name: remark.name.or(Some("unknown")), ..remark };
                out.send(Kind::Unknown(Unknown { place, subtype: notice.topic, remark, failure }));
            }
        }
        self.show_auth(notice.error.as_ref(), out);
    }

    /// More about the current status.
    fn about_status(&self, subtype: StatusSubtype, notice: &Notice, out: &mut Sink<'_>) {
        let mut change = self.status(out);
        explain(&mut change, subtype, notice);
        out.send(Kind::StatusChange(Box::new(change)));
    }

    /// Compaction is a status while it goes on, and something that happened when it is done.
    fn compaction(&mut self, notice: &Notice, out: &mut Sink<'_>) {
        let status = match notice.status.as_deref() {
            Some("started" | "running" | "in_progress" | "compacting") => SessionStatus::Compacting,
            _ => self.activity.settled(),
        };
        let failed = notice.error.is_some() || notice.status.as_deref() == Some("failed");
        if status != SessionStatus::Compacting && !failed {
            let lifecycle = SessionLifecycle::new(LifecycleSubtype::SessionCompacted, out.place());
            out.send(Kind::SessionLifecycle(SessionLifecycle { remark: Remark::from(notice), ..lifecycle }));
        }
        if let Some(mut change) = self.changed(status, out) {
            explain(&mut change, StatusSubtype::Compaction, notice);
            out.send(Kind::StatusChange(Box::new(change)));
        } else if failed {
            self.about_status(StatusSubtype::Compaction, notice, out);
        }
    }

    /// The session is set up differently, in the agent's words.
    fn configured(&self, subtype: &'static str, notice: &Notice, out: &mut Sink<'_>) {
        let nothing = Info::default();
        let model = self.model.as_deref().filter(|_| notice.topic == Topic::ModelChanged);
        let change = ConfigurationChange {
            place: out.place(),
            subtype,
            facts: Facts { model, ..Facts::from(&nothing) },
            remark: Remark::from(notice),
        };
        out.send(Kind::ConfigurationChange(Box::new(change)));
    }
}

fn explain<'a>(change: &mut StatusChange<'a>, subtype: StatusSubtype, notice: &'a Notice) {
    change.subtype = Some(subtype);
    change.remark = Remark::from(notice);
    change.failure = notice.error.as_ref().map(Failure::of);
}

/// What was taken back: a message, or by its native name a part of one.
fn removed(notice: &Notice) -> LifecycleSubtype {
    let is_part = notice.name.as_deref().is_some_and(|name| name.contains("part"));
    if is_part { LifecycleSubtype::MessagePartRemoved } else { LifecycleSubtype::MessageRemoved }
}

/// Several tools in a few words.
fn tool_summary(notice: &Notice, out: &mut Sink<'_>) {
    let summary = notice.text.as_deref().unwrap_or_default();
    let ids: Vec<String> =
        notice.detail.as_ref().and_then(|ids| serde_json::from_str(ids.get()).ok()).unwrap_or_default();
    let metadata = ToolUseSummary {
        place: out.place(),
        tool: None,
        tool_use_ids: ids.into_iter().map(Cow::Owned).collect(),
        status: EndStatus::Completed,
        summary: Cow::Borrowed(summary),
        failure: notice.error.as_ref().map_or_else(Failure::default, Failure::of),
        output: None,
        exit_code: None,
        duration_ms: None,
        changes: Vec::new(),
        truncated: false,
        dropped: super::wire::Dropped::default(),
    };
    out.send_with(Kind::ToolUseSummary(Box::new(metadata)), vec![Content::text(summary)], None);
}
