//! Tool calls: `tool_call`, `tool_call_update` and requests for permission may tell of one in any order. Their items
//! begin, change and end here.

use std::collections::VecDeque;

use switchboard_event::{Decider, Denied, Details, Field, Id, Item, Notice, Outcome, RequestResolved, Status, Topic};

use super::{
    call::{Source, ToolCall, piece, without_output},
    items,
    live::{Live, control},
    names,
    session::Place,
    shown::Shown,
};
use crate::{Object, Scribe};

/// How many calls may be open at once, and how many closed ones are remembered.
const REMEMBERED: usize = 256;

/// The tool calls of a connection.
#[derive(Default)]
pub struct Calls {
    open: Vec<ToolCall>,
    closed: VecDeque<(Option<Id>, String)>,
    denied: Vec<Denied>,
}

impl Calls {
    /// An open call, by the item that stands for it.
    pub fn by_item(&mut self, item: &Id) -> Option<&mut ToolCall> {
        self.open.iter_mut().find(|call| call.item == *item)
    }

    /// The open call that shows a terminal.
    pub fn by_terminal(&mut self, terminal: &str) -> Option<&mut ToolCall> {
        self.open.iter_mut().find(|call| call.shows(terminal))
    }

    /// Calls of a thread are no longer of interest.
    pub fn forget(&mut self, thread: Option<&Id>) {
        let (gone, open) = std::mem::take(&mut self.open).into_iter().partition(|call| call.thread.as_ref() == thread);
        self.open = open;
        let gone: Vec<ToolCall> = gone;
        gone.into_iter().for_each(|call| self.close(call.thread, call.id));
    }

    /// The calls that were not allowed in this turn.
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
        if self.closed.len() == REMEMBERED {
            self.closed.pop_front();
        }
        self.closed.push_back((thread, id));
    }

    fn was_closed(&self, thread: Option<&Id>, id: &str) -> bool {
        self.closed.iter().any(|(of, known)| known == id && of.as_ref() == thread)
    }

    fn deny(&mut self, item: &Item, id: &Id) {
        let call = item.call.as_deref();
        self.denied.truncate(REMEMBERED - 1);
        self.denied.push(Denied {
            tool: call.map(|call| call.name.clone()).unwrap_or_default(),
            item: Some(id.clone()),
            input: call.and_then(|call| call.input.clone()),
        });
    }
}

impl Live {
    /// `tool_call` and `tool_call_update`.
    pub(super) fn tool_call(&mut self, new: bool, update: &Object<'_>, place: &Place, scribe: &mut Scribe) {
        let Some(id) = update.filled("toolCallId") else { return };
        let status = update.str("status");
        let over = matches!(status.as_deref(), Some("completed" | "failed"));
        let source = self.nature(&id, new && !over, status.is_none(), place, scribe);
        let Some(item) = self.upsert(&id, source, new, update, place, scribe) else {
            return scribe.notice(Notice::new(Topic::Late).with_name("tool_call_update").with_text(id));
        };
        let waits = match status.as_deref() {
            Some("pending") => true,
            None => !new,
            _ => false,
        };
        let piece = piece(update);
        if piece.is_some() || !over && (!waits || scribe.item_is_open(&item)) {
            self.show_call(&item, scribe);
        }
        if let Some(piece) = piece {
            scribe.item_append(&item, Field::Output, 0, &piece);
        }
        if over {
            self.finish_call(&item, status.as_deref() == Some("failed"), scribe);
        }
        scribe.otherwise(control("tool_call").with_status(status.unwrap_or_default()).with_text(id));
    }

    /// A record that only describes a call says what will be done, not what came of it: the call itself, or an update
    /// without a status before it has begun.
    fn nature(&mut self, id: &str, new: bool, bare: bool, place: &Place, scribe: &Scribe) -> Source {
        let waiting = |call: &mut ToolCall| !scribe.item_is_open(&call.item);
        let describes = new || bare && self.calls.find(place.thread(), id).is_some_and(waiting);
        if describes { Source::Call } else { Source::Update }
    }

    /// Takes note of what a record says about a call; none if the call is over already.
    pub(super) fn upsert(
        &mut self,
        id: &str,
        source: Source,
        new: bool,
        fields: &Object<'_>,
        place: &Place,
        scribe: &mut Scribe,
    ) -> Option<Id> {
        if let Some(call) = self.calls.find(place.thread(), id) {
            call.merge(source, fields, scribe);
            self.terminals.link(call);
            return Some(call.item.clone());
        }
        let again = self.calls.was_closed(place.thread(), id);
        if again && !new {
            return None;
        }
        self.settle_declined(place.thread(), scribe);
        self.speeches.end(place.thread(), scribe);
        if matches!(place, Place::Main) {
            self.active(scribe);
        }
        let item = match place.thread() {
            _ if again => self.next_id(id, scribe),
            None => Id::from(id),
            Some(thread) => Id::from(format!("{thread}.{id}")),
        };
        let mut call = ToolCall::new(id, item.clone(), place);
        call.name = names::tool_name(fields, id, self.prefixed_ids);
        call.reply = matches!(place, Place::Main).then(|| self.reply_of_call(id, scribe));
        call.merge(source, fields, scribe);
        self.terminals.link(&mut call);
        if self.calls.open.len() == REMEMBERED {
            let oldest = self.calls.open.remove(0);
            scribe.item_closed(&oldest.item, Status::Interrupted);
        }
        self.calls.open.push(call);
        Some(item)
    }

    /// The reply that a call came with. Calls of one reply may be made one after the other; one agent's ids (0.61.0) say
    /// so by a number behind them.
    fn reply_of_call(&mut self, id: &str, scribe: &Scribe) -> Id {
        let further = names::number_in_id(id).is_some_and(|number| number > 0);
        if further { self.replies.same(scribe) } else { self.replies.next(scribe) }
    }

    /// Shows what is known about a call: begins its item, adds to its output, or replaces it.
    pub(super) fn show_call(&mut self, id: &Id, scribe: &mut Scribe) {
        let Some(item) = self.calls.by_item(id).map(|call| items::item(call, scribe)) else { return };
        let Some(known) = scribe.item(id).cloned() else {
            let (bare, output) = without_output(item);
            scribe.item_started(id, bare);
            if !output.is_empty() {
                scribe.item_append(id, Field::Output, 0, &output);
            }
            return;
        };
        let (known_bare, printed) = without_output(known);
        let (bare, output) = without_output(item.clone());
        let same = switchboard_event::raw(&known_bare).get() == switchboard_event::raw(&bare).get();
        match output.strip_prefix(printed.as_str()) {
            Some("") if same => {}
            Some(more) if same => {
                scribe.item_append(id, Field::Output, 0, more);
            }
            _ => scribe.item_set(id, item),
        }
    }

    fn finish_call(&mut self, id: &Id, failed: bool, scribe: &mut Scribe) {
        let Some(call) = self.calls.take(id) else { return };
        let mut item = items::item(&call, scribe);
        let said = Some(call.text(scribe)).filter(|text| !text.is_empty());
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
            commented(&mut item);
        }
        if let Some(request) = call.request {
            let outcome = if self.prompts.cancelling { Outcome::Cancelled } else { Outcome::Withdrawn };
            let by = Decider::Agent;
            scribe.request_resolved(RequestResolved { request, outcome, by, ..RequestResolved::default() });
        }
        if item.status == Status::Declined {
            self.calls.deny(&item, id);
        }
        if call.thread.is_none() {
            self.replies.acted();
        }
        scribe.item_completed(id, item);
    }

    /// The agent went on after a call was refused: nothing more will come of it.
    pub(super) fn settle_declined(&mut self, thread: Option<&Id>, scribe: &mut Scribe) {
        let refused = |call: &&ToolCall| call.refused && call.thread.as_ref() == thread;
        let ids: Vec<Id> = self.calls.open.iter().filter(refused).map(|call| call.item.clone()).collect();
        for id in ids {
            let status = if self.prompts.cancelling { Status::Interrupted } else { Status::Declined };
            self.calls.take(&id);
            self.replies.acted();
            if let (Status::Declined, Some(item)) = (status, scribe.item(&id)) {
                self.calls.deny(item, &id);
            }
            scribe.item_closed(&id, status);
        }
    }

    /// The turn is over: calls that never began are shown, so that they can be closed with the rest.
    pub(super) fn settle_calls(&mut self, scribe: &mut Scribe) {
        self.settle_declined(None, scribe);
        let main = |call: &&ToolCall| call.thread.is_none();
        let ids: Vec<Id> = self.calls.open.iter().filter(main).map(|call| call.item.clone()).collect();
        for id in ids {
            if !scribe.item_is_open(&id) {
                self.show_call(&id, scribe);
            }
        }
        self.calls.forget(None);
    }
}

/// A command that is reported as completed may have ended otherwise: then the output is a remark on that.
fn commented(item: &mut Item) {
    let Details::Command(command) = &mut item.details else { return };
    let Some(mut shown) = Shown::remark(&command.output) else { return };
    item.status = shown.status();
    if let Some(call) = &mut item.call {
        call.error = shown.remark.take();
    }
    shown.tell(command);
}
