//! Events of the model's API, as Codex passes them on in older documentation: `response.output_text.delta`,
//! `response.output_item.added`, `approval_requested`. They have the form `{type, …}` or `{method, params}`. Also reads
//! the bare `{text}` of the shortest documented format.

use std::borrow::Cow;

use switchboard_event::{
    About, AgentMessage, Decider, Details, Dir, Field, Id, Info, Item, Notice, OptionKind, Outcome, Reasoning,
    RequestOpened, RequestOption, RequestResolved, Scope, Status, Topic, TurnCompleted, TurnStarted,
};

use super::{errors, first_string, items, tool_calls, usage};
use crate::{JsonObject, JsonView, RunRecorder};

/// Maximum number of remembered names; only one request is open at a time.
const MAX_PENDING_APPROVALS: usize = 64;

/// Reads such a stream.
#[derive(Default)]
pub struct ResponsesApiReader {
    /// The message or reasoning item in progress.
    writing: Option<Id>,
    items: u32,
    /// The response has produced output.
    said: bool,
    /// The turn consists of bare texts, each of them a result.
    bare: bool,
    approvals: LegacyApprovals,
}

impl ResponsesApiReader {
    /// Reads a record; records of other kinds are ignored.
    pub fn read(&mut self, dir: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        match (fields.get_str("method"), fields.get_str("type")) {
            (Some(method), _) => self.read_event(dir, &method, &fields.get_object("params"), recorder),
            (None, Some(notice_passage_kind)) if notice_passage_kind != "result" => {
                self.read_event(dir, &notice_passage_kind, &fields, recorder)
            }
            _ => self.read_bare_text(&fields, recorder),
        }
    }

    pub fn read_event(&mut self, dir: Dir, name: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        match (dir, name) {
            (Dir::In, "response.created" | "response.in_progress") => {
                self.read_created(&fields.get_object("response"), recorder)
            }
            (Dir::In, "response.output_item.added") => self.read_output_item(fields, false, recorder),
            (Dir::In, "response.output_item.done") => self.read_output_item(fields, true, recorder),
            (Dir::In, "response.output_text.delta") => {
                self.append_delta(Field::Text, blank_message(false), fields, recorder)
            }
            (Dir::In, "response.refusal.delta") => {
                self.append_delta(Field::Text, blank_message(true), fields, recorder)
            }
            (Dir::In, "response.reasoning_text.delta") => {
                self.append_delta(Field::Text, blank_reasoning(), fields, recorder)
            }
            (Dir::In, "response.reasoning_summary_text.delta") => {
                self.append_delta(Field::Summary, blank_reasoning(), fields, recorder);
            }
            (Dir::In, "response.completed") => self.complete_response(&fields.get_object("response"), recorder),
            (Dir::In, "response.failed" | "response.incomplete") => {
                self.fail_response(&fields.get_object("response"), recorder)
            }
            (Dir::In, "approval_requested") => self.approvals.open_request(fields, recorder),
            (Dir::Out, "approval.respond" | "approval_response") => self.approvals.resolve_request(fields, recorder),
            (Dir::Out, "turn.create" | "turn") => self.read_prompt(fields, recorder),
            (Dir::Out, "turn.cancel" | "cancel") => interrupt_turn(name, recorder),
            _ => return,
        }
        recorder.write_notice_if_no_event(Notice::new(Topic::Control).with_name(name));
    }

    /// Notes that the turn consists of more than bare texts.
    pub fn mark_not_bare(&mut self) {
        self.bare = false;
    }

    /// Handles the end of the stream. Bare texts are results, so the turn is complete after the last one.
    pub fn end(&mut self, recorder: &mut RunRecorder) {
        if std::mem::take(&mut self.bare) && recorder.in_turn() {
            recorder.turn_completed(TurnCompleted::default());
        }
    }

    fn read_bare_text(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(text) = fields.get_str("text") else { return };
        recorder.ensure_turn();
        self.bare = true;
        let id = self.next_item_id(recorder);
        recorder.item_completed(&id, Item::new(AgentMessage::text(text)));
    }

    fn next_item_id(&mut self, recorder: &RunRecorder) -> Id {
        self.items += 1;
        recorder.local_id(&format!("output_{}", self.items))
    }

    /// Starts a turn, which has no other marker.
    fn read_prompt(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let mut said = items::parse_user_message(fields.get("input"));
        said.queued = recorder.in_turn();
        if !said.queued {
            let prompt = Some(said.joined_text());
            recorder.turn_started(TurnStarted { prompt, ..TurnStarted::default() });
        }
        let id = self.next_item_id(recorder);
        recorder.item_completed(&id, Item::new(said));
    }

    fn read_created(&mut self, response: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.said = false;
        recorder.ensure_turn();
        if let Some(model) = response.get_non_empty("model") {
            recorder.update_info(Info { model: Some(model), ..Info::default() });
        }
    }

    fn read_output_item(&mut self, fields: &JsonObject<'_>, done: bool, recorder: &mut RunRecorder) {
        let Some(native) = fields.get("item") else { return };
        recorder.ensure_turn();
        self.bare = false;
        let item = native.as_object();
        match item.get_str("type").as_deref() {
            Some("message") => self.read_message(&item, done, recorder),
            Some("reasoning") => self.read_reasoning(&item, done, recorder),
            Some("function_call" | "custom_tool_call") => tool_calls::start_call(&item, done, recorder),
            Some("function_call_output" | "custom_tool_call_output") => tool_calls::complete_call(&item, recorder),
            _ => {}
        }
    }

    fn read_message(&mut self, native: &JsonObject<'_>, done: bool, recorder: &mut RunRecorder) {
        if native.str_equals("role", "user") {
            let said = items::parse_user_message(native.get("content"));
            let id = native.get_non_empty("id").map_or_else(|| self.next_item_id(recorder), Id::from);
            return recorder.item_completed(&id, Item::new(said));
        }
        self.said = true;
        let parts = native.get_array("content");
        let phase = native.get_non_empty("phase");
        let message = |refusal: bool, phase| AgentMessage { phase, refusal, ..join_message_text(&parts, refusal) };
        let (text, refusal) = (message(false, phase.clone()), message(true, phase));
        if text.text.is_empty() && !refusal.text.is_empty() {
            return self.apply_whole_item(native, Item::new(refusal), done, recorder);
        }
        self.apply_whole_item(native, Item::new(text), done, recorder);
        if done && !refusal.text.is_empty() {
            let id = self.next_item_id(recorder);
            recorder.item_completed(&id, Item::new(refusal));
        }
    }

    fn read_reasoning(&mut self, native: &JsonObject<'_>, done: bool, recorder: &mut RunRecorder) {
        let texts = |key: &str| -> Option<String> {
            let parts: Vec<_> =
                native.get_array(key).iter().filter_map(|part| part.as_object().get_string("text")).collect();
            (!parts.is_empty()).then(|| parts.join("\n"))
        };
        let reasoning = Reasoning { text: texts("content"), summary: texts("summary"), ..Reasoning::default() };
        self.apply_whole_item(native, Item::new(reasoning), done, recorder);
    }

    /// Applies the start or the end of a message or reasoning item. Its deltas need not name it, so they belong to the
    /// open one.
    fn apply_whole_item(&mut self, native: &JsonObject<'_>, item: Item, done: bool, recorder: &mut RunRecorder) {
        let same =
            |id: &Id| recorder.open_item(id).is_some_and(|open| open.details.type_tag() == item.details.type_tag());
        let id = match (self.writing.take().filter(same), native.get_non_empty("id")) {
            (Some(open), _) if done => open,
            (_, Some(id)) => Id::from(id),
            (_, None) => self.next_item_id(recorder),
        };
        if done {
            let kept = recorder.open_item(&id).cloned().filter(|_| is_empty_item(&item));
            let item = kept.unwrap_or(item);
            return recorder.item_completed(&id, item.with_status(Status::Completed));
        }
        recorder.item_started(&id, item);
        self.writing = Some(id);
    }

    fn append_delta(&mut self, field: Field, blank: Item, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let text = fields.get_str("delta").unwrap_or_default();
        recorder.ensure_turn();
        (self.said, self.bare) = (true, false);
        let same =
            |id: &Id| recorder.open_item(id).is_some_and(|open| open.details.type_tag() == blank.details.type_tag());
        let id = match self.writing.take().filter(same) {
            Some(open) => open,
            None => {
                let id = fields.get_non_empty("item_id").map_or_else(|| self.next_item_id(recorder), Id::from);
                recorder.item_started(&id, blank);
                id
            }
        };
        recorder.item_append(&id, field, 0, &text);
        self.writing = Some(id);
    }

    /// Completes a response, which ends the turn unless tools remain to be run.
    fn complete_response(&mut self, response: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        if !self.said {
            self.read_unstreamed_items(response, recorder);
        }
        if let Some(figures) = response.get("usage") {
            let used = usage::parse_usage(&figures.as_object(), Scope::Reply, recorder.current_model());
            recorder.record_usage(switchboard_event::Usage { key: response.get_non_empty("id").map(Id::from), ..used });
        }
        self.close_writing(recorder);
        if tool_calls::has_open_calls(recorder) {
            return recorder.write_notice(Notice::new(Topic::Step).with_status("completed"));
        }
        recorder.turn_completed(TurnCompleted::default());
    }

    /// Reads the items of a response that was not streamed, which come only at its end.
    fn read_unstreamed_items(&mut self, response: &JsonObject<'_>, recorder: &mut RunRecorder) {
        for native in response.get_array("output") {
            let item = native.as_object();
            if item.str_equals("type", "message") {
                self.read_message(&item, true, recorder);
            }
        }
    }

    fn fail_response(&mut self, response: &JsonObject<'_>, recorder: &mut RunRecorder) {
        recorder.ensure_turn();
        (self.said, self.writing) = (false, None);
        recorder.turn_completed(errors::failed_turn(errors::from_response(response), None));
    }

    fn close_writing(&mut self, recorder: &mut RunRecorder) {
        self.said = false;
        if let Some(id) = self.writing.take() {
            recorder.item_closed(&id, Status::Completed);
        }
    }
}

fn blank_message(refusal: bool) -> Item {
    Item::new(AgentMessage { refusal, ..AgentMessage::default() })
}

fn blank_reasoning() -> Item {
    Item::new(Reasoning::default())
}

/// Joins the texts of a message's parts; a refusal is a separate part.
fn join_message_text(parts: &[JsonView<'_>], refusal: bool) -> AgentMessage {
    let key = if refusal { "refusal" } else { "text" };
    let texts: Vec<Cow<'_, str>> = parts.iter().filter_map(|part| part.as_object().get_str(key)).collect();
    AgentMessage::text(texts.concat())
}

fn is_empty_item(item: &Item) -> bool {
    match &item.details {
        Details::AgentMessage(message) => message.text.is_empty(),
        Details::Reasoning(reasoning) => reasoning.text.is_none() && reasoning.summary.is_none(),
        _ => false,
    }
}

fn interrupt_turn(name: &str, recorder: &mut RunRecorder) {
    recorder.mark_interrupted();
    recorder.write_notice(Notice::new(Topic::Interrupt).with_name(name));
}

/// Pending approvals. A request is named by its call; an answer may name the item instead.
#[derive(Default)]
struct LegacyApprovals {
    waiting: Vec<(String, Id)>,
}

impl LegacyApprovals {
    /// Reads `{item: {id, call_id, name, arguments}}`.
    pub fn open_request(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let native = fields.get_object("item");
        let names = [native.get_non_empty("call_id"), native.get_non_empty("id"), fields.get_non_empty("id")];
        let Some(name) = names.iter().flatten().next() else { return };
        recorder.ensure_turn();
        let request = recorder.local_id(&format!("approval_{name}"));
        self.waiting.extend(names.iter().flatten().map(|name| (name.clone(), request.clone())));
        self.waiting.drain(..self.waiting.len().saturating_sub(MAX_PENDING_APPROVALS));
        let item = names.iter().flatten().map(Id::from).find(|id| recorder.item_is_open(id));
        recorder.request_opened(item, approval_request(request, &native));
    }

    /// Reads `{approve, item_id}`.
    pub fn resolve_request(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let name = first_string(fields, &["item_id", "itemId", "call_id", "id"]).unwrap_or_default();
        let known = self.waiting.iter().find(|(known, _)| *known == name).map(|(_, request)| request.clone());
        let Some(request) = known else { return };
        self.waiting.retain(|(_, waiting)| *waiting != request);
        let (outcome, option) = match fields.is_true("approve") {
            true => (Outcome::Allowed, "approve"),
            false => (Outcome::Declined, "decline"),
        };
        let (by, option) = (Decider::Client, Some(option.to_owned()));
        if !recorder.request_resolved(RequestResolved { request, outcome, by, option, ..RequestResolved::default() }) {
            recorder.write_notice(Notice::new(Topic::Late).with_name("approval.respond"));
        }
    }
}

fn approval_request(request: Id, native: &JsonObject<'_>) -> RequestOpened {
    let item = tool_calls::parse_function_call(native);
    let call = item.call.unwrap_or_default();
    let (about, command, cwd) = match item.details {
        Details::Command(command) => (About::Command, Some(command.command), command.cwd),
        _ if call.name == "apply_patch" => (About::FileChange, None, None),
        _ => (About::Tool, None, None),
    };
    let option = |id: &str, label: &str, kind| RequestOption { id: id.to_owned(), label: label.to_owned(), kind };
    RequestOpened {
        request,
        about,
        title: command.clone().filter(|line| !line.is_empty()).unwrap_or_else(|| call.name.clone()),
        command,
        cwd,
        call: Some(call),
        options: vec![
            option("approve", "Allow", OptionKind::AllowOnce),
            option("decline", "Decline", OptionKind::Reject),
        ],
        ..RequestOpened::default()
    }
}
