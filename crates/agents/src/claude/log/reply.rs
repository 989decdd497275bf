//! `assistant`: one block of a reply, or several.

use switchboard_event::{AgentMessage, Details, ErrorCode, Fault, Id, Item, Level, Notice, Reasoning, Stop, Topic};

use super::{
    super::{
        assistant::{finished, server_result},
        errors, items,
        stream::{Shown, blocks, shown},
        user,
    },
    figures,
    read::Log,
    threads::Thread,
};
use crate::{Json, Object, Scribe};

/// How old versions say that no more can be used until a time, in seconds, behind a bar.
const LIMIT: &str = "Claude AI usage limit reached|";

impl Log {
    /// `assistant`.
    pub(super) fn assistant(&mut self, fields: &Object<'_>, thread: Option<&Thread>, scribe: &mut Scribe) {
        let message = fields.object("message");
        let (id, request, record) = (message.str("id"), fields.str("requestId"), fields.str("uuid"));
        let name = figures::name(id.as_deref(), request.as_deref(), record.as_deref());
        self.replies.over(thread.map(|thread| &thread.id), name.as_deref(), scribe);
        self.ensure_turn(fields, scribe);
        self.place(fields, thread, scribe);
        if message.is("model", "<synthetic>") {
            return self.synthetic(fields, &message, thread.is_none(), scribe);
        }
        let reply = name.map(Id::from);
        self.count(fields, reply.as_ref(), thread, scribe);
        if reply.is_some() && reply != self.last_reply && thread.is_none() {
            (self.last_reply, self.steps) = (reply.clone(), self.steps + 1);
        }
        // A subagent's answer is the end of a log that is the subagent's alone.
        self.stop = match message.str("stop_reason") {
            Some(reason) => {
                self.tells_stop = true;
                stop(&reason)
            }
            // Up to 2.1.29 no reply says why it stopped. One that calls no tool is the last of its turn.
            None if self.tells_stop || fields.is_true("isAbortedMidStream") => None,
            None => is_text_last(&message).then_some(Stop::EndTurn),
        };
        self.reply_model = thread.and_then(|_| message.filled("model"));
        let blocks = blocks(message.get("content"));
        let mut text = Some(joined_text(&blocks));
        for block in blocks {
            match (shown(&block.object()), &reply) {
                (Some((Shown::Text, _)), _) if text.is_some() => {
                    self.say(reply.as_ref(), text.take().unwrap_or_default(), scribe);
                }
                // Its text is part of the first block's message. It is numbered so that the ids of later blocks stay the same.
                (Some((Shown::Text, _)), Some(reply)) => drop(self.number(reply)),
                (Some((Shown::Text, _)), None) => {}
                _ => self.block(reply.as_ref(), block, scribe),
            }
        }
        if let Some(text) = message.str("content").filter(|text| !text.is_empty()) {
            self.say(reply.as_ref(), text.into_owned(), scribe);
        }
        scribe.otherwise(Notice::new(Topic::Status).with_name("assistant"));
    }

    /// The record is the end of an answer: several blocks of one say why it stopped, and its text is the last of them.
    pub(super) fn is_answer(&self, fields: &Object<'_>) -> bool {
        let message = fields.object("message");
        let is_text = |block: &Json<'_>| block.object().is("type", "text");
        let speaks = || message.str("content").is_some() || blocks(message.get("content")).iter().any(is_text);
        (self.stop.is_some() || self.fault.is_some()) && speaks()
    }

    /// Counts a reply before what it says is told, so that its tokens can stand there.
    fn count(&mut self, fields: &Object<'_>, reply: Option<&Id>, thread: Option<&Thread>, scribe: &mut Scribe) {
        let message = fields.object("message");
        let model = message.filled("model");
        self.uses(model.clone(), thread.is_none(), scribe);
        let Some(mut usage) = figures::usage(&message) else { return };
        let (session, at) = (fields.str("sessionId"), fields.str("timestamp"));
        let nameless = || Id::from(figures::nameless(session.as_deref(), at.as_deref(), &usage));
        let key = reply.cloned().unwrap_or_else(nameless);
        (usage.key, usage.model) = (Some(key), model);
        // Nothing can be told to belong to a reply without an id, so it is whole.
        let is_final = reply.is_none() || message.get("stop_reason").is_some();
        if let Some(usage) = self.replies.see(thread.map(|thread| &thread.id), usage, is_final) {
            scribe.usage(usage);
        }
    }

    /// What Claude Code says in the model's place: mostly that something went wrong.
    fn synthetic(&mut self, fields: &Object<'_>, message: &Object<'_>, is_main: bool, scribe: &mut Scribe) {
        let text = user::text_of(&user::contents(message.get("content")));
        let error = fields.str("error").or_else(|| fields.str("apiError")).unwrap_or_default();
        if !fields.is_true("isApiErrorMessage") && error.is_empty() {
            self.stop = Some(Stop::EndTurn);
            return scribe.notice(Notice::new(Topic::Status).with_name("synthetic").with_text(text));
        }
        let fault = fault(&error, &text, fields);
        let topic = if fault.code == ErrorCode::RateLimit { Topic::RateLimit } else { Topic::Warning };
        let notice = Notice::new(topic).with_level(Level::Error).with_text(fault.message.clone());
        scribe.notice(Notice { error: Some(fault.clone()), ..notice });
        if is_main {
            self.fault = Some(fault);
        }
    }

    fn block(&mut self, reply: Option<&Id>, block: Json<'_>, scribe: &mut Scribe) {
        let fields = block.object();
        match (shown(&fields), fields.str("type").as_deref()) {
            (Some((Shown::Text, text)), _) => self.say(reply, text, scribe),
            (Some((Shown::Thinking, text)), _) => {
                // Newer models keep their thoughts to themselves, and only sign them.
                let redacted = text.is_empty();
                let text = Some(text).filter(|text| !text.is_empty());
                self.finish(reply, Item::new(Reasoning { text, redacted, ..Reasoning::default() }), scribe);
            }
            (None, Some("tool_use" | "server_tool_use" | "mcp_tool_use")) => self.call(reply, &fields, scribe),
            (None, Some(kind)) if kind.ends_with("_tool_result") => server_result(&fields, scribe),
            (None, _) => self.finish(reply, finished(block, &fields), scribe),
        }
    }

    fn say(&mut self, reply: Option<&Id>, text: String, scribe: &mut Scribe) {
        self.finish(reply, Item::new(AgentMessage::text(text)), scribe);
    }

    fn finish(&mut self, reply: Option<&Id>, mut item: Item, scribe: &mut Scribe) {
        let id = match reply {
            Some(reply) => Id::from(format!("{reply}.{}", self.number(reply))),
            None => self.make_up("block", scribe),
        };
        (item.reply, item.model) = (reply.cloned(), self.reply_model.clone());
        scribe.item_completed(&id, item);
    }

    fn number(&mut self, reply: &Id) -> u32 {
        let number = match &self.blocks {
            Some((last, number)) if last == reply => number + 1,
            _ => 0,
        };
        self.blocks = Some((reply.clone(), number));
        number
    }

    fn call(&mut self, reply: Option<&Id>, block: &Object<'_>, scribe: &mut Scribe) {
        let name = block.str("name").unwrap_or_default();
        let id = block.filled("id").map(Id::from).unwrap_or_else(|| self.make_up("tool", scribe));
        let mut item = items::item(&name, block.get("input"), &self.todos, scribe);
        (item.reply, item.model) = (reply.cloned(), self.reply_model.clone());
        scribe.item_started(&id, item);
    }

    /// A call was answered; true if it was known.
    pub(super) fn answered(&mut self, id: &Id, structured: Option<Json<'_>>, mut item: Item, scribe: &mut Scribe) {
        let fields = structured.map(Json::object).unwrap_or_default();
        match &mut item.details {
            Details::Plan(plan) => {
                let call = item.call.as_deref();
                self.todos.learn(call, structured, plan);
            }
            Details::Subagent(subagent) => {
                subagent.thread = fields.filled("agentId").map(|agent| self.threads.works_for(&agent, id).id);
                item.duration_ms = fields.u64("totalDurationMs");
            }
            _ => item.duration_ms = fields.u64("durationMs"),
        }
        let (reply, is_command) = (item.reply.clone(), matches!(item.details, Details::Command(_)));
        scribe.item_completed(id, item);
        if is_command {
            user::complete_changed_files(id, reply, structured, scribe);
        }
    }
}

/// The message ends with what Claude says.
fn is_text_last(message: &Object<'_>) -> bool {
    let is_text = |block: &Json<'_>| block.object().is("type", "text");
    message.str("content").is_some() || blocks(message.get("content")).last().is_some_and(is_text)
}

/// What the text blocks of a record say together.
fn joined_text(blocks: &[Json<'_>]) -> String {
    let texts = blocks.iter().filter_map(|block| match shown(&block.object()) {
        Some((Shown::Text, text)) => Some(text),
        _ => None,
    });
    texts.collect()
}

/// Why a reply stopped. One that calls a tool, or does not say, is not the last of the turn.
fn stop(reason: &str) -> Option<Stop> {
    match reason {
        "tool_use" | "pause_turn" => None,
        "max_tokens" | "model_context_window_exceeded" => Some(Stop::MaxTokens),
        "refusal" => Some(Stop::Refusal),
        _ => Some(Stop::EndTurn),
    }
}

fn fault(error: &str, text: &str, fields: &Object<'_>) -> Fault {
    let status = fields.status("apiErrorStatus");
    if let Some(reset) = text.strip_prefix(LIMIT) {
        let message = format!("the usage limit is reached until {}", until(reset));
        return Fault::new(ErrorCode::RateLimit, message).with_info(reset);
    }
    let cause = fields.str("apiError").unwrap_or_default();
    let fault = errors::of_reply(error, &cause, text);
    match (fault.code, status) {
        (ErrorCode::ApiError, Some(status)) => {
            Fault { code: ErrorCode::from_http_status(status), ..fault }.with_status(Some(status))
        }
        _ => fault.with_status(status),
    }
}

/// A time in seconds since 1970 as people write it.
fn until(seconds: &str) -> String {
    let at = seconds.trim().parse().ok().and_then(switchboard_event::Timestamp::from_seconds);
    at.map_or_else(|| seconds.to_owned(), |at| at.to_string())
}
