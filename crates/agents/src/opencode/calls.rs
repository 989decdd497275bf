//! Tool calls from their announcement to their end, in all formats, and the subagents that some of them start.

use std::borrow::Cow;

use switchboard_event::{Content, Denied, Details, Id, Item, Level, Notice, Status, Topic};

use super::{
    bus::{
        BusReader, {self},
    },
    messages,
    parts::BusPart,
    tools,
};
use crate::{JsonObject, JsonView, RunRecorder};

/// A tool call that was announced.
pub struct PendingCall {
    /// The part of the call, which is also the id of its item.
    pub part: Id,
    pub tool: String,
    /// The diff shown with the permission request. The tool itself may not show one.
    pub diff: Option<String>,
}

impl BusReader {
    /// Reads a part of type `tool`.
    pub(super) fn tool(&mut self, part: &BusPart<'_>, recorder: &mut RunRecorder) {
        let state = CallState::of_part(part.fields);
        let key = call_key(&part.message, &part.fields.get_str("callID").unwrap_or_default());
        if !self.calls.has(&key) {
            let pending = PendingCall { part: part.id.clone(), tool: state.tool.to_string(), diff: None };
            self.calls.insert(key.clone(), pending);
        }
        match state.phase {
            CallPhase::Pending => {
                let notice = Notice::new(Topic::Control).with_level(Level::Debug).with_name(&*state.tool);
                recorder.write_notice_about(Some(part.id.clone()), notice.with_status("pending"));
            }
            CallPhase::Running => self.tool_running(&part.id, &key, &part.message, &state, recorder),
            CallPhase::Completed | CallPhase::Failed => {
                self.tool_ended(&part.id, &key, &part.message, &state, recorder)
            }
        }
    }

    /// Starts the item of a running tool, or updates it.
    pub(super) fn tool_running(
        &mut self,
        id: &Id,
        key: &str,
        reply: &Id,
        state: &CallState<'_>,
        recorder: &mut RunRecorder,
    ) {
        let item = Item { reply: Some(reply.clone()), ..self.tool_item(key, state, recorder) };
        self.link(id, &item);
        if recorder.item_is_open(id) {
            tools::progress(id, item, state, recorder);
        } else {
            recorder.item_started(id, item);
            tools::append_output(id, state, recorder);
        }
    }

    /// Completes a tool that succeeded or failed, and closes everything its subagent left open.
    pub(super) fn tool_ended(
        &mut self,
        id: &Id,
        key: &str,
        reply: &Id,
        state: &CallState<'_>,
        recorder: &mut RunRecorder,
    ) {
        let item =
            Item { reply: Some(reply.clone()), ..tools::completed_item(self.tool_item(key, state, recorder), state) };
        self.link(id, &item);
        if let Some(pending) = self.calls.get_mut(key) {
            pending.diff = None;
        }
        if let Some(thread) = working_for(&item) {
            self.close_thread(thread, recorder);
        }
        if self.main && item.status == Status::Declined {
            let input = state.input.map(JsonView::to_raw);
            self.turn.add_denied(Denied { tool: state.tool.to_string(), item: Some(id.clone()), input });
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

    fn tool_item(&self, key: &str, state: &CallState<'_>, recorder: &RunRecorder) -> Item {
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

/// Phase of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPhase {
    /// The model is still writing the input.
    Pending,
    /// The tool is running.
    Running,
    /// The tool succeeded.
    Completed,
    /// The tool failed, was stopped, or was not allowed.
    Failed,
}

/// State of a tool call.
pub struct CallState<'a> {
    pub tool: Cow<'a, str>,
    pub phase: CallPhase,
    pub input: Option<JsonView<'a>>,
    /// One line for people.
    pub title: Option<String>,
    /// The result for the model.
    pub output: Cow<'a, str>,
    pub error: Option<String>,
    /// Metadata, specific to each tool.
    pub meta: JsonObject<'a>,
    /// Files in the result.
    pub files: Vec<Content>,
    /// Duration in milliseconds.
    pub took: Option<u64>,
}

impl<'a> CallState<'a> {
    /// Parses a part of type `tool`.
    pub fn of_part(part: &JsonObject<'a>) -> Self {
        let state = part.get_object("state");
        Self {
            tool: part.get_str("tool").unwrap_or_default(),
            phase: match state.get_str("status").as_deref() {
                Some("running") => CallPhase::Running,
                Some("completed") => CallPhase::Completed,
                Some("error") => CallPhase::Failed,
                _ => CallPhase::Pending,
            },
            input: state.get("input"),
            title: state.get_non_empty("title"),
            output: state.get_str("output").unwrap_or_default(),
            error: state.get_non_empty("error"),
            meta: state.get_object("metadata"),
            files: state.get_array("attachments").into_iter().map(|file| messages::file(&file.as_object())).collect(),
            took: bus::took(&state.get_object("time")),
        }
    }

    /// Builds the state from an update of a known call. The events of newer sessions do not repeat the tool and its
    /// input.
    pub fn from_update(item: &'a Item, phase: CallPhase, fields: &JsonObject<'a>) -> Self {
        let call = item.call.as_deref();
        let input = call.and_then(|call| call.input.as_deref());
        let content = fields.get_array("content").into_iter().map(JsonView::as_object);
        let (text, files): (Vec<_>, Vec<_>) = content.partition(|piece| piece.str_equals("type", "text"));
        let text: Vec<_> = text.iter().filter_map(|piece| piece.get_string("text")).collect();
        Self {
            tool: Cow::Borrowed(call.map_or("", |call| call.name.as_str())),
            phase,
            input: input.and_then(|input| JsonView::parse(input.get())),
            title: None,
            output: Cow::Owned(text.join("\n")),
            error: None,
            meta: fields.get_object("structured"),
            files: files.iter().map(messages::file).collect(),
            took: None,
        }
    }
}
