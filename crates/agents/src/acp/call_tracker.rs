//! Tool calls. `tool_call`, `tool_call_update` and permission requests may describe a call in any order. This module
//! starts, updates and completes their items, and links them to the client's terminals in which they run.

use std::collections::VecDeque;

use switchboard_event::{Decider, Denied, Details, Field, Id, Item, Notice, Outcome, RequestResolved, Status, Topic};

use super::{
    AcpReader, control, items,
    session::SessionScope,
    tool_call::{CallRecordKind, ShellDisplay, ToolCall, piece, without_output},
    tool_names,
};
use crate::{JsonObject, JsonView, RunRecorder, bounded::push_bounded};

/// Maximum number of open calls, and of remembered closed calls.
const MAX_CLOSED_CALLS: usize = 256;

/// Maximum number of remembered terminals.
const MAX_TERMINALS: usize = 64;

#[derive(Default)]
pub struct ToolCallTracker {
    open: Vec<ToolCall>,
    closed: VecDeque<(Option<Id>, String)>,
    denied: Vec<Denied>,
}

impl ToolCallTracker {
    /// Returns an open call by its item.
    pub fn by_item(&mut self, item: &Id) -> Option<&mut ToolCall> {
        self.open.iter_mut().find(|call| call.item == *item)
    }

    /// Returns the open call that shows a terminal.
    fn by_terminal(&mut self, terminal: &str) -> Option<&mut ToolCall> {
        self.open.iter_mut().find(|call| call.shows(terminal))
    }

    /// Forgets the calls of a thread.
    pub fn forget(&mut self, thread: Option<&Id>) {
        let (gone, open) = std::mem::take(&mut self.open).into_iter().partition(|call| call.thread.as_ref() == thread);
        self.open = open;
        let gone: Vec<ToolCall> = gone;
        gone.into_iter().for_each(|call| self.close(call.thread, call.id));
    }

    /// Takes the refused calls of this turn.
    pub fn take_denied(&mut self) -> Vec<Denied> {
        std::mem::take(&mut self.denied)
    }

    fn find(&mut self, thread: Option<&Id>, id: &str) -> Option<&mut ToolCall> {
        self.open.iter_mut().find(|call| call.id == id && call.thread.as_ref() == thread)
    }

    fn take(&mut self, item: &Id) -> Option<ToolCall> {
        let index = self.open.iter().position(|call| call.item == *item)?;
        let call = self.open.remove(index);
        self.close(call.thread.clone(), call.id.clone());
        Some(call)
    }

    fn close(&mut self, thread: Option<Id>, id: String) {
        push_bounded(&mut self.closed, (thread, id), MAX_CLOSED_CALLS);
    }

    fn was_closed(&self, thread: Option<&Id>, id: &str) -> bool {
        self.closed.iter().any(|(of, known)| known == id && of.as_ref() == thread)
    }

    fn deny(&mut self, item: &Item, id: &Id) {
        let call = item.call.as_deref();
        self.denied.truncate(MAX_CLOSED_CALLS - 1);
        self.denied.push(Denied {
            tool: call.map(|call| call.name.clone()).unwrap_or_default(),
            item: Some(id.clone()),
            input: call.and_then(|call| call.input.clone()),
        });
    }
}

impl AcpReader {
    /// `tool_call` and `tool_call_update`.
    pub(super) fn tool_call(
        &mut self,
        new: bool,
        update: &JsonObject<'_>,
        scope: &SessionScope,
        recorder: &mut RunRecorder,
    ) {
        let Some(id) = update.get_non_empty("toolCallId") else { return };
        let status = update.get_str("status");
        let over = matches!(status.as_deref(), Some("completed" | "failed"));
        let source = self.nature(&id, new && !over, status.is_none(), scope, recorder);
        let Some(item) = self.upsert(&id, source, new, update, scope, recorder) else {
            return recorder.write_notice(Notice::new(Topic::Late).with_name("tool_call_update").with_text(id));
        };
        let waits = match status.as_deref() {
            Some("pending") => true,
            None => !new,
            _ => false,
        };
        let piece = piece(update);
        if piece.is_some() || !over && (!waits || recorder.item_is_open(&item)) {
            self.show_call(&item, recorder);
        }
        if let Some(piece) = piece {
            recorder.item_append(&item, Field::Output, 0, &piece);
        }
        if over {
            self.finish_call(&item, status.as_deref() == Some("failed"), recorder);
        }
        recorder.write_notice_if_no_event(control("tool_call").with_status(status.unwrap_or_default()).with_text(id));
    }

    /// Returns the source of a description. A record that only describes a call states the intention, not the result:
    /// the call itself, or an update without a status before the call has begun.
    fn nature(
        &mut self,
        id: &str,
        new: bool,
        bare: bool,
        scope: &SessionScope,
        recorder: &RunRecorder,
    ) -> CallRecordKind {
        let waiting = |call: &mut ToolCall| !recorder.item_is_open(&call.item);
        let describes = new || bare && self.calls.find(scope.thread(), id).is_some_and(waiting);
        if describes { CallRecordKind::Call } else { CallRecordKind::Update }
    }

    /// Stores a description of a call. Returns `None` if the call is already over.
    pub(super) fn upsert(
        &mut self,
        id: &str,
        source: CallRecordKind,
        new: bool,
        fields: &JsonObject<'_>,
        scope: &SessionScope,
        recorder: &mut RunRecorder,
    ) -> Option<Id> {
        if let Some(call) = self.calls.find(scope.thread(), id) {
            call.merge(source, fields, recorder);
            self.terminals.link(call);
            return Some(call.item.clone());
        }
        let again = self.calls.was_closed(scope.thread(), id);
        if again && !new {
            return None;
        }
        self.settle_declined(scope.thread(), recorder);
        self.open_messages.end(scope.thread(), recorder);
        if matches!(scope, SessionScope::Main) {
            self.active(recorder);
        }
        let item = match scope.thread() {
            _ if again => self.next_id(id, recorder),
            None => Id::from(id),
            Some(thread) => Id::from(format!("{thread}.{id}")),
        };
        let mut call = ToolCall::new(id, item.clone(), scope);
        call.name = tool_names::tool_name(fields, id, self.prefixed_ids);
        call.reply = matches!(scope, SessionScope::Main).then(|| self.reply_of_call(id, recorder));
        call.merge(source, fields, recorder);
        self.terminals.link(&mut call);
        if self.calls.open.len() == MAX_CLOSED_CALLS {
            let oldest = self.calls.open.remove(0);
            recorder.item_closed(&oldest.item, Status::Interrupted);
        }
        self.calls.open.push(call);
        Some(item)
    }

    /// Returns the reply that made a call. Calls of one reply may run one after the other; the ids of Gemini CLI 0.61.0
    /// show this by a trailing number.
    fn reply_of_call(&mut self, id: &str, recorder: &RunRecorder) -> Id {
        let further = tool_names::number_in_id(id).is_some_and(|number| number > 0);
        if further { self.replies.id_for_parallel_call(recorder) } else { self.replies.id_for_output(recorder) }
    }

    /// Shows the known state of a call: starts its item, appends to its output, or replaces it.
    pub(super) fn show_call(&mut self, id: &Id, recorder: &mut RunRecorder) {
        let Some(item) = self.calls.by_item(id).map(|call| items::item(call, recorder)) else { return };
        let Some(known) = recorder.open_item(id).cloned() else {
            let (bare, output) = without_output(item);
            recorder.item_started(id, bare);
            if !output.is_empty() {
                recorder.item_append(id, Field::Output, 0, &output);
            }
            return;
        };
        let (known_bare, printed) = without_output(known);
        let (bare, output) = without_output(item.clone());
        let same = switchboard_event::to_raw_json(&known_bare).get() == switchboard_event::to_raw_json(&bare).get();
        match output.strip_prefix(printed.as_str()) {
            Some("") if same => {}
            Some(more) if same => {
                recorder.item_append(id, Field::Output, 0, more);
            }
            _ => recorder.item_set(id, item),
        }
    }

    fn finish_call(&mut self, id: &Id, failed: bool, recorder: &mut RunRecorder) {
        let Some(call) = self.calls.take(id) else { return };
        let mut item = items::item(&call, recorder);
        let said = Some(call.text(recorder)).filter(|text| !text.is_empty());
        item.status = match (failed, call.refused, self.prompts.cancelling || call.stopped()) {
            (false, ..) => Status::Completed,
            (true, _, true) => Status::Interrupted,
            (true, true, _) => Status::Declined,
            (true, ..) => Status::Failed,
        };
        if failed {
            if let Some(call) = &mut item.call {
                call.error.clone_from(&said);
            }
            if let Details::Mcp(mcp) = &mut item.details {
                mcp.error = said;
            }
        }
        if !failed {
            apply_exit_remark(&mut item);
        }
        if let Some(request) = call.request {
            let outcome = if self.prompts.cancelling { Outcome::Cancelled } else { Outcome::Withdrawn };
            let by = Decider::Agent;
            recorder.request_resolved(RequestResolved { request, outcome, by, ..RequestResolved::default() });
        }
        if item.status == Status::Declined {
            self.calls.deny(&item, id);
        }
        if call.thread.is_none() {
            self.replies.mark_tool_result();
        }
        recorder.item_completed(id, item);
    }

    /// Closes refused calls after the agent has continued: no result follows.
    pub(super) fn settle_declined(&mut self, thread: Option<&Id>, recorder: &mut RunRecorder) {
        let refused = |call: &&ToolCall| call.refused && call.thread.as_ref() == thread;
        let ids: Vec<Id> = self.calls.open.iter().filter(refused).map(|call| call.item.clone()).collect();
        for id in ids {
            let status = if self.prompts.cancelling { Status::Interrupted } else { Status::Declined };
            self.calls.take(&id);
            self.replies.mark_tool_result();
            if let (Status::Declined, Some(item)) = (status, recorder.open_item(&id)) {
                self.calls.deny(item, &id);
            }
            recorder.item_closed(&id, status);
        }
    }

    /// Starts the items of calls that never began at the end of a turn, so that they are closed with the others.
    pub(super) fn settle_calls(&mut self, recorder: &mut RunRecorder) {
        self.settle_declined(None, recorder);
        let main = |call: &&ToolCall| call.thread.is_none();
        let ids: Vec<Id> = self.calls.open.iter().filter(main).map(|call| call.item.clone()).collect();
        for id in ids {
            if !recorder.item_is_open(&id) {
                self.show_call(&id, recorder);
            }
        }
        self.calls.forget(None);
    }
}

/// A command reported as completed may have failed. The output is then a remark about this.
fn apply_exit_remark(item: &mut Item) {
    let Details::Command(command) = &mut item.details else { return };
    let Some(mut shown) = ShellDisplay::remark(&command.output) else { return };
    item.status = shown.status();
    if let Some(call) = &mut item.call {
        call.error = shown.remark.take();
    }
    shown.tell(command);
}

/// The command line of each terminal.
#[derive(Default)]
pub struct ClientTerminals {
    commands: VecDeque<(String, String)>,
}

impl ClientTerminals {
    /// Returns the command line that a terminal is requested to run.
    pub fn asked(&self, params: &JsonObject<'_>) -> Option<String> {
        let words = params.get_non_empty("command").into_iter().chain(params.get_strings("args"));
        Some(words.collect::<Vec<_>>().join(" ")).filter(|line| !line.is_empty())
    }

    fn remember(&mut self, terminal: String, command: String) {
        push_bounded(&mut self.commands, (terminal, command), MAX_TERMINALS);
    }

    /// Sets the command of a call from the terminal that it shows.
    pub fn link(&self, call: &mut ToolCall) {
        if call.run.is_none() {
            let shown = self.commands.iter().find(|(terminal, _)| call.shows(terminal));
            call.run = shown.map(|(_, command)| command.clone());
        }
    }
}

impl AcpReader {
    /// Reads the client's response about a terminal. `what` is the command line for `terminal/create`, otherwise the
    /// terminal.
    pub(super) fn read_terminal_response(
        &mut self,
        method: &str,
        what: Option<String>,
        result: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        let Some(what) = what else { return };
        if method == "terminal/create" {
            if let Some(terminal) = result.get_non_empty("terminalId") {
                self.terminals.remember(terminal, what);
            }
            return;
        }
        let Some(call) = self.calls.by_terminal(&what) else { return };
        if let Some(output) = result.get_string("output") {
            call.printed = output;
        }
        let exit = result.get("exitStatus").map(JsonView::as_object);
        call.exit = exit.as_ref().unwrap_or(result).get_i32("exitCode").or(call.exit);
        let item = call.item.clone();
        self.show_call(&item, recorder);
    }
}
