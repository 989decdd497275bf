//! Partial messages: the events of the model's API, as Claude Code passes them on. The record that matters most
//! for speed is here: one for every few words.

use switchboard_event::{AgentMessage, Field, Id, Item, Notice, Reasoning, Status, Topic, Usage};

use super::{
    abandoned::{AbandonedItems, Repetition, compare_repetition, shown_text},
    live::{Live, heartbeat},
    turn,
};
use crate::{Json, Object, Scribe};

/// A reply that is being streamed.
#[derive(Default)]
pub struct Stream {
    pub(super) reply: Option<Id>,
    pub(super) model: Option<String>,
    blocks: Vec<Block>,
    /// What earlier replies showed before they broke off.
    pub(super) abandoned: AbandonedItems,
    /// What the reply had used when it began. The end of the reply has the rest.
    begun: Option<Usage>,
}

/// One block of a reply, if it is shown as it comes.
struct Block {
    index: u64,
    kind: Shown,
    item: Id,
    /// How much of an abandoned item the block has repeated, in bytes, until it goes on.
    repeated: Option<usize>,
    /// The stream ended the block.
    stopped: bool,
    /// The stream ended the reply, and the whole message has not come yet.
    unclaimed: bool,
}

/// What is shown as it comes. A tool call is shown when its input is complete.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// What Claude says.
    Text,
    /// What Claude thinks.
    Thinking,
}

/// What the whole block means for what was streamed of it.
pub enum Claim {
    /// The item is still open: this is all of it.
    Open(Id),
    /// It was closed already, with the same content.
    Closed,
    /// Nothing of it was streamed.
    None,
}

impl Stream {
    /// Finds what was streamed of a block that now comes whole.
    pub fn claim(&mut self, reply: Option<&str>, kind: Shown, text: &str, scribe: &mut Scribe) -> Claim {
        if self.reply.as_deref() != reply {
            return Claim::None;
        }
        let mine = |block: &Block| block.kind == kind && (block.unclaimed || scribe.item_is_open(&block.item));
        let Some(index) = self.blocks.iter().position(mine) else { return Claim::None };
        let block = &mut self.blocks[index];
        if block.unclaimed {
            block.unclaimed = false;
            return Claim::Closed;
        }
        let item = block.item.clone();
        if block.repeated.is_some() && !text.starts_with(&shown_text(&item, scribe)) {
            scribe.item_closed(&item, Status::Superseded);
            self.blocks.remove(index);
            return Claim::None;
        }
        Claim::Open(item)
    }

    /// Another reply comes. What this one left in the middle of a block is void.
    pub fn break_off(&mut self, scribe: &mut Scribe) {
        for block in &mut self.blocks {
            match (scribe.item_is_open(&block.item), block.stopped) {
                (true, true) => block.finish(scribe),
                (true, false) => self.abandoned.push(block.item.clone(), block.kind, scribe),
                (false, _) => {}
            }
        }
        self.blocks.retain(|block| block.unclaimed);
    }
}

impl Block {
    fn new(index: u64, kind: Shown, item: Id, repeated: Option<usize>) -> Self {
        Self { index, kind, item, repeated, stopped: false, unclaimed: false }
    }

    /// The block is complete.
    fn finish(&mut self, scribe: &mut Scribe) {
        let shown = shown_text(&self.item, scribe);
        match self.repeated.and_then(|repeated| shown.get(..repeated)).filter(|said| said.len() < shown.len()) {
            // It ended before it had repeated everything.
            Some(said) => {
                let item = scribe.item(&self.item).cloned().unwrap_or_else(|| self.kind.item(""));
                scribe.item_closed(&self.item, Status::Superseded);
                if !said.is_empty() {
                    let again = Id::from(format!("{}.again", self.item));
                    scribe.item_completed(&again, Item { reply: item.reply, ..self.kind.item(said) });
                }
                self.unclaimed = true;
            }
            None => self.unclaimed = scribe.item_closed(&self.item, Status::Completed),
        }
    }
}

impl Shown {
    /// A new item of this kind.
    pub fn item(self, text: &str) -> Item {
        match self {
            Self::Text => Item::new(AgentMessage::text(text)),
            Self::Thinking => {
                let text = Some(text.to_owned()).filter(|t| !t.is_empty());
                Item::new(Reasoning { text, ..Reasoning::default() })
            }
        }
    }
}

impl Live {
    /// `stream_event`.
    pub(super) fn stream_event(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        self.place(fields, scribe);
        let event = fields.object("event");
        match event.str("type").as_deref() {
            Some("content_block_delta") => self.block_delta(&event, scribe),
            Some("content_block_start") => self.block_start(&event, scribe),
            Some("content_block_stop") => self.block_stop(&event, scribe),
            Some("message_start") => self.message_start(&event, scribe),
            Some("message_delta") => self.message_delta(&event, scribe),
            Some("message_stop") => self.message_stop(fields, scribe),
            Some(other) => scribe.notice(heartbeat(other)),
            None => {}
        }
    }

    fn message_start(&mut self, event: &Object<'_>, scribe: &mut Scribe) {
        self.ensure_turn(scribe);
        self.waiting.called();
        let message = event.object("message");
        let mut begun = turn::usage(&message.object("usage"));
        begun.key = message.str("id").map(Id::from);
        begun.model = message.filled("model");
        self.books.began(begun.clone());
        self.stream.break_off(scribe);
        let abandoned = std::mem::take(&mut self.stream.abandoned);
        let (reply, model) = (begun.key.clone(), begun.model.clone());
        self.stream = Stream { reply, model, abandoned, blocks: Vec::new(), begun: Some(begun) };
        scribe.notice(step("started"));
    }

    fn block_start(&mut self, event: &Object<'_>, scribe: &mut Scribe) {
        let block = event.object("content_block");
        let index = event.count("index");
        match block.str("type").as_deref() {
            Some("text") => self.open_block(index, Shown::Text, block.str("text").as_deref(), scribe),
            Some("thinking") => self.open_block(index, Shown::Thinking, block.str("thinking").as_deref(), scribe),
            _ => scribe.notice(heartbeat("content_block_start")),
        }
    }

    fn open_block(&mut self, index: u64, kind: Shown, text: Option<&str>, scribe: &mut Scribe) {
        self.ensure_turn(scribe);
        self.stream.blocks.retain(|block| block.index != index);
        let text = text.unwrap_or_default();
        if let Some(item) = self.stream.abandoned.take(kind, scribe) {
            if let Some(open) = scribe.item_mut(&item) {
                open.reply.clone_from(&self.stream.reply);
            }
            self.stream.blocks.push(Block::new(index, kind, item, Some(0)));
            if !text.is_empty() {
                self.append(index, kind, text, scribe);
            }
            return scribe.otherwise(heartbeat("content_block_start"));
        }
        self.start_block(index, kind, text, scribe);
    }

    fn start_block(&mut self, index: u64, kind: Shown, text: &str, scribe: &mut Scribe) {
        let reply = self.stream.reply.clone();
        let reply = reply.unwrap_or_else(|| self.stream.reply.insert(self.made_up_reply(scribe)).clone());
        let item = Id::from(format!("{reply}.{index}"));
        if kind == Shown::Text {
            self.mark_said();
        }
        scribe.item_started(&item, Item { reply: Some(reply), ..kind.item(text) });
        self.stream.blocks.push(Block::new(index, kind, item, None));
    }

    fn made_up_reply(&self, scribe: &Scribe) -> Id {
        scribe.local_id(&format!("reply_{}_{}", scribe.turns(), self.made_up))
    }

    fn block_delta(&mut self, event: &Object<'_>, scribe: &mut Scribe) {
        let (index, delta) = (event.count("index"), event.object("delta"));
        let (kind, text) = match delta.str("type").as_deref() {
            Some("text_delta") => (Shown::Text, delta.str("text")),
            Some("thinking_delta") => (Shown::Thinking, delta.str("thinking")),
            Some(other) => return scribe.notice(heartbeat(other)),
            None => return,
        };
        let Some(text) = text else { return };
        if !self.append(index, kind, &text, scribe) {
            self.open_block(index, kind, None, scribe);
            self.append(index, kind, &text, scribe);
        }
    }

    fn append(&mut self, index: u64, kind: Shown, text: &str, scribe: &mut Scribe) -> bool {
        let mine = |block: &&mut Block| block.index == index && block.kind == kind;
        let Some(block) = self.stream.blocks.iter_mut().find(mine) else { return false };
        let Some(repeated) = block.repeated.filter(|_| scribe.item_is_open(&block.item)) else {
            return scribe.item_append(&block.item, Field::Text, 0, text);
        };
        let shown = shown_text(&block.item, scribe);
        match compare_repetition(&shown, repeated, text) {
            Repetition::Known => {
                block.repeated = Some(repeated + text.len());
                scribe.otherwise(heartbeat("content_block_delta"));
                true
            }
            Repetition::Longer(new) => {
                block.repeated = None;
                scribe.item_append(&block.item, Field::Text, 0, new)
            }
            Repetition::Differs => {
                scribe.item_closed(&block.item, Status::Superseded);
                self.stream.blocks.retain(|block| block.index != index);
                let said = shown.get(..repeated).unwrap_or_default().to_owned() + text;
                self.start_block(index, kind, &said, scribe);
                true
            }
        }
    }

    /// The whole message comes just before. Where it does not, the end of the reply says whether the block holds.
    fn block_stop(&mut self, event: &Object<'_>, scribe: &mut Scribe) {
        let index = event.count("index");
        if let Some(block) = self.stream.blocks.iter_mut().find(|block| block.index == index) {
            block.stopped = true;
        }
        scribe.notice(heartbeat("content_block_stop"));
    }

    /// The end of a reply. Claude Code 2.1.326 ends one whose stream broke off too, and says from which block on it is
    /// void.
    fn message_stop(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let void = fields.get("abandoned_blocks").map(|void| void.object().count("from_block_index"));
        let Stream { blocks, abandoned, .. } = &mut self.stream;
        for block in blocks.iter_mut() {
            match void {
                _ if !scribe.item_is_open(&block.item) => {}
                Some(from) if block.index >= from => abandoned.push(block.item.clone(), block.kind, scribe),
                _ => block.finish(scribe),
            }
        }
        blocks.retain(|block| block.unclaimed);
        if void.is_none() {
            abandoned.supersede_all(scribe);
        }
        let name = void.map(|_| "abandoned_blocks".to_owned());
        scribe.notice(Notice { name, ..step("completed") });
    }

    /// Nothing comes any more that could repeat what was void.
    pub(super) fn supersede_abandoned(&mut self, scribe: &mut Scribe) {
        self.stream.abandoned.supersede_all(scribe);
    }

    /// The only place that says what a streamed reply really used.
    fn message_delta(&mut self, event: &Object<'_>, scribe: &mut Scribe) {
        let mut usage = turn::usage(&event.object("usage"));
        if usage.all_input() == 0
            && let Some(begun) = &self.stream.begun
        {
            // The API itself repeats the input figures here only since 2025.
            usage = Usage { output: usage.output, reasoning: usage.reasoning, ..begun.clone() };
        }
        usage.model.clone_from(&self.stream.model);
        usage.key.clone_from(&self.stream.reply);
        self.books.reply(usage, scribe);
        scribe.otherwise(heartbeat("message_delta"));
    }
}

fn step(status: &str) -> Notice {
    Notice::new(Topic::Step).with_status(status)
}

/// The text of a block that can be shown as it comes.
pub fn shown(block: &Object<'_>) -> Option<(Shown, String)> {
    match block.str("type").as_deref() {
        Some("text") => Some((Shown::Text, block.string("text").unwrap_or_default())),
        Some("thinking") => Some((Shown::Thinking, block.string("thinking").unwrap_or_default())),
        _ => None,
    }
}

/// The blocks of a message; a plain text counts as one.
pub fn blocks(content: Option<Json<'_>>) -> Vec<Json<'_>> {
    content.map(Json::array).unwrap_or_default()
}
