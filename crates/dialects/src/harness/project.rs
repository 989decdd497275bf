//! Projects events to notifications and requests.
//!
//! An item belongs to the turn in which it started, even if it ends later. Events between turns belong to the latest
//! turn, events before the first one to `turn_0`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_event::{
    About, Command, Delta, Details, Event, EventBody, Fault, Field, FileChange, Id, Info, Item, Outcome, RequestOpened,
    RequestResolved, SessionStarted, Timestamp, TurnCompleted, TurnStarted, Usage,
};

use super::turn_items::TurnItems;
use super::wire::{
    DeltaMeta, Growth, ItemBody, ItemDelta, ItemNotification, ItemStatus, Notification, PlanEntry, PlanUpdated,
    Progress, Thread, ThreadItem, ThreadMeta, ThreadStarted, ThreadUpdated, TokenUsage, TokenUsageUpdated, Turn,
    TurnError, TurnId, TurnMeta, TurnNotification, TurnStatus, UsageMeta,
};
use super::{items, notifications};
use crate::{MessageBuffer, Projection, tools};

/// Maximum length of the thread preview taken from the first prompt.
const MAX_PREVIEW_BYTES: usize = 200;

/// Projects events to harness messages.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct HarnessProjection {
    thread: ThreadFacts,
    turn: TurnId,
    in_turn: bool,
    /// The open items with their delta kind and the turn in which they started.
    open: BTreeMap<Id, OpenThreadItem>,
    kept: TurnItems,
    usage: Usage,
    plan: ShownPlan,
}

/// The remembered properties of the thread.
#[derive(Clone, Default, Serialize, Deserialize)]
struct ThreadFacts {
    created: Option<Timestamp>,
    preview: String,
    provider: String,
    cwd: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct OpenThreadItem {
    says: ItemDeltaKind,
    turn: TurnId,
    /// The part of its diff that was sent.
    diff: SentDiff,
    /// Set until the agent reports the item itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    announced: Option<Box<AnnouncedItem>>,
}

/// An item shown because of a request: some agents ask for approval before they report the call.
#[derive(Clone, Serialize, Deserialize)]
struct AnnouncedItem {
    item: ThreadItem,
    request: Id,
}

/// The length of the sent part of a diff, and its end.
#[derive(Clone, Default, Serialize, Deserialize)]
struct SentDiff {
    bytes: usize,
    tail: String,
}

/// Length of the compared end of a sent diff, which tells whether a new diff continues it.
const MAX_TAIL_BYTES: usize = 64;

/// Selects the delta method of an item.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum ItemDeltaKind {
    Message,
    Thoughts,
    Command,
    FileChange,
    Plan,
    Other,
}

/// The last plan shown; an unchanged plan is not shown again.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
struct ShownPlan {
    turn: TurnId,
    explanation: String,
    entries: Vec<PlanEntry>,
}

impl Projection for HarnessProjection {
    fn project_event(&mut self, event: &Event, out: &mut MessageBuffer) {
        match &event.body {
            EventBody::SessionStarted(started) => self.session_started(event, started, out),
            EventBody::SessionUpdated(updated) => {
                self.thread.apply_info(&updated.info);
                let params = ThreadUpdated {
                    thread_id: &event.session,
                    info: notifications::thread_info(&updated.info),
                    meta: None,
                };
                out.push(&Notification::ThreadUpdated(params));
            }
            EventBody::SessionEnded(ended) => {
                self.close_announced(event, out);
                out.push(&notifications::thread_ended(event, ended));
            }
            EventBody::TurnStarted(turn) => self.turn_started(event, turn, out),
            EventBody::TurnCompleted(turn) => self.turn_completed(event, turn, out),
            EventBody::ItemStarted(item) => self.item_started(event, item, out),
            EventBody::ItemDelta(delta) => self.item_delta(event, delta, out),
            EventBody::ItemCompleted(item) => self.item_completed(event, item, out),
            // The request is already answered; clients must not answer it again.
            EventBody::RequestOpened(request) if request.decided => {}
            EventBody::RequestOpened(request) => {
                self.announce_item(event, request, out);
                out.push(&notifications::request_message(event, self.turn_of(event), request, &self.thread.cwd));
            }
            EventBody::RequestResolved(resolved) => self.request_resolved(event, resolved, out),
            EventBody::Usage(usage) => self.push_usage(event, usage, out),
            EventBody::Notice(notice) => notifications::push_notice(event, notice, out),
        }
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(self.clone())
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

impl ThreadFacts {
    fn apply_info(&mut self, info: &Info) {
        if let Some(cwd) = &info.cwd {
            self.cwd.clone_from(cwd);
        }
        if let Some(provider) = &info.provider {
            self.provider.clone_from(provider);
        }
        if let (true, Some(title)) = (self.preview.is_empty(), &info.title) {
            self.preview.clone_from(title);
        }
    }

    fn set_preview(&mut self, prompt: &str) {
        if self.preview.is_empty() {
            prompt
                .get(..prompt.floor_char_boundary(MAX_PREVIEW_BYTES))
                .unwrap_or_default()
                .clone_into(&mut self.preview);
        }
    }
}

impl HarnessProjection {
    /// Returns the turn of an event: its item's, its own, or the latest.
    fn turn_of(&self, event: &Event) -> TurnId {
        let open = event.item.as_ref().and_then(|id| self.open.get(id));
        open.map(|open| open.turn).or(event.turn.map(TurnId)).unwrap_or(self.turn)
    }

    fn session_started(&mut self, event: &Event, started: &SessionStarted, out: &mut MessageBuffer) {
        if let Some(folder) = &started.config.working_directory {
            self.thread.cwd.clone_from(folder);
        }
        self.thread.apply_info(&started.info);
        let created = *self.thread.created.get_or_insert(event.at);
        out.push(&Notification::ThreadStarted(ThreadStarted {
            thread: Thread {
                id: &event.session,
                preview: &self.thread.preview,
                model_provider: &self.thread.provider,
                created_at: created.as_micros().div_euclid(1_000_000),
                meta: Some(ThreadMeta {
                    agent: &event.agent,
                    run: Some(event.run),
                    agent_session: started.agent_session.as_deref(),
                    resumed: started.resumed.as_ref(),
                    info: Some(notifications::thread_info(&started.info)),
                    ..ThreadMeta::default()
                }),
            },
        }));
    }

    fn turn_started(&mut self, event: &Event, turn: &TurnStarted, out: &mut MessageBuffer) {
        self.turn = event.turn.map_or(self.turn, TurnId);
        (self.in_turn, self.usage, self.kept) = (true, Usage::default(), TurnItems::default());
        self.thread.set_preview(turn.prompt.as_deref().unwrap_or_default());
        let meta = TurnMeta {
            origin: Some(turn.origin),
            prompt: turn.prompt.as_deref(),
            agent_turn: turn.agent_turn.as_deref(),
            ..TurnMeta::default()
        };
        let turn = Turn { id: self.turn, status: TurnStatus::InProgress, items: Vec::new(), error: None, meta };
        out.push(&Notification::TurnStarted(TurnNotification { thread_id: &event.session, turn }));
    }

    fn turn_completed(&mut self, event: &Event, turn: &TurnCompleted, out: &mut MessageBuffer) {
        self.close_announced(event, out);
        self.in_turn = false;
        let (items, omitted) = self.kept.take();
        let status = match turn.status {
            switchboard_event::TurnStatus::Completed => TurnStatus::Completed,
            switchboard_event::TurnStatus::Failed => TurnStatus::Failed,
            switchboard_event::TurnStatus::Interrupted => TurnStatus::Interrupted,
        };
        let error = (status == TurnStatus::Failed).then(|| turn_error(turn.error.as_ref()));
        let meta = TurnMeta {
            stop: Some(turn.stop),
            duration_ms: turn.duration_ms,
            steps: turn.steps,
            cost_usd: turn.cost_usd,
            denied: &turn.denied,
            result: turn.result.as_deref(),
            omitted_items: Some(omitted).filter(|omitted| *omitted > 0),
            ..TurnMeta::default()
        };
        let turn = Turn { id: event.turn.map_or(self.turn, TurnId), status, items, error, meta };
        out.push(&Notification::TurnCompleted(TurnNotification { thread_id: &event.session, turn }));
    }

    fn item_started(&mut self, event: &Event, item: &Item, out: &mut MessageBuffer) {
        let Some(id) = &event.item else { return };
        if let Some(open) = self.open.get_mut(id).filter(|open| open.announced.is_some()) {
            open.announced = None;
            open.says = delta_kind(&item.details);
            return self.show_diff(event, item, out);
        }
        let turn_id = event.turn.map_or(self.turn, TurnId);
        let shown = items::thread_item(event, item, &self.thread.cwd);
        self.show_started(&event.session, turn_id, shown, None, delta_kind(&item.details), out);
        self.show_plan(event, turn_id, item, out);
    }

    fn show_started(
        &mut self,
        thread_id: &Id,
        turn: TurnId,
        item: ThreadItem,
        request: Option<&Id>,
        says: ItemDeltaKind,
        out: &mut MessageBuffer,
    ) {
        out.push(&Notification::ItemStarted(ItemNotification { thread_id, turn_id: turn, item: &item }));
        let diff = SentDiff::from_diff(&joined_diff(&item));
        let announce = |request: &Id| Box::new(AnnouncedItem { item: item.clone(), request: request.clone() });
        self.open.insert(item.id.clone(), OpenThreadItem { says, turn, diff, announced: request.map(announce) });
        if self.in_turn && turn == self.turn {
            self.kept.push_started(item);
        }
    }

    /// Shows the item of an approval if the agent has not reported it yet: clients show approvals with their items.
    fn announce_item(&mut self, event: &Event, request: &RequestOpened, out: &mut MessageBuffer) {
        let id = items::request_item_id(event, &request.request);
        let details = match request.about {
            _ if self.open.contains_key(id) => return,
            About::Command => Details::Command(Command {
                command: request.command.clone().unwrap_or_else(|| request.title.clone()),
                cwd: request.cwd.clone(),
                ..Command::default()
            }),
            About::FileChange => {
                Details::FileChange(FileChange { changes: request.changes.clone(), ..FileChange::default() })
            }
            _ => return,
        };
        let says = delta_kind(&details);
        let item = Item { call: request.call.clone(), ..Item::new(details) };
        let turn = self.turn_of(event);
        let shown = ThreadItem { id: id.clone(), ..items::thread_item(event, &item, &self.thread.cwd) };
        self.show_started(&event.session, turn, shown, Some(&request.request), says, out);
    }

    fn request_resolved(&mut self, event: &Event, resolved: &RequestResolved, out: &mut MessageBuffer) {
        out.push(&notifications::resolved_notification(event, self.turn_of(event), resolved));
        let status = match resolved.outcome {
            Outcome::Allowed | Outcome::Answered => ItemStatus::Completed,
            _ => ItemStatus::Declined,
        };
        for open in self.open.values_mut() {
            if let Some(announced) = open.announced.as_mut().filter(|item| item.request == resolved.request) {
                announced.item.set_status(status);
            }
        }
        // No item event follows a request that names no item.
        if self.open.get(&resolved.request).is_some_and(|open| open.announced.is_some()) {
            self.complete_announced(&event.session, &resolved.request, out);
        }
    }

    /// Completes the announced items that the agent never reported.
    fn close_announced(&mut self, event: &Event, out: &mut MessageBuffer) {
        let is_open = |(id, open): (&Id, &OpenThreadItem)| open.announced.as_ref().map(|_| id.clone());
        let ids: Vec<Id> = self.open.iter().filter_map(is_open).collect();
        ids.iter().for_each(|id| self.complete_announced(&event.session, id, out));
    }

    fn complete_announced(&mut self, thread_id: &Id, id: &Id, out: &mut MessageBuffer) {
        let Some(OpenThreadItem { turn: turn_id, announced: Some(announced), .. }) = self.open.remove(id) else {
            return;
        };
        let mut item = announced.item;
        item.fail_if_open();
        out.push(&Notification::ItemCompleted(ItemNotification { thread_id, turn_id, item: &item }));
        if self.in_turn && turn_id == self.turn {
            self.kept.replace_finished(item);
        }
    }

    /// Sends the continuation of a diff. A rewritten diff is sent when the item completes.
    fn show_diff(&mut self, event: &Event, item: &Item, out: &mut MessageBuffer) {
        let Details::FileChange(change) = &item.details else { return };
        let Some(item_id) = &event.item else { return };
        let Some(open) = self.open.get_mut(item_id) else { return };
        let diff: String = items::file_changes(&change.changes).iter().map(|change| change.diff.as_str()).collect();
        let Some(delta) = open.diff.unsent_part(&diff) else { return };
        let (thread_id, turn_id, meta) = (&*event.session, open.turn, delta_meta(event));
        out.push(&Notification::FileChangeDelta(ItemDelta { thread_id, turn_id, item_id, delta, meta }));
        open.diff = SentDiff::from_diff(&diff);
    }

    fn item_completed(&mut self, event: &Event, item: &Item, out: &mut MessageBuffer) {
        let Some(id) = &event.item else { return };
        let turn_id = self.turn_of(event);
        self.open.remove(id);
        self.show_plan(event, turn_id, item, out);
        let shown = items::thread_item(event, item, &self.thread.cwd);
        let params = ItemNotification { thread_id: &event.session, turn_id, item: &shown };
        out.push(&Notification::ItemCompleted(params));
        if self.in_turn && turn_id == self.turn {
            self.kept.replace_finished(shown);
        }
    }

    fn item_delta(&mut self, event: &Event, delta: &Delta, out: &mut MessageBuffer) {
        let Some(id) = &event.item else { return };
        let Some(open) = self.open.get_mut(id) else { return };
        if let Delta::Set { patch } = delta {
            open.says = delta_kind(&patch.details);
        }
        let (says, turn) = (open.says, open.turn);
        match delta {
            Delta::Append { field, text, .. } => out.push(&delta_notification(event, turn, says, *field, text)),
            Delta::Progress { elapsed_ms, ratio, text } => out.push(&Notification::Progress(Progress {
                thread_id: &event.session,
                turn_id: turn,
                item_id: id,
                elapsed_ms: *elapsed_ms,
                ratio: *ratio,
                text: text.as_deref(),
            })),
            // Other changes are sent when the item completes; streamed text is not sent again.
            Delta::Set { patch } => {
                self.show_plan(event, turn, patch, out);
                self.show_diff(event, patch, out);
            }
        }
    }

    /// Sends the plan of the turn; a subagent's plan is only an item.
    fn show_plan(&mut self, event: &Event, turn: TurnId, item: &Item, out: &mut MessageBuffer) {
        let Details::Plan(plan) = &item.details else { return };
        if !tools::is_plan_in_effect(item) {
            return;
        }
        let explanation = plan.explanation.clone().unwrap_or_default();
        let now = ShownPlan { turn, explanation, entries: items::plan_entries(plan) };
        let cleared = now.entries.is_empty() && self.plan.entries.is_empty();
        if event.thread.is_some() || cleared || now == self.plan {
            return;
        }
        self.plan = now;
        out.push(&Notification::PlanUpdated(PlanUpdated {
            thread_id: &event.session,
            turn_id: turn,
            explanation: &self.plan.explanation,
            plan: &self.plan.entries,
        }));
    }

    /// Sends the token usage of the turn. A running total of unknown base is ignored.
    fn push_usage(&mut self, event: &Event, usage: &Usage, out: &mut MessageBuffer) {
        if usage.cumulative {
            return;
        }
        self.usage.add(usage);
        let filled = |tokens: u64| Some(tokens).filter(|tokens| *tokens > 0);
        let (model, cost_usd) = (usage.model.as_deref(), self.usage.cost_usd);
        out.push(&Notification::TokenUsage(TokenUsageUpdated {
            thread_id: &event.session,
            turn_id: self.turn_of(event),
            usage: TokenUsage {
                input_tokens: self.usage.input,
                output_tokens: self.usage.output,
                thinking_tokens: filled(self.usage.reasoning),
                cache_read_tokens: filled(self.usage.cache_read),
                cache_write_tokens: filled(self.usage.cache_write()),
                tool_tokens: self.usage.tool,
                meta: (model.is_some() || cost_usd.is_some()).then_some(UsageMeta { model, cost_usd }),
            },
        }));
    }
}

impl SentDiff {
    fn from_diff(diff: &str) -> Self {
        let tail = diff.get(diff.ceil_char_boundary(diff.len().saturating_sub(MAX_TAIL_BYTES))..).unwrap_or_default();
        Self { bytes: diff.len(), tail: tail.to_owned() }
    }

    /// Returns the unsent part of a diff if it continues the sent one.
    fn unsent_part<'a>(&self, diff: &'a str) -> Option<&'a str> {
        let (sent, rest) = diff.split_at_checked(self.bytes)?;
        Some(rest).filter(|rest| !rest.is_empty() && sent.ends_with(&self.tail))
    }
}

/// Joins the diffs of all files.
fn joined_diff(item: &ThreadItem) -> String {
    match &item.body {
        ItemBody::FileChange { changes, .. } => changes.iter().map(|change| change.diff.as_str()).collect(),
        _ => String::new(),
    }
}

fn delta_kind(details: &Details) -> ItemDeltaKind {
    match details {
        Details::AgentMessage(_) => ItemDeltaKind::Message,
        Details::Reasoning(_) => ItemDeltaKind::Thoughts,
        Details::Command(_) => ItemDeltaKind::Command,
        Details::FileChange(_) => ItemDeltaKind::FileChange,
        Details::Plan(_) => ItemDeltaKind::Plan,
        _ => ItemDeltaKind::Other,
    }
}

/// Returns the metadata that attributes a subagent's delta.
fn delta_meta(event: &Event) -> Option<DeltaMeta<'_>> {
    let parent_item_id = event.parent.as_deref();
    event.thread.as_deref().map(|thread| DeltaMeta { thread: Some(thread), parent_item_id })
}

/// Builds the delta notification, with the protocol's method if there is one, else with ours.
fn delta_notification<'a>(
    event: &'a Event,
    turn_id: TurnId,
    says: ItemDeltaKind,
    field: Field,
    text: &'a str,
) -> Notification<'a> {
    let (thread_id, item_id) = (&*event.session, event.item.as_deref().unwrap_or_default());
    let meta = delta_meta(event);
    let method: fn(ItemDelta<'a>) -> Notification<'a> = match (says, field) {
        // Clients that ignore `_meta` must not add a subagent's text to the answer.
        (ItemDeltaKind::Message | ItemDeltaKind::Thoughts, _) if meta.is_some() => {
            return Notification::Growth(Growth { thread_id, turn_id, item_id, field, delta: text, meta });
        }
        (ItemDeltaKind::Message, Field::Text) => Notification::AgentMessageDelta,
        (ItemDeltaKind::Thoughts, Field::Text) => Notification::ReasoningDelta,
        (ItemDeltaKind::Thoughts, Field::Summary) => Notification::SummaryDelta,
        (ItemDeltaKind::Command, Field::Output) => Notification::CommandDelta,
        (ItemDeltaKind::FileChange, Field::Diff | Field::Output) => Notification::FileChangeDelta,
        (ItemDeltaKind::Plan, Field::Text) => Notification::PlanDelta,
        _ => return Notification::Growth(Growth { thread_id, turn_id, item_id, field, delta: text, meta }),
    };
    method(ItemDelta { thread_id, turn_id, item_id, delta: text, meta })
}

/// Returns the error of a failed turn, with a default message if the agent gave none.
fn turn_error(fault: Option<&Fault>) -> TurnError<'_> {
    let silent = TurnError { message: "the turn failed", error_info: None, http_status_code: None, meta: None };
    fault.map_or(silent, notifications::to_turn_error)
}
