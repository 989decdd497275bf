//! Partial messages: the events of the model's API, as Claude Code passes them on. The record that matters most
//! for speed is here: one for every few words.

use switchboard_event::{AgentMessage, Field, Id, Item, Notice, Reasoning, Status, Topic, Usage};

use super::{
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
    /// What the reply had used when it began. The end of the reply has the rest.
    begun: Option<Usage>,
}

/// One block of a reply, if it is shown as it comes.
struct Block {
    index: u64,
    kind: Shown,
    item: Id,
    /// The stream ended the block, and the whole message has not come yet.
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
    pub fn claim(&mut self, reply: Option<&str>, kind: Shown, scribe: &Scribe) -> Claim {
        if self.reply.as_deref() != reply {
            return Claim::None;
        }
        let mine = |block: &&mut Block| block.kind == kind && (block.unclaimed || scribe.item_is_open(&block.item));
        match self.blocks.iter_mut().find(mine) {
            Some(block) if block.unclaimed => {
                block.unclaimed = false;
                Claim::Closed
            }
            Some(block) => Claim::Open(block.item.clone()),
            None => Claim::None,
        }
    }

    /// The items of another reply that was cut off: the same text comes again whole under another id.
    pub fn cut_off(&self, reply: Option<&str>, scribe: &Scribe) -> Vec<(Id, Shown)> {
        if self.reply.as_deref() == reply {
            return Vec::new();
        }
        let open = self.blocks.iter().filter(|block| scribe.item_is_open(&block.item));
        open.map(|block| (block.item.clone(), block.kind)).collect()
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
            Some("message_stop") => scribe.notice(step("completed")),
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
        self.stream =
            Stream { reply: begun.key.clone(), model: begun.model.clone(), blocks: Vec::new(), begun: Some(begun) };
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
        let reply = self.stream.reply.clone();
        let reply = reply.unwrap_or_else(|| self.stream.reply.insert(self.made_up_reply(scribe)).clone());
        let item = Id::from(format!("{reply}.{index}"));
        let text = text.unwrap_or_default();
        let mut shown = match kind {
            Shown::Text => Item::new(AgentMessage::text(text)),
            Shown::Thinking => {
                let text = Some(text.to_owned()).filter(|t| !t.is_empty());
                Item::new(Reasoning { text, ..Reasoning::default() })
            }
        };
        shown.reply = Some(reply);
        self.said |= kind == Shown::Text;
        scribe.item_started(&item, shown);
        self.stream.blocks.retain(|block| block.index != index);
        self.stream.blocks.push(Block { index, kind, item, unclaimed: false });
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

    fn append(&self, index: u64, kind: Shown, text: &str, scribe: &mut Scribe) -> bool {
        let block = self.stream.blocks.iter().find(|block| block.index == index && block.kind == kind);
        block.is_some_and(|block| scribe.item_append(&block.item, Field::Text, 0, text))
    }

    /// The whole message comes just before; where it does not, this is the end of the item.
    fn block_stop(&mut self, event: &Object<'_>, scribe: &mut Scribe) {
        let index = event.count("index");
        if let Some(block) = self.stream.blocks.iter_mut().find(|block| block.index == index) {
            block.unclaimed = scribe.item_closed(&block.item, Status::Completed);
        }
        scribe.otherwise(heartbeat("content_block_stop"));
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
