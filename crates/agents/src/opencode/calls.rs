//! Tool calls from their announcement to their end, and the subagents that some of them start.

use switchboard_event::{Denied, Details, Id, Item, Level, Notice, Status, Topic};

use super::{
    bus::Bus,
    parts::Part,
    state::{Phase, State},
    tools,
};
use crate::{JsonView, RunRecorder};

/// A tool call that was announced.
pub struct Pending {
    /// The part of the call, which is also the id of its item.
    pub part: Id,
    pub tool: String,
    /// The diff shown with the permission request. The tool itself may not show one.
    pub diff: Option<String>,
}

impl Bus {
    /// Reads a part of type `tool`.
    pub(super) fn tool(&mut self, part: &Part<'_>, recorder: &mut RunRecorder) {
        let state = State::of_part(part.fields);
        let key = call_key(&part.message, &part.fields.get_str("callID").unwrap_or_default());
        if !self.calls.has(&key) {
            let pending = Pending { part: part.id.clone(), tool: state.tool.to_string(), diff: None };
            self.calls.insert(key.clone(), pending);
        }
        match state.phase {
            Phase::Pending => {
                let notice = Notice::new(Topic::Control).with_level(Level::Debug).with_name(&*state.tool);
                recorder.write_notice_about(Some(part.id.clone()), notice.with_status("pending"));
            }
            Phase::Running => self.tool_running(&part.id, &key, &part.message, &state, recorder),
            Phase::Completed | Phase::Failed => self.tool_ended(&part.id, &key, &part.message, &state, recorder),
        }
    }

    /// Starts the item of a running tool, or updates it.
    pub(super) fn tool_running(
        &mut self,
        id: &Id,
        key: &str,
        reply: &Id,
        state: &State<'_>,
        recorder: &mut RunRecorder,
    ) {
        let item = Item { reply: Some(reply.clone()), ..self.tool_item(key, state, recorder) };
        self.link(id, &item);
        if recorder.item_is_open(id) {
            tools::progress(id, item, state, recorder);
        } else {
            recorder.item_started(id, item);
            tools::print(id, state, recorder);
        }
    }

    /// Completes a tool that succeeded or failed, and closes everything its subagent left open.
    pub(super) fn tool_ended(&mut self, id: &Id, key: &str, reply: &Id, state: &State<'_>, recorder: &mut RunRecorder) {
        let item = Item { reply: Some(reply.clone()), ..tools::ended(self.tool_item(key, state, recorder), state) };
        self.link(id, &item);
        if let Some(pending) = self.calls.get_mut(key) {
            pending.diff = None;
        }
        if let Some(thread) = working_for(&item) {
            self.close_thread(thread, recorder);
        }
        if self.main && item.status == Status::Declined {
            let input = state.input.map(JsonView::to_raw);
            self.turn.declined(Denied { tool: state.tool.to_string(), item: Some(id.clone()), input });
        }
        recorder.item_completed(id, item);
        self.ended.insert(id.clone(), ());
    }

    /// Closes the open items of a subagent and of its own subagents, deepest first.
    fn close_thread(&mut self, thread: Id, recorder: &mut RunRecorder) {
        let mut threads = vec![thread];
        let mut next = 0;
        while let Some(thread) = threads.get(next) {
            let items = recorder.open_items(Some(thread));
            let deeper = items.iter().filter_map(|id| recorder.open_item(id)).filter_map(working_for);
            let deeper: Vec<_> = deeper.filter(|thread| !threads.contains(thread)).collect();
            threads.extend(deeper);
            next += 1;
        }
        let left = threads.iter().rev().flat_map(|thread| recorder.open_items(Some(thread)).into_iter().rev());
        for id in left.collect::<Vec<_>>() {
            recorder.item_closed(&id, Status::Interrupted);
            self.ended.insert(id, ());
        }
    }

    fn tool_item(&self, key: &str, state: &State<'_>, recorder: &RunRecorder) -> Item {
        let shown = self.calls.get(key).and_then(|pending| pending.diff.as_deref());
        tools::item(state, shown, &self.servers, recorder)
    }

    /// Links a subagent's session to the tool call that started it.
    fn link(&mut self, id: &Id, item: &Item) {
        if let Details::Subagent(subagent) = &item.details
            && let Some(thread) = &subagent.thread
        {
            self.sessions.link(thread, id);
        }
    }
}

/// Returns the session of a subagent that ends together with its tool call.
fn working_for(item: &Item) -> Option<Id> {
    match &item.details {
        Details::Subagent(subagent) if !subagent.background => subagent.thread.clone(),
        _ => None,
    }
}

/// Returns the key of a call. Call ids are unique only within a message.
pub fn call_key(message: &str, call: &str) -> Id {
    Id::from(format!("{message}/{call}"))
}
