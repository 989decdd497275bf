//! Events to updates and requests. Text is sent once: a chunk is always new text.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_event::{
    Body, Context, Delta, Details, Event, Field, Id, Info, Item, Notice, Outcome, PlanEntry, PlanStatus, RequestOpened,
    RequestResolved, SessionEnded, SessionStarted, Topic, TurnCompleted, TurnStarted,
};

use super::{
    cards::{self, Cards},
    notices::{self, Compactions},
    offers::{self, Offered},
    requests::{self, Asked},
    speech::{self, Speech},
    tools, turns,
    wire::{
        self, Cost, Entry, EntryStatus, Meta, Method, Notification, Ours, Priority, Request, SessionUpdate, ToolCall,
        ToolStatus, Update,
    },
};
use crate::{
    Messages, Projection, plan,
    subagents::Subagents,
    track::{Track, TurnUsage},
};

/// What a client can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the protocol that a client says or does not say")]
pub struct Abilities {
    /// Notices.
    pub notices: bool,
    /// That the context is made smaller.
    pub compaction: bool,
    /// Forms.
    pub forms: bool,
    /// What a command prints, as it is printed.
    pub terminals: bool,
    /// Our own notifications.
    pub extensions: bool,
}

impl Default for Abilities {
    /// Those of a reader who only listens: all, but what a command printed is given whole at its end too.
    fn default() -> Self {
        Self { notices: true, compaction: true, forms: true, terminals: false, extensions: true }
    }
}

impl Abilities {
    /// What a command prints may be told beside the protocol.
    pub(super) fn output_beside(self) -> bool {
        self.terminals || self.extensions
    }
}

/// The projection.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Updates {
    client: Abilities,
    track: Track,
    usage: TurnUsage,
    speech: Speech,
    cards: Cards,
    /// The open requests, and the tool calls that they are about.
    asked: BTreeMap<Id, Id>,
    plan: Vec<PlanEntry>,
    offered: Offered,
    context: Context,
    cost: Option<f64>,
    subagents: Subagents,
    compactions: Compactions,
}

impl Projection for Updates {
    fn event(&mut self, event: &Event, out: &mut Messages) {
        let before = self.before(event);
        self.track.see(event);
        self.usage.see(event);
        let mut out = Sink { event, out, client: self.client };
        match &event.body {
            Body::SessionStarted(started) => self.session_started(started, &mut out),
            Body::SessionUpdated(updated) => self.info(&updated.info, &mut out),
            Body::SessionEnded(ended) => self.session_ended(ended, &mut out),
            Body::TurnStarted(turn) => self.turn_started(turn, &mut out),
            Body::TurnCompleted(turn) => self.turn_completed(turn, &mut out),
            Body::ItemStarted(item) => self.item_started(item, &mut out),
            Body::ItemDelta(delta) => self.item_delta(delta, before.as_ref(), &mut out),
            Body::ItemCompleted(item) => self.item_completed(item, &mut out),
            // An editor would ask its user what is decided already.
            Body::RequestOpened(request) if request.decided => {}
            Body::RequestOpened(request) => self.request_opened(request, &mut out),
            Body::RequestResolved(resolved) => self.request_resolved(resolved, &mut out),
            Body::Notice(notice) => self.notice(notice, &mut out),
            Body::Usage(_) => {}
        }
    }

    fn snapshot(&self) -> Box<dyn Projection> {
        Box::new(self.clone())
    }

    fn save(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

/// Where the messages of one event go.
pub struct Sink<'a> {
    pub event: &'a Event,
    out: &'a mut Messages,
    client: Abilities,
}

impl<'a> Sink<'a> {
    /// The session goes on.
    pub fn update(&mut self, update: Update<'_>) {
        let update = SessionUpdate { session_id: &self.event.session, update };
        self.out.push(&Notification::new(Method::Update(Box::new(update))));
    }

    /// One of our own notifications.
    pub fn tell(&mut self, method: Method<'_>) {
        if self.client.extensions {
            self.out.push(&Notification::new(method));
        }
    }

    fn item(&self) -> Option<&'a Id> {
        self.event.item.as_ref()
    }
}

impl Updates {
    /// For a client that can show this.
    #[must_use]
    pub fn for_client(client: Abilities) -> Self {
        Self { client, ..Self::default() }
    }

    /// The item that an event sets anew, as it was.
    fn before(&self, event: &Event) -> Option<Item> {
        match (&event.body, &event.item) {
            (Body::ItemDelta(Delta::Set { .. }), Some(id)) => self.track.get(id).map(|tracked| tracked.item.clone()),
            _ => None,
        }
    }

    fn session_started(&mut self, started: &SessionStarted, out: &mut Sink<'_>) {
        let folder = started.info.cwd.as_deref().or(started.config.working_directory.as_deref());
        out.tell(Method::SessionStarted(wire::SessionStarted {
            session_id: &out.event.session,
            agent: &out.event.agent,
            run: out.event.run,
            agent_session_id: started.agent_session.as_deref(),
            cwd: folder,
        }));
        self.info(&started.info, out);
    }

    fn session_ended(&mut self, ended: &SessionEnded, out: &mut Sink<'_>) {
        self.settle(out);
        out.tell(Method::SessionEnded(wire::SessionEnded {
            session_id: &out.event.session,
            reason: ended.reason,
            error: ended.error.as_ref().map(turns::failure),
        }));
    }

    /// What the agent says about itself.
    fn info(&mut self, info: &Info, out: &mut Sink<'_>) {
        let before = self.offered.clone();
        self.offered.see(info);
        if let Some(mode) = self.offered.mode().filter(|mode| before.mode() != Some(mode)) {
            out.update(Update::Mode { current_mode_id: mode });
        }
        if self.offered != before {
            let config_options = self.offered.config_options();
            if config_options != before.config_options() {
                out.update(Update::Settings { config_options: &config_options });
            }
        }
        if !info.commands.is_empty() {
            out.update(Update::Commands { available_commands: offers::commands(&info.commands) });
        }
        if let Some(title) = &info.title {
            out.update(Update::Info { title });
        }
        if let Some(context) = info.context {
            self.context =
                Context { used: context.used.or(self.context.used), size: context.size.or(self.context.size) };
            self.used(out);
        }
    }

    fn used(&self, out: &mut Sink<'_>) {
        if let Context { used: Some(used), size: Some(size) } = self.context {
            let cost = self.cost.map(|amount| Cost { amount, currency: "USD" });
            out.update(Update::Usage { used, size, cost });
        }
    }

    fn turn_started(&mut self, turn: &TurnStarted, out: &mut Sink<'_>) {
        out.tell(Method::TurnStarted(wire::TurnStarted {
            session_id: &out.event.session,
            turn: out.event.turn.unwrap_or_default(),
            origin: turn.origin,
        }));
        self.speech.prompted(turn.prompt.as_deref(), out);
    }

    fn turn_completed(&mut self, turn: &TurnCompleted, out: &mut Sink<'_>) {
        self.settle(out);
        if let Some(answer) = &turn.result {
            self.speech.answered(answer, out);
        }
        let usage = self.usage.take();
        let cost_usd = turn.cost_usd.or(usage.cost_usd);
        if let Some(cost) = cost_usd {
            self.cost = Some(self.cost.unwrap_or_default() + cost);
            self.used(out);
        }
        out.tell(Method::TurnCompleted(wire::TurnCompleted {
            session_id: &out.event.session,
            turn: out.event.turn.unwrap_or_default(),
            stop_reason: turns::stop_reason(turn),
            error: turns::failed(turn),
            usage: turns::tokens(&usage),
            cost_usd,
        }));
    }

    /// What was asked for and never began is over when the turn is.
    fn settle(&mut self, out: &mut Sink<'_>) {
        for id in self.cards.never_begun() {
            out.update(cards::staged(&id, ToolStatus::Failed));
        }
    }

    fn item_started(&mut self, item: &Item, out: &mut Sink<'_>) {
        let Some(id) = out.item() else { return };
        if let Details::Subagent(subagent) = &item.details {
            self.subagents.see(id, subagent);
        }
        if tools::is_card(item) {
            out.update(self.cards.begin(out.event, id, item, self.client));
        }
        speech::begun(item, &mut self.track, &mut self.speech, out);
        self.show_plan(item, out);
    }

    fn item_delta(&mut self, delta: &Delta, before: Option<&Item>, out: &mut Sink<'_>) {
        let Some(id) = out.item() else { return };
        match delta {
            Delta::Append { field, text, .. } => {
                let Some(grown) = self.track.grew(id, *field, text) else { return };
                if *field == Field::Output && matches!(grown.item.details, Details::Command(_)) {
                    if grown.shown && self.cards.knows(id) && self.client.output_beside() {
                        out.update(cards::printed(id, text));
                    }
                } else if grown.shown {
                    self.speech.grown(grown.item, text, out);
                }
            }
            Delta::Set { patch } => {
                if let Details::Subagent(subagent) = &patch.details {
                    self.subagents.see(id, subagent);
                }
                if let (true, Some(before)) = (self.cards.knows(id), before)
                    && let Some(update) = cards::changed(id, before, patch)
                {
                    out.update(update);
                }
                self.show_plan(patch, out);
            }
            Delta::Progress { elapsed_ms, ratio, text } => {
                if self.cards.knows(id) && self.client.extensions {
                    let ours =
                        Ours { text: text.as_deref(), ratio: *ratio, elapsed_ms: *elapsed_ms, ..Ours::default() };
                    out.update(cards::told(id, Meta::ours(ours)));
                }
            }
        }
    }

    fn item_completed(&mut self, item: &Item, out: &mut Sink<'_>) {
        let Some(id) = out.item() else { return };
        let Some(tracked) = self.track.finish(id) else { return };
        if let Details::Subagent(subagent) = &item.details {
            self.subagents.see(id, subagent);
        }
        self.speech.finished(item, &tracked, &self.subagents, &self.cards, out);
        self.show_plan(item, out);
        let unheld = matches!(&item.details, Details::Plan(_)) && item.call.is_some() && !plan::holds(item);
        if !self.cards.knows(id) && (unheld || tools::is_card(item)) {
            out.update(self.cards.begin(out.event, id, item, self.client));
        }
        if self.cards.close(id) {
            out.update(cards::ended(out.event, id, item, &tracked, self.client));
        }
    }

    /// The plan of the session; a subagent's plan is its own.
    fn show_plan(&mut self, item: &Item, out: &mut Sink<'_>) {
        let Details::Plan(plan) = &item.details else { return };
        let shown = out.event.thread.is_some() || !plan::holds(item) || plan.entries == self.plan;
        if shown || plan.entries.is_empty() {
            return;
        }
        self.plan.clone_from(&plan.entries);
        out.update(Update::Plan { entries: self.plan.iter().map(entry).collect() });
    }

    fn request_opened(&mut self, request: &RequestOpened, out: &mut Sink<'_>) {
        let (event, id) = (out.event, out.event.item.as_ref().unwrap_or(&request.request));
        self.asked.insert(request.request.clone(), id.clone());
        let questions = requests::asked(request) == Asked::Questions;
        if questions && self.client.forms {
            let form = requests::form(event, request);
            return out.out.push(&Request::elicitation(request.request.as_str().into(), form));
        }
        if questions && !requests::have_choices(request) {
            return;
        }
        let item = self.track.get(id).map(|tracked| &tracked.item).filter(|_| self.cards.knows(id));
        let permission = requests::permission(event, id, request, item);
        if !self.cards.knows(id) {
            self.cards.asked(id);
            let title = permission.tool_call.title.clone().unwrap_or_default();
            let fields = requests::fields(event, request, None);
            out.update(Update::ToolCall(ToolCall { tool_call_id: id, title, fields }));
        }
        if !questions {
            return out.out.push(&Request::permission(request.request.as_str().into(), permission));
        }
        for (part, question) in request.questions.iter().enumerate() {
            let asked = requests::question(event, id, request, question);
            out.out.push(&Request::permission(requests::part_id(request, part), asked));
        }
    }

    fn request_resolved(&mut self, resolved: &RequestResolved, out: &mut Sink<'_>) {
        out.tell(Method::RequestResolved(wire::RequestResolved {
            session_id: &out.event.session,
            request_id: &resolved.request,
            outcome: resolved.outcome,
            by: resolved.by,
        }));
        let Some(id) = self.asked.remove(&resolved.request).filter(|id| self.cards.is_asked(id)) else { return };
        let agreed = matches!(resolved.outcome, Outcome::Allowed | Outcome::Answered);
        // A tool may begin yet; what was only a question is answered now.
        if agreed && id != resolved.request {
            return out.update(cards::staged(&id, ToolStatus::InProgress));
        }
        self.cards.close(&id);
        out.update(cards::staged(&id, if agreed { ToolStatus::Completed } else { ToolStatus::Failed }));
    }

    fn notice(&mut self, notice: &Notice, out: &mut Sink<'_>) {
        if notice.topic == Topic::Compaction && out.event.thread.is_none() {
            let update = self.compactions.see(notice);
            if self.client.compaction {
                out.update(update);
            }
        } else if let Some(update) = notices::notice(notice).filter(|_| self.client.notices) {
            out.update(update);
        }
    }
}

fn entry(entry: &PlanEntry) -> Entry<'_> {
    let status = match entry.status {
        PlanStatus::Pending => EntryStatus::Pending,
        PlanStatus::InProgress => EntryStatus::InProgress,
        // The protocol has no word for a step that was given up.
        PlanStatus::Completed | PlanStatus::Failed => EntryStatus::Completed,
    };
    Entry { content: &entry.step, priority: Priority::Medium, status }
}
