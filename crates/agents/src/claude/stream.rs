//! Partial messages: the events of the model's API, as Claude Code passes them on, and text that is void because its
//! stream broke off. This is the most performance-critical record: one for every few words.

use switchboard_event::{Field, Id, Item, Notice, Status, Topic, Usage};

use super::{
    ClaudeStreamReader,
    abandoned::{AbandonedItems, TextBlockKind, TextRepetition, compare_repetition, shown_text},
    heartbeat_notice,
    messages::reply_model,
    turn,
};
use crate::{JsonObject, JsonView, RunRecorder};

#[derive(Default)]
pub struct ReplyStream {
    pub(super) reply: Option<Id>,
    pub(super) model: Option<String>,
    blocks: Vec<StreamedBlock>,
    /// Items of earlier replies that broke off.
    pub(super) abandoned: AbandonedItems,
    /// The usage at the beginning of the reply. The end of the reply has the rest.
    begun: Option<Usage>,
}

/// A block that is emitted while it streams.
struct StreamedBlock {
    index: u64,
    kind: TextBlockKind,
    item: Id,
    /// How many bytes of an abandoned item the block has repeated, until it continues beyond it.
    repeated: Option<usize>,
    /// The stream ended the block.
    stopped: bool,
    /// The stream ended the reply, and the complete message has not arrived yet.
    unclaimed: bool,
}

/// How a complete block relates to its streamed parts.
pub enum BlockClaim {
    /// The item is still open and gets the complete content.
    Open(Id),
    /// The item was already closed with the same content.
    Closed,
    /// No part of the block was streamed.
    None,
}

impl ReplyStream {
    /// Finds the streamed item of a block that arrives complete.
    pub fn claim_block(
        &mut self,
        reply: Option<&str>,
        kind: TextBlockKind,
        text: &str,
        recorder: &mut RunRecorder,
    ) -> BlockClaim {
        if self.reply.as_deref() != reply {
            return BlockClaim::None;
        }
        let mine =
            |block: &StreamedBlock| block.kind == kind && (block.unclaimed || recorder.item_is_open(&block.item));
        let Some(index) = self.blocks.iter().position(mine) else { return BlockClaim::None };
        let block = &mut self.blocks[index];
        if block.unclaimed {
            block.unclaimed = false;
            return BlockClaim::Closed;
        }
        let item = block.item.clone();
        if block.repeated.is_some() && !text.starts_with(&shown_text(&item, recorder)) {
            recorder.item_closed(&item, Status::Superseded);
            self.blocks.remove(index);
            return BlockClaim::None;
        }
        BlockClaim::Open(item)
    }

    /// Ends the reply because another one begins. Blocks without an end are abandoned.
    pub fn break_off(&mut self, recorder: &mut RunRecorder) {
        for block in &mut self.blocks {
            match (recorder.item_is_open(&block.item), block.stopped) {
                (true, true) => block.finish(recorder),
                (true, false) => self.abandoned.push(block.item.clone(), block.kind, recorder),
                (false, _) => {}
            }
        }
        self.blocks.retain(|block| block.unclaimed);
    }
}

impl StreamedBlock {
    fn new(index: u64, kind: TextBlockKind, item: Id, repeated: Option<usize>) -> Self {
        Self { index, kind, item, repeated, stopped: false, unclaimed: false }
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        let shown = shown_text(&self.item, recorder);
        match self.repeated.and_then(|repeated| shown.get(..repeated)).filter(|said| said.len() < shown.len()) {
            // The block ended before it had repeated the whole text.
            Some(said) => {
                let item = recorder.open_item(&self.item).cloned().unwrap_or_else(|| self.kind.new_item(""));
                recorder.item_closed(&self.item, Status::Superseded);
                if !said.is_empty() {
                    let again = Id::from(format!("{}.again", self.item));
                    recorder.item_completed(
                        &again,
                        Item { reply: item.reply, model: item.model, ..self.kind.new_item(said) },
                    );
                }
                self.unclaimed = true;
            }
            None => self.unclaimed = recorder.item_closed(&self.item, Status::Completed),
        }
    }
}

impl ClaudeStreamReader {
    pub(super) fn read_stream_event(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.enter_subagent(fields, recorder);
        let event = fields.get_object("event");
        match event.get_str("type").as_deref() {
            Some("content_block_delta") => self.read_block_delta(&event, recorder),
            Some("content_block_start") => self.read_block_start(&event, recorder),
            Some("content_block_stop") => self.read_block_stop(&event, recorder),
            Some("message_start") => self.read_message_start(&event, recorder),
            Some("message_delta") => self.read_message_delta(&event, recorder),
            Some("message_stop") => self.read_message_stop(fields, recorder),
            Some(other) => recorder.write_notice(heartbeat_notice(other)),
            None => {}
        }
    }

    fn read_message_start(&mut self, event: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.ensure_turn(recorder);
        self.waiting.mark_model_called();
        let message = event.get_object("message");
        let mut begun = turn::parse_usage(&message.get_object("usage"));
        begun.key = message.get_str("id").map(Id::from);
        begun.model = reply_model(&message);
        self.books.set_placeholder(begun.clone());
        self.stream.break_off(recorder);
        let abandoned = std::mem::take(&mut self.stream.abandoned);
        let (reply, model) = (begun.key.clone(), begun.model.clone());
        self.stream = ReplyStream { reply, model, abandoned, blocks: Vec::new(), begun: Some(begun) };
        recorder.write_notice(step_notice("started"));
    }

    fn read_block_start(&mut self, event: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let block = event.get_object("content_block");
        let index = event.get_count("index");
        match block.get_str("type").as_deref() {
            Some("text") => self.open_block(index, TextBlockKind::Text, block.get_str("text").as_deref(), recorder),
            Some("thinking") => {
                self.open_block(index, TextBlockKind::Thinking, block.get_str("thinking").as_deref(), recorder)
            }
            _ => recorder.write_notice(heartbeat_notice("content_block_start")),
        }
    }

    fn open_block(&mut self, index: u64, kind: TextBlockKind, text: Option<&str>, recorder: &mut RunRecorder) {
        self.ensure_turn(recorder);
        self.stream.blocks.retain(|block| block.index != index);
        let text = text.unwrap_or_default();
        if let Some(item) = self.stream.abandoned.take_repeatable(kind, recorder) {
            if let Some(open) = recorder.item_mut(&item) {
                open.reply.clone_from(&self.stream.reply);
                open.model.clone_from(&self.stream.model);
            }
            self.stream.blocks.push(StreamedBlock::new(index, kind, item, Some(0)));
            if !text.is_empty() {
                self.append_text(index, kind, text, recorder);
            }
            return recorder.write_notice_if_no_event(heartbeat_notice("content_block_start"));
        }
        self.start_block(index, kind, text, recorder);
    }

    fn start_block(&mut self, index: u64, kind: TextBlockKind, text: &str, recorder: &mut RunRecorder) {
        let reply = self.stream.reply.clone();
        let reply = reply.unwrap_or_else(|| self.stream.reply.insert(self.generate_reply_id(recorder)).clone());
        let item = Id::from(format!("{reply}.{index}"));
        if kind == TextBlockKind::Text {
            self.mark_spoken();
        }
        let model = self.stream.model.clone();
        recorder.item_started(&item, Item { reply: Some(reply), model, ..kind.new_item(text) });
        self.stream.blocks.push(StreamedBlock::new(index, kind, item, None));
    }

    fn generate_reply_id(&self, recorder: &RunRecorder) -> Id {
        recorder.local_id(&format!("reply_{}_{}", recorder.turn_count(), self.made_up))
    }

    fn read_block_delta(&mut self, event: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let (index, delta) = (event.get_count("index"), event.get_object("delta"));
        let (kind, text) = match delta.get_str("type").as_deref() {
            Some("text_delta") => (TextBlockKind::Text, delta.get_str("text")),
            Some("thinking_delta") => (TextBlockKind::Thinking, delta.get_str("thinking")),
            Some(other) => return recorder.write_notice(heartbeat_notice(other)),
            None => return,
        };
        let Some(text) = text else { return };
        if !self.append_text(index, kind, &text, recorder) {
            self.open_block(index, kind, None, recorder);
            self.append_text(index, kind, &text, recorder);
        }
    }

    fn append_text(&mut self, index: u64, kind: TextBlockKind, text: &str, recorder: &mut RunRecorder) -> bool {
        let mine = |block: &&mut StreamedBlock| block.index == index && block.kind == kind;
        let Some(block) = self.stream.blocks.iter_mut().find(mine) else { return false };
        let Some(repeated) = block.repeated.filter(|_| recorder.item_is_open(&block.item)) else {
            return recorder.item_append(&block.item, Field::Text, 0, text);
        };
        let shown = shown_text(&block.item, recorder);
        match compare_repetition(&shown, repeated, text) {
            TextRepetition::Known => {
                block.repeated = Some(repeated + text.len());
                recorder.write_notice_if_no_event(heartbeat_notice("content_block_delta"));
                true
            }
            TextRepetition::Longer(new) => {
                block.repeated = None;
                recorder.item_append(&block.item, Field::Text, 0, new)
            }
            TextRepetition::Differs => {
                recorder.item_closed(&block.item, Status::Superseded);
                self.stream.blocks.retain(|block| block.index != index);
                let said = shown.get(..repeated).unwrap_or_default().to_owned() + text;
                self.start_block(index, kind, &said, recorder);
                true
            }
        }
    }

    /// The complete message usually arrives just before. Otherwise the end of the reply decides whether the block is
    /// valid.
    fn read_block_stop(&mut self, event: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let index = event.get_count("index");
        if let Some(block) = self.stream.blocks.iter_mut().find(|block| block.index == index) {
            block.stopped = true;
        }
        recorder.write_notice(heartbeat_notice("content_block_stop"));
    }

    /// Ends a reply. Claude Code 2.1.326 also ends a reply whose stream broke off, and tells from which block on it is
    /// void.
    fn read_message_stop(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let void = fields.get("abandoned_blocks").map(|void| void.as_object().get_count("from_block_index"));
        let ReplyStream { blocks, abandoned, .. } = &mut self.stream;
        for block in blocks.iter_mut() {
            match void {
                _ if !recorder.item_is_open(&block.item) => {}
                Some(from) if block.index >= from => abandoned.push(block.item.clone(), block.kind, recorder),
                _ => block.finish(recorder),
            }
        }
        blocks.retain(|block| block.unclaimed);
        if void.is_none() {
            abandoned.supersede_all(recorder);
        }
        let name = void.map(|_| "abandoned_blocks".to_owned());
        recorder.write_notice(Notice { name, ..step_notice("completed") });
    }

    /// Supersedes abandoned items, since nothing can repeat them any more.
    pub(super) fn supersede_abandoned(&mut self, recorder: &mut RunRecorder) {
        self.stream.abandoned.supersede_all(recorder);
    }

    /// The only record with the actual usage of a streamed reply.
    fn read_message_delta(&mut self, event: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let mut usage = turn::parse_usage(&event.get_object("usage"));
        if usage.all_input() == 0
            && let Some(begun) = &self.stream.begun
        {
            // The API repeats the input figures here only since 2025.
            usage = Usage { output: usage.output, reasoning: usage.reasoning, ..begun.clone() };
        }
        usage.model.clone_from(&self.stream.model);
        usage.key.clone_from(&self.stream.reply);
        self.books.count_reply(usage, recorder);
        recorder.write_notice_if_no_event(heartbeat_notice("message_delta"));
    }
}

fn step_notice(status: &str) -> Notice {
    Notice::new(Topic::Step).with_status(status)
}

/// Returns the kind and the text of a block that is emitted while it streams.
pub fn parse_text_block(block: &JsonObject<'_>) -> Option<(TextBlockKind, String)> {
    match block.get_str("type").as_deref() {
        Some("text") => Some((TextBlockKind::Text, block.get_string("text").unwrap_or_default())),
        Some("thinking") => Some((TextBlockKind::Thinking, block.get_string("thinking").unwrap_or_default())),
        _ => None,
    }
}

/// Returns the blocks of a message.
pub fn content_blocks(content: Option<JsonView<'_>>) -> Vec<JsonView<'_>> {
    content.map(JsonView::as_array).unwrap_or_default()
}
