//! `user` records: messages to Claude, and tool results under the same name.

use serde::Serialize;
use switchboard_event::{Content, Id, Item, Notice, Origin, Topic, UserMessage, to_raw_json};

use super::{
    read::ClaudeLogReader,
    threads::SubagentThread,
    words::{self, UserTextKind},
};
use crate::{
    JsonObject, JsonView, RunRecorder,
    claude::{errors, results, stream::content_blocks, user},
};

impl ClaudeLogReader {
    pub(super) fn read_user(
        &mut self,
        fields: &JsonObject<'_>,
        thread: Option<&SubagentThread>,
        recorder: &mut RunRecorder,
    ) {
        let message = fields.get_object("message");
        if message.is_empty() {
            return;
        }
        let blocks = content_blocks(message.get("content"));
        let results: Vec<_> = blocks.iter().map(|block| block.as_object()).filter(is_result).collect();
        match results.as_slice() {
            [] if fields.contains_key("toolUseResult") => {
                self.enter_record(fields, thread, recorder);
                self.read_bare_result(fields, recorder);
            }
            [] => self.read_message(fields, thread, recorder),
            results => {
                self.enter_record(fields, thread, recorder);
                // With several results, the structured one cannot be attributed.
                let structured = fields.get("toolUseResult").filter(|_| results.len() == 1);
                results.iter().for_each(|block| self.read_result(block, structured, fields, recorder));
                self.read_extra_blocks(&blocks, recorder);
            }
        }
    }

    /// Reads a result that is only in `toolUseResult`. It belongs to the call that the record names, or else to the
    /// only open one.
    fn read_bare_result(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let structured = fields.get("toolUseResult");
        let named = ["sourceToolUseID", "toolUseID", "tool_use_id"].iter().find_map(|key| fields.get_non_empty(key));
        let waits = |id: &Id| recorder.open_item(id).is_some_and(|item| item.call.is_some());
        let waiting: Vec<_> = recorder.open_items(None).into_iter().filter(waits).collect();
        let id = named.map(Id::from).or_else(|| (waiting.len() == 1).then(|| waiting[0].clone()));
        let known = id.and_then(|id| Some((recorder.open_item(&id).cloned()?, id)));
        let said = Some(user::contents_text(&user::message_contents(fields))).filter(|text| !text.is_empty());
        let text = said.or_else(|| structured.map(bare_text)).unwrap_or_default();
        let Some((item, id)) = known else {
            return recorder.write_notice(Notice::new(Topic::Late).with_name("tool_result").with_text(text));
        };
        let is_error = structured.is_some_and(|result| result.as_str().is_some_and(|text| text.starts_with("Error")));
        let block = to_raw_json(&BareResult { content: &text, is_error });
        let item = results::apply_tool_result(
            item,
            &JsonView::from_raw(&block).as_object(),
            structured,
            errors::is_call_refused(fields, &id),
            recorder,
        );
        self.complete_tool_call(&id, structured, item, recorder);
    }

    fn read_result(
        &mut self,
        block: &JsonObject<'_>,
        structured: Option<JsonView<'_>>,
        fields: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        let id = Id::from(block.get_string("tool_use_id").unwrap_or_default());
        let Some(item) = recorder.open_item(&id).cloned() else {
            // The call is in another log, or in a part that was cut off.
            let text = user::contents_text(&user::parse_contents(block.get("content")));
            return recorder
                .write_notice_about(Some(id), Notice::new(Topic::Late).with_name("tool_result").with_text(text));
        };
        let item = results::apply_tool_result(item, block, structured, errors::is_call_refused(fields, &id), recorder);
        self.complete_tool_call(&id, structured, item, recorder);
    }

    /// Reads the blocks next to tool results, which Claude Code added.
    fn read_extra_blocks(&mut self, blocks: &[JsonView<'_>], recorder: &mut RunRecorder) {
        let others: Vec<_> = blocks.iter().filter(|block| !is_result(&block.as_object())).collect();
        for block in others {
            let content = user::parse_contents(JsonView::parse(&format!("[{}]", block.raw_text())));
            let id = self.generate_id("beside", recorder);
            recorder.item_completed(&id, Item::new(UserMessage { content, synthetic: true, queued: false }));
        }
    }

    fn read_message(&mut self, fields: &JsonObject<'_>, thread: Option<&SubagentThread>, recorder: &mut RunRecorder) {
        let content = user::message_contents(fields);
        let text = user::contents_text(&content);
        if thread.is_some() {
            self.ensure_turn(fields, recorder);
            self.enter_record(fields, thread, recorder);
            return self.write_user_message(fields, content, true, recorder);
        }
        if fields.is_true("isCompactSummary") {
            self.enter_record(fields, None, recorder);
            return recorder.write_notice(Notice::new(Topic::Compaction).with_name("summary").with_text(text));
        }
        match words::classify_user_text(&text) {
            UserTextKind::Interrupted => {
                self.enter_record(fields, None, recorder);
                recorder.mark_interrupted();
                recorder.write_notice(Notice::new(Topic::Interrupt).with_text(text));
            }
            UserTextKind::Printed(printed) => {
                self.enter_record(fields, None, recorder);
                recorder.write_notice(Notice::new(Topic::Stdout).with_name("local_command").with_text(printed));
            }
            _ if is_injected(fields) => self.read_injected(fields, content, recorder),
            UserTextKind::Injected => self.read_injected(fields, content, recorder),
            UserTextKind::Command(command) => {
                self.begin_turn(Origin::Command, Some(command.clone()), fields, recorder);
                self.write_user_message(fields, vec![Content::text(command)], false, recorder);
            }
            UserTextKind::Prompt => {
                self.begin_turn(Origin::Prompt, Some(text), fields, recorder);
                self.write_user_message(fields, content, false, recorder);
            }
        }
    }

    /// Reads a message of Claude Code to the model. A notification about background work begins a turn, like a prompt.
    fn read_injected(&mut self, fields: &JsonObject<'_>, content: Vec<Content>, recorder: &mut RunRecorder) {
        if fields.get_object("origin").str_equals("kind", "task-notification") {
            self.begin_turn(Origin::Background, None, fields, recorder);
        }
        self.enter_record(fields, None, recorder);
        self.write_user_message(fields, content, true, recorder);
    }

    pub(super) fn write_user_message(
        &mut self,
        fields: &JsonObject<'_>,
        content: Vec<Content>,
        synthetic: bool,
        recorder: &mut RunRecorder,
    ) {
        let id = fields.get_non_empty("uuid").map(Id::from).unwrap_or_else(|| self.generate_id("message", recorder));
        recorder.item_completed(&id, Item::new(UserMessage { content, synthetic, queued: false }));
    }
}

/// A result in the form of a block.
#[derive(Serialize)]
struct BareResult<'a> {
    content: &'a str,
    is_error: bool,
}

/// Returns the text of a result without a block: the output of a command, the content of a file, or else the whole
/// result.
fn bare_text(result: JsonView<'_>) -> String {
    let fields = result.as_object();
    let text = ["stdout", "content", "text", "output"].iter().find_map(|key| fields.get_string(key));
    let text = text.or_else(|| fields.get_object("file").get_string("content"));
    text.or_else(|| result.as_str().map(Into::into)).unwrap_or_else(|| result.raw_text().to_owned())
}

fn is_result(block: &JsonObject<'_>) -> bool {
    block.str_equals("type", "tool_result")
}

/// Returns whether the record is marked as not typed by a person.
fn is_injected(fields: &JsonObject<'_>) -> bool {
    let origin = fields.get_object("origin");
    fields.is_true("isMeta")
        || fields.is_true("isVisibleInTranscriptOnly")
        || (fields.contains_key("origin") && !origin.is_empty() && !origin.str_equals("kind", "human"))
}
