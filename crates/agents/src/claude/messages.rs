//! `assistant` records, with finished blocks of a reply, and `user` records: messages to Claude, and tool results under the same
//! name.

use switchboard_event::{
    AgentMessage, Content, ContentType, Details, FileChange, Id, Item, Level, Notice, Origin, Reasoning, Topic,
    TurnStarted, Unknown, UserMessage,
};

use super::abandoned::TextBlockKind;
use super::{
    ClaudeStreamReader, errors, items, record_timestamp,
    stream::{BlockClaim, content_blocks, parse_text_block},
    turn,
};
use crate::{JsonObject, JsonView, RunRecorder};

/// The reply of the model that a block belongs to.
pub struct ReplyOrigin {
    pub reply: Option<Id>,
    pub model: Option<String>,
}

impl ReplyOrigin {
    /// Returns the origin of an item.
    pub fn of_item(item: &Item) -> Self {
        Self { reply: item.reply.clone(), model: item.model.clone() }
    }

    fn attribute_item(&self, item: Item) -> Item {
        Item { reply: self.reply.clone(), model: self.model.clone(), ..item }
    }
}

/// Returns the model that wrote a message; none if Claude Code wrote it itself.
pub fn reply_model(message: &JsonObject<'_>) -> Option<String> {
    message.get_non_empty("model").filter(|model| model != "<synthetic>")
}

impl ClaudeStreamReader {
    pub(super) fn read_assistant(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let sub = self.enter_subagent(fields, recorder);
        if !sub {
            self.ensure_turn(recorder);
            self.waiting.mark_model_called();
        }
        let message = fields.get_object("message");
        if let Some(error) = fields.get_str("error") {
            return self.read_failed_reply(&error, fields, recorder);
        }
        let origin = ReplyOrigin { reply: message.get_str("id").map(Id::from), model: reply_model(&message) };
        if !sub && self.stream.reply != origin.reply {
            self.stream.break_off(recorder);
        }
        for block in content_blocks(message.get("content")) {
            self.read_block(&origin, block, sub, recorder);
        }
        if let Some(text) = message.get_str("content") {
            self.read_text_block(&origin, TextBlockKind::Text, text.into_owned(), sub, recorder);
        }
        if fields.contains_key("supersedes") {
            let notice = Notice::new(Topic::Retracted).with_name("supersedes");
            recorder.write_notice(Notice { detail: fields.get_raw("supersedes"), ..notice });
        }
        self.record_final_usage(&message, sub, recorder);
    }

    /// Claude Code reports some errors in the form of a reply. They are recorded as errors, not as messages.
    fn read_failed_reply(&mut self, error: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let content = fields.get_object("message").get("content");
        let text: Vec<_> = content_blocks(content).iter().filter_map(|b| b.as_object().get_string("text")).collect();
        let cause = fields.get_str("api_error").unwrap_or_default();
        let fault = errors::reply_fault(error, &cause, &text.join("\n"));
        let notice = Notice::new(Topic::Warning).with_level(Level::Error).with_text(fault.message.clone());
        recorder.write_notice(Notice { error: Some(fault.clone()), ..notice });
        self.fault = Some(fault);
    }

    /// While a reply is streamed, its figures are placeholders and its `stop_reason` is null. A reply with a
    /// `stop_reason` was not streamed, and its figures are final.
    fn record_final_usage(&mut self, message: &JsonObject<'_>, sub: bool, recorder: &mut RunRecorder) {
        if sub || message.str_equals("model", "<synthetic>") {
            return;
        }
        let mut usage = turn::parse_usage(&message.get_object("usage"));
        usage.key = message.get_str("id").map(Id::from);
        usage.model = message.get_non_empty("model");
        match message.get("stop_reason") {
            Some(_) => self.books.count_reply(usage, recorder),
            None => self.books.set_placeholder(usage),
        }
    }

    fn read_block(&mut self, origin: &ReplyOrigin, block: JsonView<'_>, sub: bool, recorder: &mut RunRecorder) {
        let fields = block.as_object();
        if let Some((kind, text)) = parse_text_block(&fields) {
            return self.read_text_block(origin, kind, text, sub, recorder);
        }
        match fields.get_str("type").as_deref() {
            Some("tool_use" | "server_tool_use" | "mcp_tool_use") => self.start_tool_call(origin, &fields, recorder),
            Some(kind) if kind.ends_with("_tool_result") => complete_server_tool(&fields, recorder),
            _ => self.complete_block(origin, other_block_item(block, &fields), recorder),
        }
    }

    fn complete_block(&mut self, origin: &ReplyOrigin, item: Item, recorder: &mut RunRecorder) {
        let id = self.next_block_id(origin.reply.as_ref(), recorder);
        recorder.item_completed(&id, origin.attribute_item(item));
    }

    fn read_text_block(
        &mut self,
        origin: &ReplyOrigin,
        kind: TextBlockKind,
        text: String,
        sub: bool,
        recorder: &mut RunRecorder,
    ) {
        let item = |text: String| {
            origin.attribute_item(match kind {
                TextBlockKind::Text => Item::new(AgentMessage::text(text)),
                TextBlockKind::Thinking => Item::new(Reasoning { text: Some(text), ..Reasoning::default() }),
            })
        };
        if !sub {
            if kind == TextBlockKind::Text {
                self.mark_spoken();
            }
            match self.stream.claim_block(origin.reply.as_deref(), kind, &text, recorder) {
                BlockClaim::Open(id) => return recorder.item_completed(&id, item(text)),
                BlockClaim::Closed => return recorder.write_notice(Notice::new(Topic::Echo).with_name("assistant")),
                BlockClaim::None => {}
            }
            if let Some(id) = self.stream.abandoned.take_prefix_of(kind, &text, recorder) {
                return recorder.item_completed(&id, item(text));
            }
        }
        self.complete_block(origin, item(text), recorder);
    }

    fn start_tool_call(&mut self, origin: &ReplyOrigin, block: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let name = block.get_str("name").unwrap_or_default();
        let id = match block.get_str("id") {
            Some(id) => Id::from(id),
            None => self.generate_id("tool", recorder),
        };
        // A subagent's call appears after its approval, possibly with another input.
        let changed = self.asks.take_changed_input(&id);
        let input = changed.as_deref().map(JsonView::from_raw).or(block.get("input"));
        let mut item = origin.attribute_item(items::tool_item(&name, input, &self.todos, recorder));
        if let Details::Subagent(subagent) = &mut item.details {
            subagent.thread = self.tasks.task_of_call(&id);
        }
        recorder.item_started(&id, item);
    }

    /// Blocks of a reply that was not streamed are numbered in order of arrival.
    fn next_block_id(&mut self, reply: Option<&Id>, recorder: &RunRecorder) -> Id {
        let Some(reply) = reply else { return self.generate_id("block", recorder) };
        let number = match &self.blocks {
            Some((last, number)) if last == reply => number + 1,
            _ => 0,
        };
        self.blocks = Some((reply.clone(), number));
        // A streamed reply numbers its blocks by index; blocks of it that were not streamed must not get the same ids.
        let streamed = self.stream.reply.as_ref() == Some(reply);
        Id::from(if streamed { format!("{reply}.b{number}") } else { format!("{reply}.{number}") })
    }
}

/// The item of a block that is neither text nor related to a tool.
pub fn other_block_item(block: JsonView<'_>, fields: &JsonObject<'_>) -> Item {
    match fields.get_str("type").as_deref() {
        Some("redacted_thinking") => Item::new(Reasoning { redacted: true, ..Reasoning::default() }),
        Some("refusal") => {
            let text = fields.get_string("refusal").unwrap_or_default();
            Item::new(AgentMessage { refusal: true, ..AgentMessage::text(text) })
        }
        Some("code" | "image") => {
            let content = parse_content_block(fields).into_iter().collect();
            Item::new(AgentMessage { content, ..AgentMessage::default() })
        }
        kind => Item::new(Unknown { name: kind.unwrap_or("unknown").to_owned(), raw: Some(block.to_raw()) }),
    }
}

/// Completes a tool that the provider runs itself.
pub fn complete_server_tool(block: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let id = block.get_str("tool_use_id").unwrap_or_default();
    let Some(item) = recorder.open_item(&id).cloned() else {
        return recorder.write_notice(Notice::new(Topic::Late).with_name("tool_result"));
    };
    let item = items::apply_server_result(item, block.get("content"));
    recorder.item_completed(&Id::from(id), item);
}

/// Parses text, an image or a piece of code as content.
pub fn parse_content_block(block: &JsonObject<'_>) -> Option<Content> {
    let source = block.get_object("source");
    match block.get_str("type").as_deref()? {
        "text" => Some(Content::text(block.get_string("text").unwrap_or_default())),
        "code" => Some(Content {
            kind: ContentType::Code,
            text: block.get_string("code").or_else(|| block.get_string("text")),
            language: block.get_non_empty("language"),
            ..Content::default()
        }),
        "image" | "document" => Some(Content {
            kind: if block.str_equals("type", "image") { ContentType::Image } else { ContentType::File },
            media_type: source.get_non_empty("media_type"),
            data: source.get_non_empty("data"),
            url: source.get_non_empty("url"),
            ..Content::default()
        }),
        _ => None,
    }
}

impl ClaudeStreamReader {
    /// Reads a `user` record sent to Claude Code: a prompt.
    pub(super) fn read_prompt(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let content = message_contents(fields);
        let text = contents_text(&content);
        // The prompt is stored without a turn: Claude Code answers with an empty result at once.
        let queued = recorder.in_turn();
        let id = fields.get_non_empty("uuid").map(Id::from).unwrap_or_else(|| self.generate_id("prompt", recorder));
        if queued {
            self.waiting.push(&id, text);
        } else {
            self.begin_turn(Origin::Prompt, Some(text), recorder);
        }
        recorder.item_completed(&id, Item::new(UserMessage { content, synthetic: false, queued }));
    }

    /// Reads a `user` record from Claude Code.
    pub(super) fn read_user(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        // An echo has the time at which the prompt was sent, which may be long past.
        if !fields.is_true("isReplay") {
            recorder.set_record_time(record_timestamp(fields));
        }
        let sub = self.enter_subagent(fields, recorder);
        let message = fields.get_object("message");
        let results: Vec<_> = content_blocks(message.get("content"))
            .into_iter()
            .map(JsonView::as_object)
            .filter(|block| block.str_equals("type", "tool_result"))
            .collect();
        if !results.is_empty() && !sub && !recorder.is_interrupted() {
            self.waiting.mark_results_sent();
        }
        for block in &results {
            self.read_tool_result(block, fields, recorder);
        }
        if results.is_empty() {
            self.read_user_text(fields, sub, recorder);
        }
    }

    fn read_user_text(&mut self, fields: &JsonObject<'_>, sub: bool, recorder: &mut RunRecorder) {
        let content = message_contents(fields);
        let text = contents_text(&content);
        if text.starts_with("[Request interrupted by user") {
            recorder.mark_interrupted();
            return recorder.write_notice(Notice::new(Topic::Interrupt).with_text(text));
        }
        // With `--replay-user-messages` prompts come back; so does the output of local commands.
        let echo =
            fields.is_true("isReplay") && (self.is_own_text(&text, recorder) || text.starts_with("<local-command"));
        if echo {
            return recorder.write_notice(Notice::new(Topic::Echo).with_text(text));
        }
        let synthetic = sub || fields.is_true("isSynthetic") || fields.contains_key("origin");
        let id = fields.get_non_empty("uuid").map(Id::from).unwrap_or_else(|| self.generate_id("message", recorder));
        recorder.item_completed(&id, Item::new(UserMessage { content, synthetic, queued: false }));
    }

    /// Returns whether Switchboard sent this text.
    fn is_own_text(&self, text: &str, recorder: &RunRecorder) -> bool {
        self.books.prompt.as_deref() == Some(text)
            || self.waiting.contains(text)
            || recorder.session_context().prompt.as_deref() == Some(text)
    }

    fn read_tool_result(&mut self, block: &JsonObject<'_>, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let id = block.get_str("tool_use_id").unwrap_or_default();
        let structured = fields.get("tool_use_result");
        let refused = errors::is_call_refused(fields, &id).or(self.asks.take_denied(&id).then_some(true));
        let Some(item) = recorder.open_item(&id).cloned() else {
            return recorder.write_notice(Notice::new(Topic::Late).with_name("tool_result"));
        };
        let mut item = items::apply_tool_result(item, block, structured, refused, recorder);
        let origin = ReplyOrigin::of_item(&item);
        let is_command = matches!(item.details, Details::Command(_));
        if let Details::Plan(plan) = &mut item.details {
            let call = item.call.as_deref();
            self.todos.apply_result(call, structured, plan);
        }
        let id = Id::from(id);
        recorder.item_completed(&id, item);
        if is_command {
            complete_changed_files(&id, &origin, structured, recorder);
        }
    }

    pub(super) fn begin_turn(&mut self, origin: Origin, prompt: Option<String>, recorder: &mut RunRecorder) {
        self.books.begin_turn(prompt.clone());
        self.forget_turn();
        recorder.turn_started(TurnStarted { origin, prompt, agent_turn: None });
        self.books.count_early_replies(recorder);
    }

    /// Begins a turn if none is open: Claude Code works without an announced reason.
    pub(super) fn ensure_turn(&mut self, recorder: &mut RunRecorder) {
        if recorder.in_turn() {
            return;
        }
        if let Some(prompt) = self.waiting.pop_prompt() {
            return self.begin_turn(Origin::Prompt, Some(prompt), recorder);
        }
        // A task that only reports, such as a monitor, begins turns like one that ends.
        let is_background = self.woken || self.is_one_shot || recorder.turn_count() > 0 && self.tasks.is_any_running();
        let origin = if is_background { Origin::Background } else { Origin::Prompt };
        let prompt = recorder.session_context().prompt.clone().filter(|_| recorder.turn_count() == 0);
        self.begin_turn(origin, prompt, recorder);
    }
}

/// The files that a command changed are a separate item without a call: the call belongs to the command.
pub fn complete_changed_files(
    call: &Id,
    origin: &ReplyOrigin,
    structured: Option<JsonView<'_>>,
    recorder: &mut RunRecorder,
) {
    let changes = items::changes_by_command(structured, recorder);
    if !changes.is_empty() {
        let change = Item::new(FileChange { changes, output: None });
        recorder.item_completed(&Id::from(format!("{call}.files")), origin.attribute_item(change));
    }
}

/// Returns the content of a `user` record: text, or blocks of text and images.
pub fn message_contents(fields: &JsonObject<'_>) -> Vec<Content> {
    parse_contents(fields.get_object("message").get("content"))
}

pub fn parse_contents(content: Option<JsonView<'_>>) -> Vec<Content> {
    if let Some(text) = content.and_then(JsonView::as_str) {
        return vec![Content::text(text)];
    }
    let other = |block: JsonView<'_>| Content {
        kind: ContentType::Other,
        text: Some(block.raw_text().to_owned()),
        ..Content::default()
    };
    content_blocks(content)
        .into_iter()
        .map(|block| parse_content_block(&block.as_object()).unwrap_or_else(|| other(block)))
        .collect()
}

pub fn contents_text(content: &[Content]) -> String {
    let texts = content.iter().filter(|c| c.kind == ContentType::Text).filter_map(|c| c.text.as_deref());
    texts.collect::<Vec<_>>().join("\n")
}
