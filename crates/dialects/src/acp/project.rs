//! Projects events to ACP updates and requests. Text is sent once: a chunk is always new text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_event::{
    Context, Delta, Details, Event, EventBody, Fault, Field, Id, Info, Item, Notice, Outcome, PlanEntry, PlanStatus,
    RequestOpened, RequestResolved, SessionEnded, SessionStarted, Stop, Topic, TurnCompleted, TurnStarted, TurnStatus,
    Usage,
};

use super::messages::{CompactionCounter, ConversationState};
use super::requests::AcpRequestKind;
use super::tool_calls::OpenToolCalls;
use super::wire::{
    Cost, Entry, EntryStatus, Failure, Meta, Method, Notification, Priority, Request, SessionUpdate, StopReason,
    SwitchboardMeta, TokenUsage, ToolCall, ToolStatus, Update,
};
use super::{AgentConfigOptions, messages, requests, slash_commands, tool_calls, wire};
use crate::{
    MessageBuffer, Projection,
    tools::is_plan_in_effect,
    track::{ItemTracker, SubagentLabels, TurnUsage},
};

/// The message types that a client can display.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the protocol that a client says or does not say")]
pub struct AcpClientCapabilities {
    /// Supports notices.
    pub notices: bool,
    /// Supports context compaction updates.
    pub compaction: bool,
    /// Supports forms.
    pub forms: bool,
    /// Supports streaming command output.
    pub terminals: bool,
    /// Supports Switchboard's extension notifications.
    pub extensions: bool,
}

impl Default for AcpClientCapabilities {
    /// The capabilities of a read-only client: all but terminals, so command output is also sent in full when the
    /// command ends.
    fn default() -> Self {
        Self { notices: true, compaction: true, forms: true, terminals: false, extensions: true }
    }
}

impl AcpClientCapabilities {
    /// Returns whether command output may be streamed in `_meta`.
    pub(super) fn streams_output(self) -> bool {
        self.terminals || self.extensions
    }
}

/// Projects events to ACP messages.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct AcpProjection {
    client: AcpClientCapabilities,
    track: ItemTracker,
    usage: TurnUsage,
    speech: ConversationState,
    cards: OpenToolCalls,
    /// The open requests and the tool calls they refer to.
    asked: BTreeMap<Id, Id>,
    plan: Vec<PlanEntry>,
    offered: AgentConfigOptions,
    context: Context,
    cost: Option<f64>,
    subagents: SubagentLabels,
    compactions: CompactionCounter,
}

impl Projection for AcpProjection {
    fn project_event(&mut self, event: &Event, out: &mut MessageBuffer) {
        let before = self.item_before(event);
        self.track.observe_event(event);
        self.usage.add_event(event);
        let mut out = AcpSink { event, out, client: self.client };
        match &event.body {
            EventBody::SessionStarted(started) => self.session_started(started, &mut out),
            EventBody::SessionUpdated(updated) => self.apply_info(&updated.info, &mut out),
            EventBody::SessionEnded(ended) => self.session_ended(ended, &mut out),
            EventBody::TurnStarted(turn) => self.turn_started(turn, &mut out),
            EventBody::TurnCompleted(turn) => self.turn_completed(turn, &mut out),
            EventBody::ItemStarted(item) => self.item_started(item, &mut out),
            EventBody::ItemDelta(delta) => self.item_delta(delta, before.as_ref(), &mut out),
            EventBody::ItemCompleted(item) => self.item_completed(item, &mut out),
            // The decision is already made; an editor would prompt its user again.
            EventBody::RequestOpened(request) if request.decided => {}
            EventBody::RequestOpened(request) => self.request_opened(request, &mut out),
            EventBody::RequestResolved(resolved) => self.request_resolved(resolved, &mut out),
            EventBody::Notice(notice) => self.push_notice(notice, &mut out),
            EventBody::Usage(_) => {}
        }
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(self.clone())
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

/// Collects the messages of one event.
pub struct AcpSink<'a> {
    pub event: &'a Event,
    out: &'a mut MessageBuffer,
    client: AcpClientCapabilities,
}

impl<'a> AcpSink<'a> {
    /// Sends a session update.
    pub fn push_update(&mut self, update: Update<'_>) {
        let update = SessionUpdate { session_id: &self.event.session, update };
        self.out.push(&Notification::new(Method::Update(Box::new(update))));
    }

    /// Sends one of Switchboard's extension notifications if the client supports them.
    pub fn push_extension(&mut self, method: Method<'_>) {
        if self.client.extensions {
            self.out.push(&Notification::new(method));
        }
    }

    fn item_id(&self) -> Option<&'a Id> {
        self.event.item.as_ref()
    }
}

impl AcpProjection {
    /// Creates a projection for a client with the given capabilities.
    #[must_use]
    pub fn for_client(client: AcpClientCapabilities) -> Self {
        Self { client, ..Self::default() }
    }

    /// Returns the previous state of an item that the event replaces.
    fn item_before(&self, event: &Event) -> Option<Item> {
        match (&event.body, &event.item) {
            (EventBody::ItemDelta(Delta::Set { .. }), Some(id)) => {
                self.track.get(id).map(|tracked| tracked.item.clone())
            }
            _ => None,
        }
    }

    fn session_started(&mut self, started: &SessionStarted, out: &mut AcpSink<'_>) {
        let folder = started.info.cwd.as_deref().or(started.config.working_directory.as_deref());
        out.push_extension(Method::SessionStarted(wire::SessionStarted {
            session_id: &out.event.session,
            agent: &out.event.agent,
            run: out.event.run,
            agent_session_id: started.agent_session.as_deref(),
            cwd: folder,
        }));
        self.apply_info(&started.info, out);
    }

    fn session_ended(&mut self, ended: &SessionEnded, out: &mut AcpSink<'_>) {
        self.fail_unstarted_calls(out);
        out.push_extension(Method::SessionEnded(wire::SessionEnded {
            session_id: &out.event.session,
            reason: ended.reason,
            error: ended.error.as_ref().map(to_failure),
        }));
    }

    /// Applies the session info and sends the updates that follow from it.
    fn apply_info(&mut self, info: &Info, out: &mut AcpSink<'_>) {
        let before = self.offered.clone();
        self.offered.apply_info(info);
        if let Some(mode) = self.offered.current_mode().filter(|mode| before.current_mode() != Some(mode)) {
            out.push_update(Update::Mode { current_mode_id: mode });
        }
        if self.offered != before {
            let config_options = self.offered.config_options();
            if config_options != before.config_options() {
                out.push_update(Update::Settings { config_options: &config_options });
            }
        }
        if !info.commands.is_empty() {
            out.push_update(Update::Commands { available_commands: slash_commands(&info.commands) });
        }
        if let Some(title) = &info.title {
            out.push_update(Update::Info { title });
        }
        if let Some(context) = info.context {
            self.context =
                Context { used: context.used.or(self.context.used), size: context.size.or(self.context.size) };
            self.push_usage(out);
        }
    }

    fn push_usage(&self, out: &mut AcpSink<'_>) {
        if let Context { used: Some(used), size: Some(size) } = self.context {
            let cost = self.cost.map(|amount| Cost { amount, currency: "USD" });
            out.push_update(Update::Usage { used, size, cost });
        }
    }

    fn turn_started(&mut self, turn: &TurnStarted, out: &mut AcpSink<'_>) {
        out.push_extension(Method::TurnStarted(wire::TurnStarted {
            session_id: &out.event.session,
            turn: out.event.turn.unwrap_or_default(),
            origin: turn.origin,
        }));
        self.speech.begin_turn(turn.prompt.as_deref(), out);
    }

    fn turn_completed(&mut self, turn: &TurnCompleted, out: &mut AcpSink<'_>) {
        self.fail_unstarted_calls(out);
        if let Some(answer) = &turn.result {
            self.speech.push_result(answer, out);
        }
        let usage = self.usage.take();
        let cost_usd = turn.cost_usd.or(usage.cost_usd);
        if let Some(cost) = cost_usd {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
            self.push_usage(out);
        }
        out.push_extension(Method::TurnCompleted(wire::TurnCompleted {
            session_id: &out.event.session,
            turn: out.event.turn.unwrap_or_default(),
            stop_reason: stop_reason(turn),
            error: turn_failure(turn),
            usage: token_usage(&usage),
            cost_usd,
        }));
    }

    /// Fails the tool calls that were announced but never started.
    fn fail_unstarted_calls(&mut self, out: &mut AcpSink<'_>) {
        for id in self.cards.take_unstarted() {
            out.push_update(tool_calls::status_update(&id, ToolStatus::Failed));
        }
    }

    fn item_started(&mut self, item: &Item, out: &mut AcpSink<'_>) {
        let Some(id) = out.item_id() else { return };
        if let Details::Subagent(subagent) = &item.details {
            self.subagents.record_subagent(id, subagent);
        }
        if tool_calls::is_tool_call(item) {
            out.push_update(self.cards.start_call(out.event, id, item, self.client));
        }
        messages::push_initial_text(item, &mut self.track, &mut self.speech, out);
        self.show_plan(item, out);
    }

    fn item_delta(&mut self, delta: &Delta, before: Option<&Item>, out: &mut AcpSink<'_>) {
        let Some(id) = out.item_id() else { return };
        match delta {
            Delta::Append { field, text, .. } => {
                let Some(grown) = self.track.append_text(id, *field, text) else { return };
                if *field == Field::Output && matches!(grown.item.details, Details::Command(_)) {
                    if grown.shown && self.cards.contains(id) && self.client.streams_output() {
                        out.push_update(tool_calls::output_update(id, text));
                    }
                } else if grown.shown {
                    self.speech.push_text(grown.item, text, out);
                }
            }
            Delta::Set { patch } => {
                if let Details::Subagent(subagent) = &patch.details {
                    self.subagents.record_subagent(id, subagent);
                }
                if let (true, Some(before)) = (self.cards.contains(id), before)
                    && let Some(update) = tool_calls::change_update(id, before, patch)
                {
                    out.push_update(update);
                }
                self.show_plan(patch, out);
            }
            Delta::Progress { elapsed_ms, ratio, text } => {
                if self.cards.contains(id) && self.client.extensions {
                    let ours = SwitchboardMeta {
                        text: text.as_deref(),
                        ratio: *ratio,
                        elapsed_ms: *elapsed_ms,
                        ..SwitchboardMeta::default()
                    };
                    out.push_update(tool_calls::meta_update(id, Meta::with_switchboard(ours)));
                }
            }
        }
    }

    fn item_completed(&mut self, item: &Item, out: &mut AcpSink<'_>) {
        let Some(id) = out.item_id() else { return };
        let Some(tracked) = self.track.finish_item(id) else { return };
        if let Details::Subagent(subagent) = &item.details {
            self.subagents.record_subagent(id, subagent);
        }
        self.speech.finish_item(item, &tracked, &self.subagents, &self.cards, out);
        self.show_plan(item, out);
        let unheld = matches!(&item.details, Details::Plan(_)) && item.call.is_some() && !is_plan_in_effect(item);
        if !self.cards.contains(id) && (unheld || tool_calls::is_tool_call(item)) {
            out.push_update(self.cards.start_call(out.event, id, item, self.client));
        }
        if self.cards.close(id) {
            out.push_update(tool_calls::end_update(out.event, id, item, &tracked, self.client));
        }
    }

    /// Sends the plan of the session; a subagent's plan is not shown.
    fn show_plan(&mut self, item: &Item, out: &mut AcpSink<'_>) {
        let Details::Plan(plan) = &item.details else { return };
        let shown = out.event.thread.is_some() || !is_plan_in_effect(item) || plan.entries == self.plan;
        if shown || plan.entries.is_empty() {
            return;
        }
        self.plan.clone_from(&plan.entries);
        out.push_update(Update::Plan { entries: self.plan.iter().map(plan_entry).collect() });
    }

    fn request_opened(&mut self, request: &RequestOpened, out: &mut AcpSink<'_>) {
        let (event, id) = (out.event, out.event.item.as_ref().unwrap_or(&request.request));
        self.asked.insert(request.request.clone(), id.clone());
        let questions = requests::request_kind(request) == AcpRequestKind::Questions;
        if questions && self.client.forms {
            let form = requests::build_form(event, request);
            return out.out.push(&Request::for_elicitation(request.request.as_str().into(), form));
        }
        if questions && !requests::all_have_choices(request) {
            return;
        }
        let item = self.track.get(id).map(|tracked| &tracked.item).filter(|_| self.cards.contains(id));
        let permission = requests::build_permission(event, id, request, item);
        if !self.cards.contains(id) {
            self.cards.insert_requested(id);
            let title = permission.tool_call.title.clone().unwrap_or_default();
            let fields = requests::tool_call_fields(event, request, None);
            out.push_update(Update::ToolCall(ToolCall { tool_call_id: id, title, fields }));
        }
        if !questions {
            return out.out.push(&Request::for_permission(request.request.as_str().into(), permission));
        }
        for (part, question) in request.questions.iter().enumerate() {
            let asked = requests::question_permission(event, id, request, question);
            out.out.push(&Request::for_permission(requests::question_request_id(request, part), asked));
        }
    }

    fn request_resolved(&mut self, resolved: &RequestResolved, out: &mut AcpSink<'_>) {
        out.push_extension(Method::RequestResolved(wire::RequestResolved {
            session_id: &out.event.session,
            request_id: &resolved.request,
            outcome: resolved.outcome,
            by: resolved.by,
        }));
        let Some(id) = self.asked.remove(&resolved.request).filter(|id| self.cards.is_only_requested(id)) else {
            return;
        };
        let agreed = matches!(resolved.outcome, Outcome::Allowed | Outcome::Answered);
        // An allowed tool may still start; a plain question is answered now.
        if agreed && id != resolved.request {
            return out.push_update(tool_calls::status_update(&id, ToolStatus::InProgress));
        }
        self.cards.close(&id);
        out.push_update(tool_calls::status_update(
            &id,
            if agreed { ToolStatus::Completed } else { ToolStatus::Failed },
        ));
    }

    fn push_notice(&mut self, notice: &Notice, out: &mut AcpSink<'_>) {
        if notice.topic == Topic::Compaction && out.event.thread.is_none() {
            let update = self.compactions.compaction_update(notice);
            if self.client.compaction {
                out.push_update(update);
            }
        } else if let Some(update) = messages::notice_update(notice).filter(|_| self.client.notices) {
            out.push_update(update);
        }
    }
}

fn plan_entry(entry: &PlanEntry) -> Entry<'_> {
    let status = match entry.status {
        PlanStatus::Pending => EntryStatus::Pending,
        PlanStatus::InProgress => EntryStatus::InProgress,
        // The protocol has no status for an abandoned step.
        PlanStatus::Completed | PlanStatus::Failed => EntryStatus::Completed,
    };
    Entry { content: &entry.step, priority: Priority::Medium, status }
}

/// Returns why a turn ended; none if it failed.
#[must_use]
pub fn stop_reason(turn: &TurnCompleted) -> Option<StopReason> {
    Some(match (turn.status, turn.stop) {
        (TurnStatus::Interrupted, _) | (_, Stop::Cancelled) => StopReason::Cancelled,
        (_, Stop::MaxTokens) => StopReason::MaxTokens,
        (_, Stop::MaxTurns | Stop::Budget) => StopReason::MaxTurnRequests,
        (_, Stop::Refusal) => StopReason::Refusal,
        (TurnStatus::Failed, _) | (_, Stop::Error) => return None,
        (TurnStatus::Completed, Stop::EndTurn) => StopReason::EndTurn,
    })
}

/// Converts the token usage of a turn.
#[must_use]
pub fn token_usage(usage: &Usage) -> TokenUsage {
    let filled = |tokens: u64| Some(tokens).filter(|tokens| *tokens > 0);
    TokenUsage {
        total_tokens: usage.total_tokens(),
        input_tokens: usage.input,
        output_tokens: usage.output,
        thought_tokens: filled(usage.reasoning),
        cached_read_tokens: filled(usage.cache_read),
        cached_write_tokens: filled(usage.cache_write()),
    }
}

fn to_failure(fault: &Fault) -> Failure<'_> {
    Failure { message: &fault.message, code: fault.code, http_status: fault.http_status, retryable: fault.retryable }
}

/// Returns the failure of a turn, with a default message if the agent gave none.
fn turn_failure(turn: &TurnCompleted) -> Option<Failure<'_>> {
    let silent = Failure { message: "the turn failed", code: Default::default(), http_status: None, retryable: None };
    stop_reason(turn).is_none().then(|| turn.error.as_ref().map_or(silent, to_failure))
}
