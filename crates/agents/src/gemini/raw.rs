//! Records without a type: a bare `{"text"}`, and the replies of the model's API as they are.

use switchboard_event::{
    AgentMessage, Content, ContentType, Details, Fault, Id, Info, Item, Level, Notice, Status, Topic, Usage,
};

use super::{errors, items, live::Live, usage};
use crate::{Json, Object, Scribe};

/// What raw replies leave behind until they are over.
#[derive(Default)]
pub struct Replies {
    /// The reply that is being read, and what it used so far.
    metered: Option<(Option<Id>, Usage)>,
    /// Why the last reply ended.
    finish: Option<String>,
    /// There was one: then its end is said, and a stream without it was cut off.
    seen: bool,
    /// There was a bare text, and nothing ever says that it was the last.
    bare: bool,
}

impl Replies {
    /// Counts what was used and not counted yet.
    pub fn settle(&mut self, scribe: &mut Scribe) {
        if let Some((_, usage)) = self.metered.take() {
            scribe.usage(usage);
        }
    }

    /// The stream of raw replies came to its end, well or with a fault; `None` if it was cut off.
    pub fn outcome(&self) -> Option<Result<(), Fault>> {
        match self.finish.as_deref() {
            Some("STOP" | "MAX_TOKENS" | "FINISH_REASON_UNSPECIFIED") => Some(Ok(())),
            Some(reason) => Some(Err(errors::blocked(reason))),
            None => (self.bare && !self.seen).then_some(Ok(())),
        }
    }

    /// The last reply was cut off at its length limit.
    pub fn is_cut(&self) -> bool {
        self.finish.as_deref() == Some("MAX_TOKENS")
    }

    /// Another reply begins: the one before is final.
    fn meter(&mut self, key: Option<Id>, usage: Usage, scribe: &mut Scribe) {
        if self.metered.as_ref().is_some_and(|(before, _)| *before != key) {
            self.settle(scribe);
        }
        self.metered = Some((key, usage));
    }
}

impl Live {
    /// A record without a known type.
    pub(super) fn untyped(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        if let Some(text) = fields.str("text") {
            self.replies.bare = true;
            self.say(&text, scribe);
        }
        if fields.has("candidates") || fields.has("usageMetadata") || fields.has("promptFeedback") {
            self.reply(fields, scribe);
        } else if let Some(error) = fields.get("error").filter(|_| !fields.has("type")) {
            self.replies.settle(scribe);
            self.fail(errors::fault(&error.object()), None, scribe);
        }
    }

    /// A piece of a reply.
    fn reply(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        scribe.info(Info { model: fields.filled("modelVersion"), ..Info::default() });
        scribe.ensure_turn();
        self.replies.seen = true;
        if let Some(name) = fields.filled("responseId") {
            self.numbered.named(name.into());
        }
        let candidate = fields.array("candidates").first().map(|candidate| candidate.object()).unwrap_or_default();
        for part in candidate.object("content").array("parts") {
            self.part(&part.object(), scribe);
        }
        let blocked = fields.object("promptFeedback").filled("blockReason");
        if blocked.is_some() || !candidate.is_empty() {
            self.replies.finish = candidate.filled("finishReason").or(blocked);
        }
        if fields.has("usageMetadata") {
            let key = fields.filled("responseId").map(Id::from);
            let model = fields.filled("modelVersion").or_else(|| scribe.model().map(str::to_owned));
            let usage = usage::reply(&fields.object("usageMetadata"), key.clone(), model);
            self.replies.meter(key, usage, scribe);
        }
        scribe.otherwise(Notice::new(Topic::Control).with_level(Level::Debug).with_name("usageMetadata"));
    }

    fn part(&mut self, part: &Object<'_>, scribe: &mut Scribe) {
        if let Some(call) = part.get("functionCall") {
            return self.function_call(&call.object(), scribe);
        }
        if let Some(response) = part.get("functionResponse") {
            return function_response(&response.object(), scribe);
        }
        if let Some(data) = part.get("inlineData") {
            return self.show(&data.object(), scribe);
        }
        match part.str("text") {
            Some(text) if part.is_true("thought") => self.think(&text, scribe),
            Some(text) => self.say(&text, scribe),
            None => {}
        }
    }

    fn function_call(&mut self, call: &Object<'_>, scribe: &mut Scribe) {
        self.end_speech(scribe);
        let name = call.str("name").unwrap_or_default();
        let reply = Some(self.numbered.next(scribe));
        let item = Item { reply, ..items::item(&name, call.get("args"), scribe) };
        let id = call.filled("id").map_or_else(|| self.next_id("tool", scribe), Id::from);
        scribe.item_started(&id, item);
    }

    fn show(&mut self, data: &Object<'_>, scribe: &mut Scribe) {
        self.end_speech(scribe);
        let (media_type, data) = (data.filled("mimeType"), data.filled("data"));
        let image = media_type.as_deref().is_some_and(|mime| mime.starts_with("image/"));
        let kind = if image { ContentType::Image } else { ContentType::File };
        let content = vec![Content { kind, media_type, data, ..Content::default() }];
        let id = self.next_id("message", scribe);
        scribe.item_completed(&id, Item::new(AgentMessage { content, ..AgentMessage::default() }));
    }
}

/// What a function gave back. Without an id, it belongs to the oldest open call of that name.
fn function_response(response: &Object<'_>, scribe: &mut Scribe) {
    let name = response.str("name").unwrap_or_default();
    let named = |id: &Id| scribe.item(id).and_then(|item| item.call.as_deref()).is_some_and(|call| call.name == name);
    let id = response.filled("id").map(Id::from);
    let Some(id) = id.or_else(|| scribe.open_items(None).into_iter().find(named)) else { return };
    let Some(mut item) = scribe.item(&id).cloned() else { return };
    let given = response.object("response");
    let output = given.get("output").or_else(|| given.get("result")).map(Json::display).unwrap_or_default();
    match &mut item.details {
        Details::Command(command) => command.output = output.into_owned(),
        Details::Tool(tool) => (tool.output, tool.result) = (output.into_owned(), response.raw("response")),
        Details::FileChange(change) => change.output = Some(output.into_owned()),
        Details::Mcp(mcp) => mcp.result = response.raw("response"),
        Details::WebSearch(search) => search.results = response.raw("response"),
        Details::Subagent(subagent) => subagent.result = Some(output.into_owned()),
        _ => {}
    }
    let error = given.get("error").map(|error| error.display().into_owned());
    let status = if error.is_some() { Status::Failed } else { Status::Completed };
    if let Some(call) = &mut item.call {
        call.error = error;
    }
    scribe.item_completed(&id, item.with_status(status));
}
