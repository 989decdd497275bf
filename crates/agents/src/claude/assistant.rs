//! `assistant`: one finished block of a reply, or several.

use switchboard_event::{
    AgentMessage, Content, ContentType, Details, Id, Item, Level, Notice, Reasoning, Topic, Unknown,
};

use super::{
    errors, items,
    live::Live,
    results,
    stream::{Claim, Shown, blocks, shown},
    turn,
};
use crate::{Json, Object, Scribe};

impl Live {
    /// `assistant`.
    pub(super) fn assistant(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let sub = self.place(fields, scribe);
        if !sub {
            self.ensure_turn(scribe);
            self.waiting.called();
        }
        let message = fields.object("message");
        if let Some(error) = fields.str("error") {
            return self.failed_reply(&error, fields, scribe);
        }
        let reply = message.str("id").map(Id::from);
        if !sub && self.stream.reply != reply {
            self.stream.break_off(scribe);
        }
        for block in blocks(message.get("content")) {
            self.block(reply.as_ref(), block, sub, scribe);
        }
        if let Some(text) = message.str("content") {
            self.text_block(reply.as_ref(), Shown::Text, text.into_owned(), sub, scribe);
        }
        if fields.has("supersedes") {
            let notice = Notice::new(Topic::Retracted).with_name("supersedes");
            scribe.notice(Notice { detail: fields.raw("supersedes"), ..notice });
        }
        self.final_usage(&message, sub, scribe);
    }

    /// Claude says what went wrong in the form of an answer. It is none.
    fn failed_reply(&mut self, error: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        let content = fields.object("message").get("content");
        let text: Vec<_> = blocks(content).iter().filter_map(|b| b.object().string("text")).collect();
        let cause = fields.str("api_error").unwrap_or_default();
        let fault = errors::of_reply(error, &cause, &text.join("\n"));
        let notice = Notice::new(Topic::Warning).with_level(Level::Error).with_text(fault.message.clone());
        scribe.notice(Notice { error: Some(fault.clone()), ..notice });
        self.fault = Some(fault);
    }

    /// While a reply is being streamed its figures are placeholders, and its `stop_reason` is null. A reply with
    /// a `stop_reason` was not streamed, and its figures are final.
    fn final_usage(&mut self, message: &Object<'_>, sub: bool, scribe: &mut Scribe) {
        if sub || message.is("model", "<synthetic>") {
            return;
        }
        let mut usage = turn::usage(&message.object("usage"));
        usage.key = message.str("id").map(Id::from);
        usage.model = message.filled("model");
        match message.get("stop_reason") {
            Some(_) => self.books.reply(usage, scribe),
            None => self.books.began(usage),
        }
    }

    fn block(&mut self, reply: Option<&Id>, block: Json<'_>, sub: bool, scribe: &mut Scribe) {
        let fields = block.object();
        if let Some((kind, text)) = shown(&fields) {
            return self.text_block(reply, kind, text, sub, scribe);
        }
        match fields.str("type").as_deref() {
            Some("tool_use" | "server_tool_use" | "mcp_tool_use") => self.tool_use(reply, &fields, scribe),
            Some(kind) if kind.ends_with("_tool_result") => server_result(&fields, scribe),
            _ => self.complete(reply, finished(block, &fields), scribe),
        }
    }

    fn complete(&mut self, reply: Option<&Id>, mut item: Item, scribe: &mut Scribe) {
        let id = self.block_id(reply, scribe);
        item.reply = reply.cloned();
        scribe.item_completed(&id, item);
    }

    fn text_block(&mut self, reply: Option<&Id>, kind: Shown, text: String, sub: bool, scribe: &mut Scribe) {
        let item = |text: String| {
            let item = match kind {
                Shown::Text => Item::new(AgentMessage::text(text)),
                Shown::Thinking => Item::new(Reasoning { text: Some(text), ..Reasoning::default() }),
            };
            Item { reply: reply.cloned(), ..item }
        };
        if !sub {
            if kind == Shown::Text {
                self.mark_said();
            }
            match self.stream.claim(reply.map(|r| &**r), kind, &text, scribe) {
                Claim::Open(id) => return scribe.item_completed(&id, item(text)),
                Claim::Closed => return scribe.notice(Notice::new(Topic::Echo).with_name("assistant")),
                Claim::None => {}
            }
            if let Some(id) = self.stream.abandoned.take_beginning_of(kind, &text, scribe) {
                return scribe.item_completed(&id, item(text));
            }
        }
        self.complete(reply, item(text), scribe);
    }

    fn tool_use(&mut self, reply: Option<&Id>, block: &Object<'_>, scribe: &mut Scribe) {
        let name = block.str("name").unwrap_or_default();
        let id = match block.str("id") {
            Some(id) => Id::from(id),
            None => self.make_up("tool", scribe),
        };
        // A subagent's call is seen after it was allowed, perhaps with another input.
        let changed = self.asks.changed(&id);
        let input = changed.as_deref().map(Json::of).or(block.get("input"));
        let mut item = items::item(&name, input, &self.todos, scribe);
        item.reply = reply.cloned();
        if let Details::Subagent(subagent) = &mut item.details {
            subagent.thread = self.tasks.of_call(&id);
        }
        scribe.item_started(&id, item);
    }

    /// Blocks of a reply that was not streamed are numbered as they come.
    fn block_id(&mut self, reply: Option<&Id>, scribe: &Scribe) -> Id {
        let Some(reply) = reply else { return self.make_up("block", scribe) };
        let number = match &self.blocks {
            Some((last, number)) if last == reply => number + 1,
            _ => 0,
        };
        self.blocks = Some((reply.clone(), number));
        // A streamed reply numbers its blocks by index; what was not streamed of it must not take the same id.
        let streamed = self.stream.reply.as_ref() == Some(reply);
        Id::from(if streamed { format!("{reply}.b{number}") } else { format!("{reply}.{number}") })
    }
}

/// A block that is neither text nor about a tool.
pub fn finished(block: Json<'_>, fields: &Object<'_>) -> Item {
    match fields.str("type").as_deref() {
        Some("redacted_thinking") => Item::new(Reasoning { redacted: true, ..Reasoning::default() }),
        Some("refusal") => {
            let text = fields.string("refusal").unwrap_or_default();
            Item::new(AgentMessage { refusal: true, ..AgentMessage::text(text) })
        }
        Some("code" | "image") => {
            let content = piece(fields).into_iter().collect();
            Item::new(AgentMessage { content, ..AgentMessage::default() })
        }
        kind => Item::new(Unknown { name: kind.unwrap_or("unknown").to_owned(), raw: Some(block.to_raw()) }),
    }
}

/// The result of a tool that the provider runs itself.
pub fn server_result(block: &Object<'_>, scribe: &mut Scribe) {
    let id = block.str("tool_use_id").unwrap_or_default();
    let Some(item) = scribe.item(&id).cloned() else {
        return scribe.notice(Notice::new(Topic::Late).with_name("tool_result"));
    };
    let item = results::of_server(item, block.get("content"));
    scribe.item_completed(&Id::from(id), item);
}

/// An image or a piece of code as content.
pub fn piece(block: &Object<'_>) -> Option<Content> {
    let source = block.object("source");
    match block.str("type").as_deref()? {
        "text" => Some(Content::text(block.string("text").unwrap_or_default())),
        "code" => Some(Content {
            kind: ContentType::Code,
            text: block.string("code").or_else(|| block.string("text")),
            language: block.filled("language"),
            ..Content::default()
        }),
        "image" | "document" => Some(Content {
            kind: if block.is("type", "image") { ContentType::Image } else { ContentType::File },
            media_type: source.filled("media_type"),
            data: source.filled("data"),
            url: source.filled("url"),
            ..Content::default()
        }),
        _ => None,
    }
}
