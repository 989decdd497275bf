//! `user` records: messages to Claude, and tool results under the same name.

use switchboard_event::{
    Content, ContentType, Details, FileChange, Id, Item, Notice, Origin, Topic, TurnStarted, UserMessage,
};

use super::{
    assistant::parse_content_block,
    errors,
    live::{ClaudeStreamReader, record_timestamp},
    results,
    stream::content_blocks,
};
use crate::{JsonObject, JsonView, RunRecorder};

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
        let mut item = results::apply_tool_result(item, block, structured, refused, recorder);
        let (reply, is_command) = (item.reply.clone(), matches!(item.details, Details::Command(_)));
        if let Details::Plan(plan) = &mut item.details {
            let call = item.call.as_deref();
            self.todos.apply_result(call, structured, plan);
        }
        let id = Id::from(id);
        recorder.item_completed(&id, item);
        if is_command {
            complete_changed_files(&id, reply, structured, recorder);
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
    reply: Option<Id>,
    structured: Option<JsonView<'_>>,
    recorder: &mut RunRecorder,
) {
    let changes = results::changes_by_command(structured, recorder);
    if !changes.is_empty() {
        let change = Item::new(FileChange { changes, output: None });
        recorder.item_completed(&Id::from(format!("{call}.files")), Item { reply, ..change });
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
