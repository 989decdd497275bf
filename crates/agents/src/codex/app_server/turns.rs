//! Turns of the session. Those of subagents are only noted: a session has one sequence of turns.

use std::collections::VecDeque;

use switchboard_event::{
    Details, ErrorCode, Fault, Id, Item, Level, Notice, Origin, Plan, Status, Stop, Topic, TurnCompleted, TurnStarted,
    TurnStatus,
};

use super::{
    super::{errors, functions, items},
    AppServer,
    reader::control,
};
use crate::{Object, Scribe};

/// How many questions, ended turns and cut items are remembered.
const LIMIT: usize = 64;

/// The turns of the session.
#[derive(Default)]
pub struct Turns {
    active: Option<Id>,
    /// The prompt of the active turn has been repeated: what else is said to it was said while it ran.
    pub(super) prompted: bool,
    /// Model replies of the active turn.
    pub(super) steps: u64,
    /// The last message that was finished.
    pub(super) message: Option<Id>,
    asked: VecDeque<Asked>,
    ended: VecDeque<Id>,
    /// Items that were open when their turn ended.
    cut: VecDeque<Id>,
}

/// Something of ours that begins a turn.
struct Asked {
    key: String,
    /// The prompt; nothing if it is a command.
    prompt: Option<String>,
}

/// Where an item belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// To the active turn.
    Turn,
    /// To a subagent.
    Child,
    /// To a turn that is over.
    Past,
}

impl Turns {
    /// We asked for a turn: `turn/start`, or a command.
    pub fn ask(&mut self, key: &str, prompt: Option<String>) {
        push(&mut self.asked, Asked { key: key.to_owned(), prompt });
    }

    /// We asked for a turn that has not begun.
    pub fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// The turn is the active one.
    pub fn is_active(&self, turn: &str) -> bool {
        self.active.as_ref().is_some_and(|active| *active == *turn)
    }

    /// The model reply that is being read. It has no name of its own: it ends when its tokens are counted.
    pub fn reply(&self) -> Option<Id> {
        self.active.as_ref().map(|turn| Id::from(format!("{turn}.{}", self.steps + 1)))
    }

    /// A `turn/start` was accepted. While a turn runs it begins none: what was said goes into that turn (0.166).
    pub fn answered(&mut self, key: &str, turn: &Object<'_>) {
        if turn.str("id").is_some_and(|turn| self.is_active(&turn)) {
            self.refused(key);
        }
    }

    /// A request of ours begins no turn.
    pub fn refused(&mut self, key: &str) {
        self.asked.retain(|asked| asked.key != key);
    }

    /// The item was open when its turn ended.
    pub fn is_cut(&self, item: &Id) -> bool {
        self.cut.contains(item)
    }

    /// The item begins anew, in another turn.
    pub fn uncut(&mut self, item: &Id) {
        self.cut.retain(|cut| cut != item);
    }

    fn begin(&mut self, turn: &str, scribe: &mut Scribe) {
        let asked = self.asked.pop_front();
        let origin = match &asked {
            Some(Asked { prompt: None, .. }) => Origin::Command,
            _ => Origin::Prompt,
        };
        let prompt = asked.and_then(|asked| asked.prompt);
        // An empty prompt is accepted and never repeated.
        self.prompted = prompt.as_ref().is_some_and(String::is_empty);
        let agent_turn = Id::from(turn);
        (self.active, self.steps) = (Some(agent_turn.clone()), 0);
        scribe.turn_started(TurnStarted { origin, prompt, agent_turn: Some(agent_turn) });
    }

    fn cut_off(&mut self, open: Vec<Id>) {
        open.into_iter().for_each(|item| push(&mut self.cut, item));
    }
}

fn push<T>(list: &mut VecDeque<T>, entry: T) {
    if list.len() >= LIMIT {
        list.pop_front();
    }
    list.push_back(entry);
}

impl AppServer {
    /// Where the record's item belongs. Whatever belongs to a turn of which nothing was heard begins it.
    pub(super) fn place(&mut self, params: &Object<'_>, scribe: &mut Scribe) -> Place {
        let main = self.threads.enter(params.str("threadId").as_deref(), scribe);
        self.threads.identify(scribe);
        if !main {
            return Place::Child;
        }
        let turn = params.str("turnId").unwrap_or_default();
        if self.turns.ended.iter().any(|ended| *ended == *turn) {
            return Place::Past;
        }
        if !turn.is_empty() && !self.turns.is_active(&turn) {
            self.turns.begin(&turn, scribe);
        }
        self.error = None;
        scribe.ensure_turn();
        Place::Turn
    }

    /// Notifications about turns, and errors.
    pub(super) fn turn(&mut self, method: &str, params: &Object<'_>, scribe: &mut Scribe) {
        let main = self.threads.enter(params.str("threadId").as_deref(), scribe);
        self.threads.identify(scribe);
        let turn = params.object("turn");
        match (method, main) {
            ("turn/started", true) => self.turn_started(&turn, scribe),
            ("turn/completed", true) => self.turn_completed(&turn, scribe),
            ("turn/started" | "turn/completed", false) => self.child_turn(method, params, &turn, scribe),
            ("turn/plan/updated", _) => self.planned(params, scribe),
            ("turn/diff/updated", _) => {
                scribe.notice(Notice::new(Topic::Status).with_level(Level::Debug).with_name(method));
            }
            ("error", _) => self.failed(params, main, scribe),
            ("turn/moderationMetadata", _) => {}
            _ => return,
        }
        scribe.otherwise(control(method));
    }

    fn turn_started(&mut self, turn: &Object<'_>, scribe: &mut Scribe) {
        let id = turn.str("id").unwrap_or_default();
        // A review has a turn of its own within the one that was asked for (0.166).
        let inner = turn.str("rootTurnId").is_some_and(|root| self.turns.is_active(&root));
        if !inner && !self.turns.is_active(&id) {
            self.error = None;
            self.turns.begin(&id, scribe);
        }
    }

    /// The answer to a question about the latest turn: it is over, and that was not told (0.166).
    pub(super) fn turn_listed(&mut self, result: &Object<'_>, scribe: &mut Scribe) {
        for turn in result.array("data") {
            let turn = turn.object();
            let known = turn.str("id").is_some_and(|id| self.turns.is_active(&id));
            if known && turn.str("status").is_some_and(|status| status != "inProgress") {
                self.turn_completed(&turn, scribe);
            }
        }
    }

    fn turn_completed(&mut self, turn: &Object<'_>, scribe: &mut Scribe) {
        let id = turn.str("id").unwrap_or_default();
        if self.turns.ended.iter().any(|ended| *ended == *id) {
            return scribe.notice(Notice::new(Topic::Late).with_name("turn/completed"));
        }
        if !self.turns.is_active(&id) {
            self.turns.begin(&id, scribe);
        }
        let ended = ended(turn, self.turns.steps);
        self.unheard(turn, scribe);
        if ended.status == TurnStatus::Completed {
            leave_running(scribe);
        } else {
            // A turn that is stopped takes its subagents with it.
            self.threads.children().for_each(|thread| self.turns.cut_off(scribe.open_items(Some(thread))));
        }
        self.turns.cut_off(scribe.open_items(None));
        scribe.turn_completed(ended);
        self.error = None;
        push(&mut self.turns.ended, Id::from(id));
        self.turns.active = None;
    }

    /// The end repeats the last message. If that was not heard before, it is heard now.
    fn unheard(&mut self, turn: &Object<'_>, scribe: &mut Scribe) {
        let items = turn.array("items");
        let Some(native) = items.last().filter(|_| turn.is("itemsView", "summary")) else { return };
        let fields = native.object();
        let id = Id::from(fields.str("id").unwrap_or_default());
        if fields.is("type", "agentMessage") && self.turns.message.as_ref() != Some(&id) {
            let item = items::item("agentMessage", *native, scribe.item(&id), scribe);
            scribe.item_completed(&id, item);
        }
    }

    /// Steps come without an item of their own. Here they have one as long as the turn lasts.
    fn planned(&mut self, params: &Object<'_>, scribe: &mut Scribe) {
        if self.place(params, scribe) == Place::Past {
            return scribe.notice(Notice::new(Topic::Late).with_name("turn/plan/updated"));
        }
        let id = Id::from(format!("{}-steps", params.str("turnId").unwrap_or_default()));
        let entries = params.array("plan").into_iter().map(|step| functions::entry(&step.object())).collect();
        let plan = Plan { entries, explanation: params.filled("explanation"), ..Plan::default() };
        scribe.item_started(&id, Item::new(plan));
    }

    /// A subagent's turn. With its end, whatever it left open ends too.
    fn child_turn(&mut self, method: &str, params: &Object<'_>, turn: &Object<'_>, scribe: &mut Scribe) {
        let thread = params.str("threadId").unwrap_or_default();
        let stage = match (method, turn.str("status").as_deref()) {
            ("turn/started", _) => "started",
            (_, Some("failed")) => "failed",
            (_, Some("interrupted")) => "interrupted",
            _ => "completed",
        };
        scribe.notice(Notice::new(Topic::Task).with_name(thread.as_ref()).with_status(stage));
        if method == "turn/completed" {
            let open = scribe.open_items(Some(&thread));
            open.iter().for_each(|id| close_child(id, stage, scribe));
            self.turns.cut_off(open);
        }
    }

    /// Either the model is called again, and what it said so far is void; or the end of the turn follows.
    fn failed(&mut self, params: &Object<'_>, main: bool, scribe: &mut Scribe) {
        let mut fault = errors::from_turn(&params.object("error"));
        let retry = params.is_true("willRetry");
        let (topic, level) = if retry { (Topic::Retry, Level::Warning) } else { (Topic::Warning, Level::Error) };
        fault.retryable = retry.then_some(true);
        let notice = Notice::new(topic).with_level(level).with_text(fault.message.clone()).with_name("error");
        scribe.notice(Notice { error: Some(fault.clone()), ..notice });
        if retry {
            supersede(params.str("threadId").as_deref().filter(|_| !main), scribe);
        } else if main {
            self.error = Some(fault);
        }
    }
}

/// The model begins its reply anew, under the same ids or under others.
fn supersede(thread: Option<&str>, scribe: &mut Scribe) {
    for id in scribe.open_items(thread) {
        let said = scribe.item(&id).map(|item| &item.details);
        if matches!(said, Some(Details::AgentMessage(_) | Details::Reasoning(_))) {
            scribe.item_closed(&id, Status::Superseded);
        }
    }
}

/// What a subagent said is complete when its turn is; a tool of which nothing more was heard is not.
fn close_child(id: &Id, stage: &str, scribe: &mut Scribe) {
    let said = scribe.item(id).is_some_and(|item| {
        matches!(item.details, Details::AgentMessage(_) | Details::Reasoning(_) | Details::Plan(_))
    });
    let status = if stage == "completed" && said { Status::Completed } else { Status::Interrupted };
    scribe.item_closed(id, status);
}

/// A command that outlives a turn that ended well goes on in the background.
fn leave_running(scribe: &mut Scribe) {
    for id in scribe.open_items(None) {
        if let Some(Details::Command(command)) = scribe.item_mut(&id).map(|item| &mut item.details) {
            command.background = true;
            scribe.item_closed(&id, Status::Completed);
        }
    }
}

fn ended(turn: &Object<'_>, steps: u64) -> TurnCompleted {
    let duration_ms = turn.u64("durationMs");
    let steps = Some(steps).filter(|steps| *steps > 0);
    let ended = match turn.str("status").as_deref() {
        Some("failed") => errors::failed_turn(errors::from_turn(&turn.object("error")), duration_ms),
        Some("interrupted") => TurnCompleted {
            status: TurnStatus::Interrupted,
            stop: Stop::Cancelled,
            error: Some(Fault::new(ErrorCode::Aborted, "interrupted")),
            duration_ms,
            ..TurnCompleted::default()
        },
        _ => TurnCompleted { duration_ms, ..TurnCompleted::default() },
    };
    TurnCompleted { steps, ..ended }
}
