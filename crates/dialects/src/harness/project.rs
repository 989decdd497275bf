//! Events to notifications and requests.
//!
//! An item belongs to the turn in which it began, also when it ends later. What happens between turns belongs to
//! the latest one, what happens before the first to `turn_0`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_event::{
    About, Body, Command, Delta, Details, Event, Fault, Field, FileChange, Id, Info, Item, Outcome, RequestOpened,
    RequestResolved, SessionStarted, Timestamp, TurnCompleted, TurnStarted, Usage,
};

use super::{
    approvals, items,
    kept::Kept,
    notices,
    wire::{
        DeltaMeta, Growth, ItemBody, ItemDelta, ItemNotification, ItemStatus, Notification, PlanEntry, PlanUpdated,
        Progress, Thread, ThreadItem, ThreadMeta, ThreadStarted, ThreadUpdated, TokenUsage, TokenUsageUpdated, Turn,
        TurnError, TurnId, TurnMeta, TurnNotification, TurnStatus, UsageMeta,
    },
};
use crate::{Messages, Projection, plan};

/// How much of the first prompt stands for the thread.
const PREVIEW: usize = 200;

/// The projection.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Harness {
    thread: Facts,
    /// The latest turn.
    turn: TurnId,
    in_turn: bool,
    /// The open items: what grows, and the turn in which they began.
    open: BTreeMap<Id, Open>,
    kept: Kept,
    usage: Usage,
    plan: ShownPlan,
}

/// What is remembered about the thread.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Facts {
    created: Option<Timestamp>,
    preview: String,
    provider: String,
    cwd: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct Open {
    says: Says,
    turn: TurnId,
    /// How much of its diff was sent.
    diff: SentDiff,
    /// The agent has not told of it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    announced: Option<Box<AnnouncedItem>>,
}

/// An item that was shown because of a request: some agents ask before they tell of the call.
#[derive(Clone, Serialize, Deserialize)]
struct AnnouncedItem {
    item: ThreadItem,
    request: Id,
}

/// How much of a diff was sent: its length, and how it ended.
#[derive(Clone, Default, Serialize, Deserialize)]
struct SentDiff {
    bytes: usize,
    tail: String,
}

/// As much of what was sent as tells whether a diff goes on from there.
const MAX_TAIL_BYTES: usize = 64;

/// What it is of an item that grows.
#[derive(Clone, Copy, Serialize, Deserialize)]
enum Says {
    Message,
    Thoughts,
    Command,
    FileChange,
    Plan,
    Other,
}

/// The plan as it was last shown: one that did not change is not shown again.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
struct ShownPlan {
    turn: TurnId,
    explanation: String,
    entries: Vec<PlanEntry>,
}

impl Projection for Harness {
    fn event(&mut self, event: &Event, out: &mut Messages) {
        match &event.body {
            Body::SessionStarted(started) => self.session_started(event, started, out),
            Body::SessionUpdated(updated) => {
                self.thread.see(&updated.info);
                let params =
                    ThreadUpdated { thread_id: &event.session, info: notices::info(&updated.info), meta: None };
                out.push(&Notification::ThreadUpdated(params));
            }
            Body::SessionEnded(ended) => {
                self.close_announced(event, out);
                out.push(&notices::ended(event, ended));
            }
            Body::TurnStarted(turn) => self.turn_started(event, turn, out),
            Body::TurnCompleted(turn) => self.turn_completed(event, turn, out),
            Body::ItemStarted(item) => self.item_started(event, item, out),
            Body::ItemDelta(delta) => self.item_delta(event, delta, out),
            Body::ItemCompleted(item) => self.item_completed(event, item, out),
            // A client would answer what is answered already.
            Body::RequestOpened(request) if request.decided => {}
            Body::RequestOpened(request) => {
                self.announce_item(event, request, out);
                out.push(&approvals::opened(event, self.turn_of(event), request, &self.thread.cwd));
            }
            Body::RequestResolved(resolved) => self.request_resolved(event, resolved, out),
            Body::Usage(usage) => self.used(event, usage, out),
            Body::Notice(notice) => notices::push_notice(event, notice, out),
        }
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(self.clone())
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

impl Facts {
    fn see(&mut self, info: &Info) {
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

    fn see_prompt(&mut self, prompt: &str) {
        if self.preview.is_empty() {
            prompt.get(..prompt.floor_char_boundary(PREVIEW)).unwrap_or_default().clone_into(&mut self.preview);
        }
    }
}

impl Harness {
    /// The turn of an event: its item's, its own, or the latest.
    fn turn_of(&self, event: &Event) -> TurnId {
        let open = event.item.as_ref().and_then(|id| self.open.get(id));
        open.map(|open| open.turn).or(event.turn.map(TurnId)).unwrap_or(self.turn)
    }

    fn session_started(&mut self, event: &Event, started: &SessionStarted, out: &mut Messages) {
        if let Some(folder) = &started.config.working_directory {
            self.thread.cwd.clone_from(folder);
        }
        self.thread.see(&started.info);
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
                    info: Some(notices::info(&started.info)),
                    ..ThreadMeta::default()
                }),
            },
        }));
    }

    fn turn_started(&mut self, event: &Event, turn: &TurnStarted, out: &mut Messages) {
        self.turn = event.turn.map_or(self.turn, TurnId);
        (self.in_turn, self.usage, self.kept) = (true, Usage::default(), Kept::default());
        self.thread.see_prompt(turn.prompt.as_deref().unwrap_or_default());
        let meta = TurnMeta {
            origin: Some(turn.origin),
            prompt: turn.prompt.as_deref(),
            agent_turn: turn.agent_turn.as_deref(),
            ..TurnMeta::default()
        };
        let turn = Turn { id: self.turn, status: TurnStatus::InProgress, items: Vec::new(), error: None, meta };
        out.push(&Notification::TurnStarted(TurnNotification { thread_id: &event.session, turn }));
    }

    fn turn_completed(&mut self, event: &Event, turn: &TurnCompleted, out: &mut Messages) {
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

    fn item_started(&mut self, event: &Event, item: &Item, out: &mut Messages) {
        let Some(id) = &event.item else { return };
        if let Some(open) = self.open.get_mut(id).filter(|open| open.announced.is_some()) {
            open.announced = None;
            open.says = says(&item.details);
            return self.show_diff(event, item, out);
        }
        let turn_id = event.turn.map_or(self.turn, TurnId);
        let shown = items::item(event, item, &self.thread.cwd);
        self.show_started(&event.session, turn_id, shown, None, says(&item.details), out);
        self.show_plan(event, turn_id, item, out);
    }

    fn show_started(
        &mut self,
        thread_id: &Id,
        turn: TurnId,
        item: ThreadItem,
        request: Option<&Id>,
        says: Says,
        out: &mut Messages,
    ) {
        out.push(&Notification::ItemStarted(ItemNotification { thread_id, turn_id: turn, item: &item }));
        let diff = SentDiff::of(&joined_diff(&item));
        let announce = |request: &Id| Box::new(AnnouncedItem { item: item.clone(), request: request.clone() });
        self.open.insert(item.id.clone(), Open { says, turn, diff, announced: request.map(announce) });
        if self.in_turn && turn == self.turn {
            self.kept.begin(item);
        }
    }

    /// Shows the item that an approval is about, if the agent has not told of it: clients show approvals with their items.
    fn announce_item(&mut self, event: &Event, request: &RequestOpened, out: &mut Messages) {
        let id = items::item_of(event, &request.request);
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
        let says = says(&details);
        let item = Item { call: request.call.clone(), ..Item::new(details) };
        let turn = self.turn_of(event);
        let shown = ThreadItem { id: id.clone(), ..items::item(event, &item, &self.thread.cwd) };
        self.show_started(&event.session, turn, shown, Some(&request.request), says, out);
    }

    fn request_resolved(&mut self, event: &Event, resolved: &RequestResolved, out: &mut Messages) {
        out.push(&approvals::resolved(event, self.turn_of(event), resolved));
        let status = match resolved.outcome {
            Outcome::Allowed | Outcome::Answered => ItemStatus::Completed,
            _ => ItemStatus::Declined,
        };
        for open in self.open.values_mut() {
            if let Some(announced) = open.announced.as_mut().filter(|item| item.request == resolved.request) {
                announced.item.set_status(status);
            }
        }
        // A request that names no item is all there is of it.
        if self.open.get(&resolved.request).is_some_and(|open| open.announced.is_some()) {
            self.complete_announced(&event.session, &resolved.request, out);
        }
    }

    /// Completes the items that were announced and of which the agent never told.
    fn close_announced(&mut self, event: &Event, out: &mut Messages) {
        let is_open = |(id, open): (&Id, &Open)| open.announced.as_ref().map(|_| id.clone());
        let ids: Vec<Id> = self.open.iter().filter_map(is_open).collect();
        ids.iter().for_each(|id| self.complete_announced(&event.session, id, out));
    }

    fn complete_announced(&mut self, thread_id: &Id, id: &Id, out: &mut Messages) {
        let Some(Open { turn: turn_id, announced: Some(announced), .. }) = self.open.remove(id) else { return };
        let mut item = announced.item;
        item.end();
        out.push(&Notification::ItemCompleted(ItemNotification { thread_id, turn_id, item: &item }));
        if self.in_turn && turn_id == self.turn {
            self.kept.finish(item);
        }
    }

    /// Shows how a diff goes on. One that was written anew is shown when the item is finished.
    fn show_diff(&mut self, event: &Event, item: &Item, out: &mut Messages) {
        let Details::FileChange(change) = &item.details else { return };
        let Some(item_id) = &event.item else { return };
        let Some(open) = self.open.get_mut(item_id) else { return };
        let diff: String = items::changes(&change.changes).iter().map(|change| change.diff.as_str()).collect();
        let Some(delta) = open.diff.rest(&diff) else { return };
        let (thread_id, turn_id, meta) = (&*event.session, open.turn, delta_meta(event));
        out.push(&Notification::FileChangeDelta(ItemDelta { thread_id, turn_id, item_id, delta, meta }));
        open.diff = SentDiff::of(&diff);
    }

    fn item_completed(&mut self, event: &Event, item: &Item, out: &mut Messages) {
        let Some(id) = &event.item else { return };
        let turn_id = self.turn_of(event);
        self.open.remove(id);
        self.show_plan(event, turn_id, item, out);
        let shown = items::item(event, item, &self.thread.cwd);
        let params = ItemNotification { thread_id: &event.session, turn_id, item: &shown };
        out.push(&Notification::ItemCompleted(params));
        if self.in_turn && turn_id == self.turn {
            self.kept.finish(shown);
        }
    }

    fn item_delta(&mut self, event: &Event, delta: &Delta, out: &mut Messages) {
        let Some(id) = &event.item else { return };
        let Some(open) = self.open.get_mut(id) else { return };
        if let Delta::Set { patch } = delta {
            open.says = says(&patch.details);
        }
        let (says, turn) = (open.says, open.turn);
        match delta {
            Delta::Append { field, text, .. } => out.push(&grown(event, turn, says, *field, text)),
            Delta::Progress { elapsed_ms, ratio, text } => out.push(&Notification::Progress(Progress {
                thread_id: &event.session,
                turn_id: turn,
                item_id: id,
                elapsed_ms: *elapsed_ms,
                ratio: *ratio,
                text: text.as_deref(),
            })),
            // What else changed is told when the item is finished: nothing that grew is sent again.
            Delta::Set { patch } => {
                self.show_plan(event, turn, patch, out);
                self.show_diff(event, patch, out);
            }
        }
    }

    /// The plan of the turn; a subagent's plan is only an item.
    fn show_plan(&mut self, event: &Event, turn: TurnId, item: &Item, out: &mut Messages) {
        let Details::Plan(plan) = &item.details else { return };
        if !plan::holds(item) {
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

    /// What the turn used so far. A running total of unknown base says nothing about the turn.
    fn used(&mut self, event: &Event, usage: &Usage, out: &mut Messages) {
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
    fn of(diff: &str) -> Self {
        let tail = diff.get(diff.ceil_char_boundary(diff.len().saturating_sub(MAX_TAIL_BYTES))..).unwrap_or_default();
        Self { bytes: diff.len(), tail: tail.to_owned() }
    }

    /// Returns what was not sent of a diff yet, if it goes on where the last one ended.
    fn rest<'a>(&self, diff: &'a str) -> Option<&'a str> {
        let (sent, rest) = diff.split_at_checked(self.bytes)?;
        Some(rest).filter(|rest| !rest.is_empty() && sent.ends_with(&self.tail))
    }
}

/// The diffs of all files, one behind the other.
fn joined_diff(item: &ThreadItem) -> String {
    match &item.body {
        ItemBody::FileChange { changes, .. } => changes.iter().map(|change| change.diff.as_str()).collect(),
        _ => String::new(),
    }
}

fn says(details: &Details) -> Says {
    match details {
        Details::AgentMessage(_) => Says::Message,
        Details::Reasoning(_) => Says::Thoughts,
        Details::Command(_) => Says::Command,
        Details::FileChange(_) => Says::FileChange,
        Details::Plan(_) => Says::Plan,
        _ => Says::Other,
    }
}

/// Where a delta of a subagent belongs.
fn delta_meta(event: &Event) -> Option<DeltaMeta<'_>> {
    let parent_item_id = event.parent.as_deref();
    event.thread.as_deref().map(|thread| DeltaMeta { thread: Some(thread), parent_item_id })
}

/// More text, by the method that the protocol has for it, else by ours.
fn grown<'a>(event: &'a Event, turn_id: TurnId, says: Says, field: Field, text: &'a str) -> Notification<'a> {
    let (thread_id, item_id) = (&*event.session, event.item.as_deref().unwrap_or_default());
    let meta = delta_meta(event);
    let method: fn(ItemDelta<'a>) -> Notification<'a> = match (says, field) {
        // A subagent's words are not the thread's: a client that knows no `_meta` must not add them to the answer.
        (Says::Message | Says::Thoughts, _) if meta.is_some() => {
            return Notification::Growth(Growth { thread_id, turn_id, item_id, field, delta: text, meta });
        }
        (Says::Message, Field::Text) => Notification::AgentMessageDelta,
        (Says::Thoughts, Field::Text) => Notification::ReasoningDelta,
        (Says::Thoughts, Field::Summary) => Notification::SummaryDelta,
        (Says::Command, Field::Output) => Notification::CommandDelta,
        (Says::FileChange, Field::Diff | Field::Output) => Notification::FileChangeDelta,
        (Says::Plan, Field::Text) => Notification::PlanDelta,
        _ => return Notification::Growth(Growth { thread_id, turn_id, item_id, field, delta: text, meta }),
    };
    method(ItemDelta { thread_id, turn_id, item_id, delta: text, meta })
}

/// A failed turn always says something.
fn turn_error(fault: Option<&Fault>) -> TurnError<'_> {
    let silent = TurnError { message: "the turn failed", error_info: None, http_status_code: None, meta: None };
    fault.map_or(silent, notices::error)
}
