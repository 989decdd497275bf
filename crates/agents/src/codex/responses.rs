//! Events of the model's API, as older descriptions of Codex pass them on: `response.output_text.delta`,
//! `response.output_item.added`, `approval_requested`. They come as `{type, …}` or as `{method, params}`.
//! Also the bare `{text}` of the shortest description.

use std::borrow::Cow;

use switchboard_event::{
    AgentMessage, Details, Dir, Field, Id, Info, Item, Notice, Reasoning, Scope, Status, Topic, TurnCompleted,
    TurnStarted,
};

use super::{approvals, errors, functions, usage, user};
use crate::{Json, Object, Scribe};

/// What is remembered of such a stream.
#[derive(Default)]
pub struct Responses {
    /// The message or the thought that is being written.
    writing: Option<Id>,
    items: u32,
    /// The response has said something already.
    said: bool,
    /// The turn consists of bare texts, each of them a result.
    bare: bool,
    approvals: approvals::Approvals,
}

impl Responses {
    /// Reads a record; one that is of another kind is left.
    pub fn read(&mut self, dir: Dir, record: Json<'_>, scribe: &mut Scribe) {
        let fields = record.object();
        match (fields.str("method"), fields.str("type")) {
            (Some(method), _) => self.event(dir, &method, &fields.object("params"), scribe),
            (None, Some(kind)) if kind != "result" => self.event(dir, &kind, &fields, scribe),
            _ => self.bare(&fields, scribe),
        }
    }

    /// Reads an event by its name.
    pub fn event(&mut self, dir: Dir, name: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        match (dir, name) {
            (Dir::In, "response.created" | "response.in_progress") => self.created(&fields.object("response"), scribe),
            (Dir::In, "response.output_item.added") => self.item(fields, false, scribe),
            (Dir::In, "response.output_item.done") => self.item(fields, true, scribe),
            (Dir::In, "response.output_text.delta") => self.write(Field::Text, message(false), fields, scribe),
            (Dir::In, "response.refusal.delta") => self.write(Field::Text, message(true), fields, scribe),
            (Dir::In, "response.reasoning_text.delta") => self.write(Field::Text, thought(), fields, scribe),
            (Dir::In, "response.reasoning_summary_text.delta") => {
                self.write(Field::Summary, thought(), fields, scribe);
            }
            (Dir::In, "response.completed") => self.completed(&fields.object("response"), scribe),
            (Dir::In, "response.failed" | "response.incomplete") => self.failed(&fields.object("response"), scribe),
            (Dir::In, "approval_requested") => self.approvals.requested(fields, scribe),
            (Dir::Out, "approval.respond" | "approval_response") => self.approvals.answered(fields, scribe),
            (Dir::Out, "turn.create" | "turn") => self.prompt(fields, scribe),
            (Dir::Out, "turn.cancel" | "cancel") => cancel(name, scribe),
            _ => return,
        }
        scribe.otherwise(Notice::new(Topic::Control).with_name(name));
    }

    /// The turn consists of more than bare texts.
    pub fn is_more(&mut self) {
        self.bare = false;
    }

    /// The stream is over. Bare texts are results: after the last of them the work is done.
    pub fn end(&mut self, scribe: &mut Scribe) {
        if std::mem::take(&mut self.bare) && scribe.in_turn() {
            scribe.turn_completed(TurnCompleted::default());
        }
    }

    fn bare(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let Some(text) = fields.str("text") else { return };
        scribe.ensure_turn();
        self.bare = true;
        let id = self.next(scribe);
        scribe.item_completed(&id, Item::new(AgentMessage::text(text)));
    }

    fn next(&mut self, scribe: &Scribe) -> Id {
        self.items += 1;
        scribe.local_id(&format!("output_{}", self.items))
    }

    /// Nothing but this says that a turn begins.
    fn prompt(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let mut said = user::message(fields.get("input"));
        said.queued = scribe.in_turn();
        if !said.queued {
            let prompt = Some(said.joined());
            scribe.turn_started(TurnStarted { prompt, ..TurnStarted::default() });
        }
        let id = self.next(scribe);
        scribe.item_completed(&id, Item::new(said));
    }

    fn created(&mut self, response: &Object<'_>, scribe: &mut Scribe) {
        self.said = false;
        scribe.ensure_turn();
        if let Some(model) = response.filled("model") {
            scribe.info(Info { model: Some(model), ..Info::default() });
        }
    }

    fn item(&mut self, fields: &Object<'_>, done: bool, scribe: &mut Scribe) {
        let Some(native) = fields.get("item") else { return };
        scribe.ensure_turn();
        self.bare = false;
        let item = native.object();
        match item.str("type").as_deref() {
            Some("message") => self.message(&item, done, scribe),
            Some("reasoning") => self.reasoning(&item, done, scribe),
            Some("function_call" | "custom_tool_call") => functions::called(&item, done, scribe),
            Some("function_call_output" | "custom_tool_call_output") => functions::answered(&item, scribe),
            _ => {}
        }
    }

    fn message(&mut self, native: &Object<'_>, done: bool, scribe: &mut Scribe) {
        if native.is("role", "user") {
            let said = user::message(native.get("content"));
            let id = native.filled("id").map_or_else(|| self.next(scribe), Id::from);
            return scribe.item_completed(&id, Item::new(said));
        }
        self.said = true;
        let parts = native.array("content");
        let phase = native.filled("phase");
        let message = |refusal: bool, phase| AgentMessage { phase, refusal, ..spoken(&parts, refusal) };
        let (text, refusal) = (message(false, phase.clone()), message(true, phase));
        if text.text.is_empty() && !refusal.text.is_empty() {
            return self.said_whole(native, Item::new(refusal), done, scribe);
        }
        self.said_whole(native, Item::new(text), done, scribe);
        if done && !refusal.text.is_empty() {
            let id = self.next(scribe);
            scribe.item_completed(&id, Item::new(refusal));
        }
    }

    fn reasoning(&mut self, native: &Object<'_>, done: bool, scribe: &mut Scribe) {
        let texts = |key: &str| -> Option<String> {
            let parts: Vec<_> = native.array(key).iter().filter_map(|part| part.object().string("text")).collect();
            (!parts.is_empty()).then(|| parts.join("\n"))
        };
        let reasoning = Reasoning { text: texts("content"), summary: texts("summary"), ..Reasoning::default() };
        self.said_whole(native, Item::new(reasoning), done, scribe);
    }

    /// A message or a thought begins or ends. Its deltas need not name it, so that the open one is meant.
    fn said_whole(&mut self, native: &Object<'_>, item: Item, done: bool, scribe: &mut Scribe) {
        let same = |id: &Id| scribe.item(id).is_some_and(|open| open.details.tag() == item.details.tag());
        let id = match (self.writing.take().filter(same), native.filled("id")) {
            (Some(open), _) if done => open,
            (_, Some(id)) => Id::from(id),
            (_, None) => self.next(scribe),
        };
        if done {
            let kept = scribe.item(&id).cloned().filter(|_| is_empty(&item));
            let item = kept.unwrap_or(item);
            return scribe.item_completed(&id, item.with_status(Status::Completed));
        }
        scribe.item_started(&id, item);
        self.writing = Some(id);
    }

    fn write(&mut self, field: Field, blank: Item, fields: &Object<'_>, scribe: &mut Scribe) {
        let text = fields.str("delta").unwrap_or_default();
        scribe.ensure_turn();
        (self.said, self.bare) = (true, false);
        let same = |id: &Id| scribe.item(id).is_some_and(|open| open.details.tag() == blank.details.tag());
        let id = match self.writing.take().filter(same) {
            Some(open) => open,
            None => {
                let id = fields.filled("item_id").map_or_else(|| self.next(scribe), Id::from);
                scribe.item_started(&id, blank);
                id
            }
        };
        scribe.item_append(&id, field, 0, &text);
        self.writing = Some(id);
    }

    /// A response ends the turn, unless it leaves tools to be run.
    fn completed(&mut self, response: &Object<'_>, scribe: &mut Scribe) {
        scribe.ensure_turn();
        if !self.said {
            self.unsaid(response, scribe);
        }
        if let Some(figures) = response.get("usage") {
            let used = usage::figures(&figures.object(), Scope::Reply, scribe.model());
            scribe.usage(switchboard_event::Usage { key: response.filled("id").map(Id::from), ..used });
        }
        self.close_writing(scribe);
        if functions::are_open(scribe) {
            return scribe.notice(Notice::new(Topic::Step).with_status("completed"));
        }
        scribe.turn_completed(TurnCompleted::default());
    }

    /// A response that was not streamed has its items only at its end.
    fn unsaid(&mut self, response: &Object<'_>, scribe: &mut Scribe) {
        for native in response.array("output") {
            let item = native.object();
            if item.is("type", "message") {
                self.message(&item, true, scribe);
            }
        }
    }

    fn failed(&mut self, response: &Object<'_>, scribe: &mut Scribe) {
        scribe.ensure_turn();
        (self.said, self.writing) = (false, None);
        scribe.turn_completed(errors::failed_turn(errors::from_response(response), None));
    }

    fn close_writing(&mut self, scribe: &mut Scribe) {
        self.said = false;
        if let Some(id) = self.writing.take() {
            scribe.item_closed(&id, Status::Completed);
        }
    }
}

fn message(refusal: bool) -> Item {
    Item::new(AgentMessage { refusal, ..AgentMessage::default() })
}

fn thought() -> Item {
    Item::new(Reasoning::default())
}

/// What is said in the parts of a message; a refusal is a part of its own.
fn spoken(parts: &[Json<'_>], refusal: bool) -> AgentMessage {
    let key = if refusal { "refusal" } else { "text" };
    let texts: Vec<Cow<'_, str>> = parts.iter().filter_map(|part| part.object().str(key)).collect();
    AgentMessage::text(texts.concat())
}

fn is_empty(item: &Item) -> bool {
    match &item.details {
        Details::AgentMessage(message) => message.text.is_empty(),
        Details::Reasoning(reasoning) => reasoning.text.is_none() && reasoning.summary.is_none(),
        _ => false,
    }
}

fn cancel(name: &str, scribe: &mut Scribe) {
    scribe.interrupted();
    scribe.notice(Notice::new(Topic::Interrupt).with_name(name));
}
