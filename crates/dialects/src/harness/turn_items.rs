//! The items of the running turn, kept because the protocol repeats them when the turn ends.
//!
//! Memory is bounded even if a turn is not. Up to [`MAX_TURN_ITEM_BYTES`] bytes of items are kept in full. Beyond that,
//! texts of the oldest items are cut to [`MAX_CUT_TEXT_BYTES`] bytes and marked with `_meta.truncated`; if that is not
//! enough, the oldest items are dropped and the turn reports their number. Clients that follow the stream have received
//! every item in full with `item/completed`.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::wire::{FileUpdateChange, ItemBody, ItemMeta, ThreadItem, UserInput};

/// Maximum size of the kept items.
const MAX_TURN_ITEM_BYTES: usize = 4 << 20;
/// Length of a text after it is cut.
const MAX_CUT_TEXT_BYTES: usize = 512;
/// Estimated size of an item without its texts.
const ITEM_OVERHEAD_BYTES: usize = 256;

/// The items of a turn in start order.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct TurnItems {
    items: VecDeque<TurnItemEntry>,
    bytes: usize,
    /// Items before this index are already cut.
    cut: usize,
    omitted: u64,
}

#[derive(Clone, Serialize, Deserialize)]
struct TurnItemEntry {
    item: ThreadItem,
    bytes: usize,
}

impl TurnItems {
    /// Adds an item that started.
    pub fn push_started(&mut self, mut item: ThreadItem) {
        let bytes = item_bytes(&mut item);
        self.bytes = self.bytes.saturating_add(bytes);
        self.items.push_back(TurnItemEntry { item, bytes });
        self.shrink_to_limit();
    }

    /// Replaces an item with its final state, in its original position.
    pub fn replace_finished(&mut self, mut item: ThreadItem) {
        // Items that end usually started recently, so searching from the back is fast.
        let index = self.items.iter().rposition(|entry| entry.item.id == item.id);
        let Some((index, entry)) = index.and_then(|index| Some((index, self.items.get_mut(index)?))) else { return };
        let bytes = item_bytes(&mut item);
        self.bytes = self.bytes.saturating_sub(entry.bytes).saturating_add(bytes);
        *entry = TurnItemEntry { item, bytes };
        self.cut = self.cut.min(index);
        self.shrink_to_limit();
    }

    /// Removes and returns all items, and the number of dropped ones.
    pub fn take(&mut self) -> (Vec<ThreadItem>, u64) {
        let kept = std::mem::take(self);
        (kept.items.into_iter().map(|entry| entry.item).collect(), kept.omitted)
    }

    fn shrink_to_limit(&mut self) {
        while self.bytes > MAX_TURN_ITEM_BYTES {
            match self.items.get_mut(self.cut) {
                Some(entry) => {
                    let before = entry.bytes;
                    entry.bytes = cut_texts(&mut entry.item);
                    self.bytes = self.bytes.saturating_sub(before).saturating_add(entry.bytes);
                    self.cut += 1;
                }
                None => {
                    let Some(entry) = self.items.pop_front() else { return };
                    self.bytes = self.bytes.saturating_sub(entry.bytes);
                    self.cut = self.cut.saturating_sub(1);
                    self.omitted += 1;
                }
            }
        }
    }
}

fn item_bytes(item: &mut ThreadItem) -> usize {
    let mut bytes = ITEM_OVERHEAD_BYTES.saturating_add(item.id.len());
    each_text(item, &mut |text| bytes = bytes.saturating_add(text.len()));
    bytes
}

/// Cuts the long texts of an item and returns its new size.
fn cut_texts(item: &mut ThreadItem) -> usize {
    let mut anything = false;
    each_text(item, &mut |text| anything |= text.truncate_text());
    if anything {
        item.meta.get_or_insert_default().truncated = true;
    }
    item_bytes(item)
}

/// A text of an item that may be long.
enum ItemTextMut<'a> {
    Plain(&'a mut String),
    /// JSON cannot be cut, only dropped.
    Json(&'a mut Option<Box<RawValue>>),
}

impl ItemTextMut<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Json(json) => json.as_ref().map_or(0, |json| json.get().len()),
        }
    }

    fn truncate_text(self) -> bool {
        if self.len() <= MAX_CUT_TEXT_BYTES {
            return false;
        }
        match self {
            Self::Plain(text) => {
                text.truncate(text.floor_char_boundary(MAX_CUT_TEXT_BYTES));
                text.shrink_to_fit();
            }
            Self::Json(json) => *json = None,
        }
        true
    }
}

fn each_text(item: &mut ThreadItem, see: &mut impl FnMut(ItemTextMut<'_>)) {
    each_text_of_body(&mut item.body, see);
    if let Some(meta) = &mut item.meta {
        each_text_of_meta(meta, see);
    }
}

fn each_text_of_body(body: &mut ItemBody, see: &mut impl FnMut(ItemTextMut<'_>)) {
    match body {
        ItemBody::UserMessage { content } => content.iter_mut().for_each(|input| match input {
            UserInput::Text { text } | UserInput::Image { url: text } | UserInput::LocalImage { path: text } => {
                see(ItemTextMut::Plain(text));
            }
        }),
        ItemBody::AgentMessage { text }
        | ItemBody::SubagentMessage { text, .. }
        | ItemBody::WebSearch { query: text } => see(ItemTextMut::Plain(text)),
        ItemBody::Reasoning { summary, content } => {
            summary.iter_mut().chain(content).for_each(|text| see(ItemTextMut::Plain(text)));
        }
        ItemBody::CommandExecution { command, aggregated_output, .. } => {
            std::iter::once(command).chain(aggregated_output).for_each(|text| see(ItemTextMut::Plain(text)));
        }
        ItemBody::FileChange { changes, .. } => changes.iter_mut().for_each(|change| {
            let FileUpdateChange { path, diff, .. } = change;
            [path, diff].into_iter().for_each(|text| see(ItemTextMut::Plain(text)));
        }),
        ItemBody::McpToolCall { arguments, result, error, .. }
        | ItemBody::ToolCall { arguments, result, error, .. } => {
            see(ItemTextMut::Json(arguments));
            see(ItemTextMut::Json(result));
            error.iter_mut().for_each(|text| see(ItemTextMut::Plain(text)));
        }
        ItemBody::Plan { text, entries } => {
            see(ItemTextMut::Plain(text));
            entries.iter_mut().for_each(|entry| see(ItemTextMut::Plain(&mut entry.step)));
        }
        ItemBody::Subagent { prompt, result, error, .. } => {
            prompt.iter_mut().chain(result).chain(error).for_each(|text| see(ItemTextMut::Plain(text)));
        }
    }
}

fn each_text_of_meta(meta: &mut ItemMeta, see: &mut impl FnMut(ItemTextMut<'_>)) {
    see(ItemTextMut::Json(&mut meta.results));
    let texts = [&mut meta.title, &mut meta.error, &mut meta.output].into_iter().flatten();
    texts.chain(&mut meta.queries).for_each(|text| see(ItemTextMut::Plain(text)));
    let pieces = meta.content.iter_mut().flat_map(|piece| piece.text.iter_mut().chain(&mut piece.data));
    pieces.for_each(|text| see(ItemTextMut::Plain(text)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent_message(id: &str, text: String) -> ThreadItem {
        ThreadItem { id: id.into(), body: ItemBody::AgentMessage { text }, meta: None }
    }

    fn message_text(item: &ThreadItem) -> &str {
        match &item.body {
            ItemBody::AgentMessage { text } | ItemBody::SubagentMessage { text, .. } => text,
            _ => "",
        }
    }

    #[test]
    fn an_item_keeps_its_place_and_gets_its_final_state() {
        let mut kept = TurnItems::default();
        ["a", "b"].into_iter().for_each(|id| kept.push_started(agent_message(id, String::new())));
        for (id, said) in [("b", "second"), ("a", "first")] {
            kept.replace_finished(agent_message(id, said.to_owned()));
        }
        let (items, omitted) = kept.take();
        assert_eq!(items.iter().map(message_text).collect::<Vec<_>>(), ["first", "second"]);
        assert_eq!(omitted, 0);
    }

    #[test]
    fn the_oldest_texts_are_cut_first() {
        let mut kept = TurnItems::default();
        for id in ["a", "b", "c"] {
            kept.push_started(agent_message(id, "é".repeat(MAX_TURN_ITEM_BYTES / 5)));
        }
        let (items, omitted) = kept.take();
        let cut: Vec<bool> = items.iter().map(|item| item.meta.as_ref().is_some_and(|meta| meta.truncated)).collect();
        assert_eq!(cut, [true, false, false]);
        assert_eq!((message_text(&items[0]).len(), omitted), (MAX_CUT_TEXT_BYTES, 0));
    }

    #[test]
    fn an_endless_turn_has_bounded_items() {
        let mut kept = TurnItems::default();
        let many = 3 * MAX_TURN_ITEM_BYTES / ITEM_OVERHEAD_BYTES;
        for number in 0..many {
            kept.push_started(agent_message(&number.to_string(), "x".repeat(700)));
        }
        assert!(kept.bytes <= MAX_TURN_ITEM_BYTES);
        let (items, omitted) = kept.take();
        assert_eq!(items.len() as u64 + omitted, many as u64);
        assert_eq!(items.last().map(|item| item.id.to_string()), Some((many - 1).to_string()));
    }

    #[test]
    fn one_item_larger_than_all_room_is_cut() {
        let mut kept = TurnItems::default();
        ["a", "b"].into_iter().for_each(|id| kept.push_started(agent_message(id, String::new())));
        kept.replace_finished(agent_message("a", "x".repeat(2 * MAX_TURN_ITEM_BYTES)));
        let (items, _) = kept.take();
        assert_eq!(items.iter().map(|item| message_text(item).len()).collect::<Vec<_>>(), [MAX_CUT_TEXT_BYTES, 0]);
    }
}
