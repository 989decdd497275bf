//! Turns of the session. Turns of subagents only produce notices, because a session has a single sequence of turns.

use std::collections::VecDeque;

use switchboard_event::{
    Details, ErrorCode, Fault, Id, Item, Level, Notice, Origin, Plan, Status, Stop, Topic, TurnCompleted, TurnStarted,
    TurnStatus,
};

use super::{AppServerReader, control_notice};
use crate::{
    JsonObject, RunRecorder,
    bounded::push_bounded,
    codex::{errors, items, tool_calls},
};

/// Maximum number of requested turns, ended turns and cut-off items.
const MAX_REMEMBERED_ENTRIES: usize = 64;

#[derive(Default)]
pub struct AppServerTurns {
    active: Option<Id>,
    /// The prompt of the active turn was echoed: further messages were sent while it ran.
    pub(super) prompted: bool,
    /// Model replies of the active turn.
    pub(super) steps: u64,
    /// The last completed message.
    pub(super) message: Option<Id>,
    asked: VecDeque<RequestedTurn>,
    ended: VecDeque<Id>,
    /// Items that were open when their turn ended.
    cut: VecDeque<Id>,
}

/// A client request that starts a turn.
struct RequestedTurn {
    key: String,
    /// The prompt, or `None` for a command.
    prompt: Option<String>,
}

/// The place of an item in the session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ItemPlacement {
    /// In the active turn.
    Turn,
    /// In a turn of a subagent.
    Child,
    /// In a turn that is over.
    Past,
}

impl AppServerTurns {
    /// Registers a request for a turn: `turn/start`, or a command.
    pub fn expect_turn(&mut self, key: &str, prompt: Option<String>) {
        push_bounded(&mut self.asked, RequestedTurn { key: key.to_owned(), prompt }, MAX_REMEMBERED_ENTRIES);
    }

    /// Returns whether a requested turn has not started yet.
    pub fn has_requested_turns(&self) -> bool {
        !self.asked.is_empty()
    }

    pub fn is_active(&self, turn: &str) -> bool {
        self.active.as_ref().is_some_and(|active| *active == *turn)
    }

    /// Returns the id of the model reply in progress. Codex does not name replies; a reply ends when its tokens are
    /// counted.
    pub fn current_reply(&self) -> Option<Id> {
        self.active.as_ref().map(|turn| Id::from(format!("{turn}.{}", self.steps + 1)))
    }

    /// Handles an accepted `turn/start`. While a turn runs it starts none: the prompt joins that turn (0.166).
    pub fn accept_request(&mut self, key: &str, turn: &JsonObject<'_>) {
        if turn.get_str("id").is_some_and(|turn| self.is_active(&turn)) {
            self.drop_request(key);
        }
    }

    /// Forgets a request that starts no turn.
    pub fn drop_request(&mut self, key: &str) {
        self.asked.retain(|asked| asked.key != key);
    }

    /// Returns whether the item was open when its turn ended.
    pub fn was_cut_off(&self, item: &Id) -> bool {
        self.cut.contains(item)
    }

    /// The item starts again in another turn.
    pub fn clear_cut_off(&mut self, item: &Id) {
        self.cut.retain(|cut| cut != item);
    }

    fn begin_turn(&mut self, turn: &str, recorder: &mut RunRecorder) {
        let asked = self.asked.pop_front();
        let origin = match &asked {
            Some(RequestedTurn { prompt: None, .. }) => Origin::Command,
            _ => Origin::Prompt,
        };
        let prompt = asked.and_then(|asked| asked.prompt);
        // An empty prompt is accepted and never echoed.
        self.prompted = prompt.as_ref().is_some_and(String::is_empty);
        let agent_turn = Id::from(turn);
        (self.active, self.steps) = (Some(agent_turn.clone()), 0);
        recorder.turn_started(TurnStarted { origin, prompt, agent_turn: Some(agent_turn) });
    }

    fn mark_cut_off(&mut self, open: Vec<Id>) {
        open.into_iter().for_each(|item| push_bounded(&mut self.cut, item, MAX_REMEMBERED_ENTRIES));
    }
}

impl AppServerReader {
    /// Returns the place of the record's item. The first record of an unknown turn starts that turn.
    pub(super) fn locate_item(&mut self, params: &JsonObject<'_>, recorder: &mut RunRecorder) -> ItemPlacement {
        let main = self.threads.enter_thread(params.get_str("threadId").as_deref(), recorder);
        self.threads.identify_session(recorder);
        if !main {
            return ItemPlacement::Child;
        }
        let turn = params.get_str("turnId").unwrap_or_default();
        if self.turns.ended.iter().any(|ended| *ended == *turn) {
            return ItemPlacement::Past;
        }
        if !turn.is_empty() && !self.turns.is_active(&turn) {
            self.turns.begin_turn(&turn, recorder);
        }
        self.error = None;
        recorder.ensure_turn();
        ItemPlacement::Turn
    }

    /// Reads a notification about a turn, or an error.
    pub(super) fn read_turn_notification(&mut self, method: &str, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let main = self.threads.enter_thread(params.get_str("threadId").as_deref(), recorder);
        self.threads.identify_session(recorder);
        let turn = params.get_object("turn");
        match (method, main) {
            ("turn/started", true) => self.start_turn(&turn, recorder),
            ("turn/completed", true) => self.complete_turn(&turn, recorder),
            ("turn/started" | "turn/completed", false) => self.report_child_turn(method, params, &turn, recorder),
            ("turn/plan/updated", _) => self.update_plan(params, recorder),
            ("turn/diff/updated", _) => {
                recorder.write_notice(Notice::new(Topic::Status).with_level(Level::Debug).with_name(method));
            }
            ("error", _) => self.report_turn_error(params, main, recorder),
            ("turn/moderationMetadata", _) => {}
            _ => return,
        }
        recorder.write_notice_if_no_event(control_notice(method));
    }

    fn start_turn(&mut self, turn: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let id = turn.get_str("id").unwrap_or_default();
        // A review runs in its own turn within the requested one (0.166).
        let inner = turn.get_str("rootTurnId").is_some_and(|root| self.turns.is_active(&root));
        if !inner && !self.turns.is_active(&id) {
            self.error = None;
            self.turns.begin_turn(&id, recorder);
        }
    }

    /// Reads the list of latest turns, which the driver requests when the end of a turn was not reported (0.166).
    pub(super) fn apply_turn_list(&mut self, result: &JsonObject<'_>, recorder: &mut RunRecorder) {
        for turn in result.get_array("data") {
            let turn = turn.as_object();
            let known = turn.get_str("id").is_some_and(|id| self.turns.is_active(&id));
            if known && turn.get_str("status").is_some_and(|status| status != "inProgress") {
                self.complete_turn(&turn, recorder);
            }
        }
    }

    fn complete_turn(&mut self, turn: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let id = turn.get_str("id").unwrap_or_default();
        if self.turns.ended.iter().any(|ended| *ended == *id) {
            return recorder.write_notice(Notice::new(Topic::Late).with_name("turn/completed"));
        }
        if !self.turns.is_active(&id) {
            self.turns.begin_turn(&id, recorder);
        }
        let ended = parse_turn_end(turn, self.turns.steps);
        self.recover_last_message(turn, recorder);
        if ended.status == TurnStatus::Completed {
            background_commands(recorder);
        } else {
            // A stopped turn stops its subagents too.
            self.threads
                .child_thread_ids()
                .for_each(|thread| self.turns.mark_cut_off(recorder.open_items(Some(thread))));
        }
        self.turns.mark_cut_off(recorder.open_items(None));
        recorder.turn_completed(ended);
        self.error = None;
        push_bounded(&mut self.turns.ended, Id::from(id), MAX_REMEMBERED_ENTRIES);
        self.turns.active = None;
    }

    /// The end repeats the last message, which is added here if it was not reported before.
    fn recover_last_message(&mut self, turn: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let items = turn.get_array("items");
        let Some(native) = items.last().filter(|_| turn.str_equals("itemsView", "summary")) else { return };
        let fields = native.as_object();
        let id = Id::from(fields.get_str("id").unwrap_or_default());
        if fields.str_equals("type", "agentMessage") && self.turns.message.as_ref() != Some(&id) {
            let item = items::parse_item("agentMessage", *native, recorder.open_item(&id), recorder);
            recorder.item_completed(&id, item);
        }
    }

    /// Plan steps have no item in the protocol. Here they form one item per turn.
    fn update_plan(&mut self, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if self.locate_item(params, recorder) == ItemPlacement::Past {
            return recorder.write_notice(Notice::new(Topic::Late).with_name("turn/plan/updated"));
        }
        let id = Id::from(format!("{}-steps", params.get_str("turnId").unwrap_or_default()));
        let entries =
            params.get_array("plan").into_iter().map(|step| tool_calls::parse_plan_entry(&step.as_object())).collect();
        let plan = Plan { entries, explanation: params.get_non_empty("explanation"), ..Plan::default() };
        recorder.item_started(&id, Item::new(plan));
    }

    /// Reports a turn of a subagent. Its end closes all items that it left open.
    fn report_child_turn(
        &mut self,
        method: &str,
        params: &JsonObject<'_>,
        turn: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        let thread = params.get_str("threadId").unwrap_or_default();
        let stage = match (method, turn.get_str("status").as_deref()) {
            ("turn/started", _) => "started",
            (_, Some("failed")) => "failed",
            (_, Some("interrupted")) => "interrupted",
            _ => "completed",
        };
        recorder.write_notice(Notice::new(Topic::Task).with_name(thread.as_ref()).with_status(stage));
        if method == "turn/completed" {
            let open = recorder.open_items(Some(&thread));
            open.iter().for_each(|id| close_child_item(id, stage, recorder));
            self.turns.mark_cut_off(open);
        }
    }

    /// Either the model is called again, which voids its reply so far, or the end of the turn follows.
    fn report_turn_error(&mut self, params: &JsonObject<'_>, main: bool, recorder: &mut RunRecorder) {
        let mut fault = errors::from_turn(&params.get_object("error"));
        let retry = params.is_true("willRetry");
        let (topic, level) = if retry { (Topic::Retry, Level::Warning) } else { (Topic::Warning, Level::Error) };
        fault.retryable = retry.then_some(true);
        let notice = Notice::new(topic).with_level(level).with_text(fault.message.clone()).with_name("error");
        recorder.write_notice(Notice { error: Some(fault.clone()), ..notice });
        if retry {
            supersede_replies(params.get_str("threadId").as_deref().filter(|_| !main), recorder);
        } else if main {
            self.error = Some(fault);
        }
    }
}

/// Closes the messages of a reply that the model restarts, under the same ids or under others.
fn supersede_replies(thread: Option<&str>, recorder: &mut RunRecorder) {
    for id in recorder.open_items(thread) {
        let said = recorder.open_item(&id).map(|item| &item.details);
        if matches!(said, Some(Details::AgentMessage(_) | Details::Reasoning(_))) {
            recorder.item_closed(&id, Status::Superseded);
        }
    }
}

/// Messages of a subagent are complete when its turn is; a tool without a result is not.
fn close_child_item(id: &Id, stage: &str, recorder: &mut RunRecorder) {
    let said = recorder.open_item(id).is_some_and(|item| {
        matches!(item.details, Details::AgentMessage(_) | Details::Reasoning(_) | Details::Plan(_))
    });
    let status = if stage == "completed" && said { Status::Completed } else { Status::Interrupted };
    recorder.item_closed(id, status);
}

/// A command that outlives a successful turn continues in the background.
fn background_commands(recorder: &mut RunRecorder) {
    for id in recorder.open_items(None) {
        if let Some(Details::Command(command)) = recorder.item_mut(&id).map(|item| &mut item.details) {
            command.background = true;
            recorder.item_closed(&id, Status::Completed);
        }
    }
}

fn parse_turn_end(turn: &JsonObject<'_>, steps: u64) -> TurnCompleted {
    let duration_ms = turn.get_u64("durationMs");
    let steps = Some(steps).filter(|steps| *steps > 0);
    let ended = match turn.get_str("status").as_deref() {
        Some("failed") => errors::failed_turn(errors::from_turn(&turn.get_object("error")), duration_ms),
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
