//! `assistant` records: one or more blocks of a reply.

use switchboard_event::{AgentMessage, Details, ErrorCode, Fault, Id, Item, Level, Notice, Reasoning, Stop, Topic};

use super::{SubagentThread, reader::ClaudeLogReader, replies};
use crate::{
    JsonObject, JsonView, RunRecorder,
    claude::{
        abandoned::TextBlockKind,
        errors, items,
        messages::{self, ReplyOrigin, complete_server_tool, other_block_item},
        stream::{content_blocks, parse_text_block},
    },
};

/// How old versions report a usage limit; the reset time in seconds follows the bar.
const USAGE_LIMIT_PREFIX: &str = "Claude AI usage limit reached|";

impl ClaudeLogReader {
    pub(super) fn read_assistant(
        &mut self,
        fields: &JsonObject<'_>,
        thread: Option<&SubagentThread>,
        recorder: &mut RunRecorder,
    ) {
        let message = fields.get_object("message");
        let (id, request, record) = (message.get_str("id"), fields.get_str("requestId"), fields.get_str("uuid"));
        let name = replies::reply_name(id.as_deref(), request.as_deref(), record.as_deref());
        self.replies.finish_replies(thread.map(|thread| &thread.id), name.as_deref(), recorder);
        self.ensure_turn(fields, recorder);
        self.enter_record(fields, thread, recorder);
        if message.str_equals("model", "<synthetic>") {
            return self.read_synthetic(fields, &message, thread.is_none(), recorder);
        }
        let reply = name.map(Id::from);
        self.count_reply(fields, reply.as_ref(), thread, recorder);
        if reply.is_some() && reply != self.last_reply && thread.is_none() {
            (self.last_reply, self.steps) = (reply.clone(), self.steps + 1);
        }
        // A subagent's answer ends a log that belongs to the subagent alone.
        self.stop = match message.get_str("stop_reason") {
            Some(parse_decline_reason) => {
                self.tells_stop = true;
                parse_stop(&parse_decline_reason)
            }
            // Up to 2.1.29 replies have no stop reason. One without a tool call is the last of its turn.
            None if self.tells_stop || fields.is_true("isAbortedMidStream") => None,
            None => is_text_last(&message).then_some(Stop::EndTurn),
        };
        self.reply_model = thread.and_then(|_| message.get_non_empty("model"));
        let blocks = content_blocks(message.get("content"));
        let mut text = Some(joined_text(&blocks));
        for block in blocks {
            match (parse_text_block(&block.as_object()), &reply) {
                (Some((TextBlockKind::Text, _)), _) if text.is_some() => {
                    self.write_message(reply.as_ref(), text.take().unwrap_or_default(), recorder);
                }
                // Its text is part of the first block's message. It is numbered so that the ids of later blocks stay
                // the same.
                (Some((TextBlockKind::Text, _)), Some(reply)) => drop(self.next_block_number(reply)),
                (Some((TextBlockKind::Text, _)), None) => {}
                _ => self.read_block(reply.as_ref(), block, recorder),
            }
        }
        if let Some(text) = message.get_str("content").filter(|text| !text.is_empty()) {
            self.write_message(reply.as_ref(), text.into_owned(), recorder);
        }
        recorder.write_notice_if_no_event(Notice::new(Topic::Status).with_name("assistant"));
    }

    /// Returns whether the record ends an answer: several blocks of a reply carry its stop reason, and the text is the
    /// last of them.
    pub(super) fn is_answer(&self, fields: &JsonObject<'_>) -> bool {
        let message = fields.get_object("message");
        let is_text = |block: &JsonView<'_>| block.as_object().str_equals("type", "text");
        let speaks =
            || message.get_str("content").is_some() || content_blocks(message.get("content")).iter().any(is_text);
        (self.stop.is_some() || self.fault.is_some()) && speaks()
    }

    /// Counts a reply before its content is written, so that clients can show its tokens there.
    fn count_reply(
        &mut self,
        fields: &JsonObject<'_>,
        reply: Option<&Id>,
        thread: Option<&SubagentThread>,
        recorder: &mut RunRecorder,
    ) {
        let message = fields.get_object("message");
        let model = message.get_non_empty("model");
        self.set_model(model.clone(), thread.is_none(), recorder);
        let Some(mut usage) = replies::message_usage(&message) else { return };
        let (session, at) = (fields.get_str("sessionId"), fields.get_str("timestamp"));
        let nameless = || Id::from(replies::reply_fingerprint(session.as_deref(), at.as_deref(), &usage));
        let key = reply.cloned().unwrap_or_else(nameless);
        (usage.key, usage.model) = (Some(key), model);
        // No other record can be attributed to a reply without an id, so it is complete.
        let is_final = reply.is_none() || message.get("stop_reason").is_some();
        if let Some(usage) = self.replies.observe_usage(thread.map(|thread| &thread.id), usage, is_final) {
            recorder.record_usage(usage);
        }
    }

    /// Reads a message that Claude Code wrote in the model's place: usually an error.
    fn read_synthetic(
        &mut self,
        fields: &JsonObject<'_>,
        message: &JsonObject<'_>,
        is_main: bool,
        recorder: &mut RunRecorder,
    ) {
        let text = messages::contents_text(&messages::parse_contents(message.get("content")));
        let error = fields.get_str("error").or_else(|| fields.get_str("apiError")).unwrap_or_default();
        if !fields.is_true("isApiErrorMessage") && error.is_empty() {
            self.stop = Some(Stop::EndTurn);
            return recorder.write_notice(Notice::new(Topic::Status).with_name("synthetic").with_text(text));
        }
        let fault = synthetic_fault(&error, &text, fields);
        let topic = if fault.code == ErrorCode::RateLimit { Topic::RateLimit } else { Topic::Warning };
        let notice = Notice::new(topic).with_level(Level::Error).with_text(fault.message.clone());
        recorder.write_notice(Notice { error: Some(fault.clone()), ..notice });
        if is_main {
            self.fault = Some(fault);
        }
    }

    fn read_block(&mut self, reply: Option<&Id>, block: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = block.as_object();
        match (parse_text_block(&fields), fields.get_str("type").as_deref()) {
            (Some((TextBlockKind::Text, text)), _) => self.write_message(reply, text, recorder),
            (Some((TextBlockKind::Thinking, text)), _) => {
                // Newer models do not reveal their reasoning and only sign it.
                let redacted = text.is_empty();
                let text = Some(text).filter(|text| !text.is_empty());
                self.complete_block(reply, Item::new(Reasoning { text, redacted, ..Reasoning::default() }), recorder);
            }
            (None, Some("tool_use" | "server_tool_use" | "mcp_tool_use")) => {
                self.start_tool_call(reply, &fields, recorder)
            }
            (None, Some(kind)) if kind.ends_with("_tool_result") => complete_server_tool(&fields, recorder),
            (None, _) => self.complete_block(reply, other_block_item(block, &fields), recorder),
        }
    }

    fn write_message(&mut self, reply: Option<&Id>, text: String, recorder: &mut RunRecorder) {
        self.complete_block(reply, Item::new(AgentMessage::text(text)), recorder);
    }

    fn complete_block(&mut self, reply: Option<&Id>, mut item: Item, recorder: &mut RunRecorder) {
        let id = match reply {
            Some(reply) => Id::from(format!("{reply}.{}", self.next_block_number(reply))),
            None => self.generate_id("block", recorder),
        };
        (item.reply, item.model) = (reply.cloned(), self.reply_model.clone());
        recorder.item_completed(&id, item);
    }

    fn next_block_number(&mut self, reply: &Id) -> u32 {
        let number = match &self.blocks {
            Some((last, number)) if last == reply => number + 1,
            _ => 0,
        };
        self.blocks = Some((reply.clone(), number));
        number
    }

    fn start_tool_call(&mut self, reply: Option<&Id>, block: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let name = block.get_str("name").unwrap_or_default();
        let id = block.get_non_empty("id").map(Id::from).unwrap_or_else(|| self.generate_id("tool", recorder));
        let mut item = items::tool_item(&name, block.get("input"), &self.todos, recorder);
        (item.reply, item.model) = (reply.cloned(), self.reply_model.clone());
        recorder.item_started(&id, item);
    }

    /// Completes a tool call with its result.
    pub(super) fn complete_tool_call(
        &mut self,
        id: &Id,
        structured: Option<JsonView<'_>>,
        mut item: Item,
        recorder: &mut RunRecorder,
    ) {
        let fields = structured.map(JsonView::as_object).unwrap_or_default();
        match &mut item.details {
            Details::Plan(plan) => {
                let call = item.call.as_deref();
                self.todos.apply_result(call, structured, plan);
            }
            Details::Subagent(subagent) => {
                subagent.thread =
                    fields.get_non_empty("agentId").map(|find_agent| self.threads.assign_call(&find_agent, id).id);
                item.duration_ms = fields.get_u64("totalDurationMs");
            }
            _ => item.duration_ms = fields.get_u64("durationMs"),
        }
        let (origin, is_command) = (ReplyOrigin::of_item(&item), matches!(item.details, Details::Command(_)));
        recorder.item_completed(id, item);
        if is_command {
            messages::complete_changed_files(id, &origin, structured, recorder);
        }
    }
}

fn is_text_last(message: &JsonObject<'_>) -> bool {
    let is_text = |block: &JsonView<'_>| block.as_object().str_equals("type", "text");
    message.get_str("content").is_some() || content_blocks(message.get("content")).last().is_some_and(is_text)
}

/// Joins the text blocks of a record.
fn joined_text(blocks: &[JsonView<'_>]) -> String {
    let texts = blocks.iter().filter_map(|block| match parse_text_block(&block.as_object()) {
        Some((TextBlockKind::Text, text)) => Some(text),
        _ => None,
    });
    texts.collect()
}

/// Maps a stop reason. A reply that calls a tool is not the last of its turn.
fn parse_stop(reason: &str) -> Option<Stop> {
    match reason {
        "tool_use" | "pause_turn" => None,
        "max_tokens" | "model_context_window_exceeded" => Some(Stop::MaxTokens),
        "refusal" => Some(Stop::Refusal),
        _ => Some(Stop::EndTurn),
    }
}

fn synthetic_fault(error: &str, text: &str, fields: &JsonObject<'_>) -> Fault {
    let status = fields.get_http_status("apiErrorStatus");
    if let Some(reset) = text.strip_prefix(USAGE_LIMIT_PREFIX) {
        let message = format!("the usage limit is reached until {}", format_reset_time(reset));
        return Fault::new(ErrorCode::RateLimit, message).with_info(reset);
    }
    let cause = fields.get_str("apiError").unwrap_or_default();
    let fault = errors::reply_fault(error, &cause, text);
    match (fault.code, status) {
        (ErrorCode::ApiError, Some(status)) => {
            Fault { code: ErrorCode::from_http_status(status), ..fault }.with_status(Some(status))
        }
        _ => fault.with_status(status),
    }
}

/// Formats a Unix timestamp in seconds.
fn format_reset_time(seconds: &str) -> String {
    let at = seconds.trim().parse().ok().and_then(switchboard_event::Timestamp::from_seconds);
    at.map_or_else(|| seconds.to_owned(), |at| at.to_string())
}
