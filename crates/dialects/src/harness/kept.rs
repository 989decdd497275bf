//! The items of the turn that is going on, kept because the protocol repeats them all when the turn ends.
//!
//! A turn can be endless, memory is not. Up to [`ROOM`] bytes of items are kept whole. Beyond that the texts of
//! the oldest items are cut to [`HEAD`] bytes and the items are marked with `_meta.truncated`; when that is not
//! enough either, the oldest items are left out, and the turn says how many. Whoever follows the stream has seen
//! them all, whole, in `item/completed`.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::wire::{FileUpdateChange, ItemBody, ItemMeta, ThreadItem, UserInput};

/// How much is kept.
pub const ROOM: usize = 4 << 20;
/// How much of a text is left when it is cut.
pub const HEAD: usize = 512;
/// What an item costs beside its texts.
const SHELL: usize = 256;

/// The items of a turn, in the order in which they began.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Kept {
    items: VecDeque<Entry>,
    bytes: usize,
    /// The items before this one are cut.
    cut: usize,
    omitted: u64,
}

#[derive(Clone, Serialize, Deserialize)]
struct Entry {
    item: ThreadItem,
    bytes: usize,
}

impl Kept {
    /// Keeps an item that began.
    pub fn begin(&mut self, mut item: ThreadItem) {
        let bytes = weight(&mut item);
        self.bytes = self.bytes.saturating_add(bytes);
        self.items.push_back(Entry { item, bytes });
        self.shrink();
    }

    /// Keeps what became of an item, in its place.
    pub fn finish(&mut self, mut item: ThreadItem) {
        // What ends began lately, so the search is short.
        let index = self.items.iter().rposition(|entry| entry.item.id == item.id);
        let Some((index, entry)) = index.and_then(|index| Some((index, self.items.get_mut(index)?))) else { return };
        let bytes = weight(&mut item);
        self.bytes = self.bytes.saturating_sub(entry.bytes).saturating_add(bytes);
        *entry = Entry { item, bytes };
        self.cut = self.cut.min(index);
        self.shrink();
    }

    /// Takes all items out, and how many are missing.
    pub fn take(&mut self) -> (Vec<ThreadItem>, u64) {
        let kept = std::mem::take(self);
        (kept.items.into_iter().map(|entry| entry.item).collect(), kept.omitted)
    }

    fn shrink(&mut self) {
        while self.bytes > ROOM {
            match self.items.get_mut(self.cut) {
                Some(entry) => {
                    let before = entry.bytes;
                    entry.bytes = cut(&mut entry.item);
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

fn weight(item: &mut ThreadItem) -> usize {
    let mut bytes = SHELL.saturating_add(item.id.len());
    each_text(item, &mut |text| bytes = bytes.saturating_add(text.len()));
    bytes
}

/// Cuts the long texts of an item; gives what it weighs then.
fn cut(item: &mut ThreadItem) -> usize {
    let mut anything = false;
    each_text(item, &mut |text| anything |= text.cut());
    if anything {
        item.meta.get_or_insert_default().truncated = true;
    }
    weight(item)
}

/// A text that may be long.
enum Text<'a> {
    Plain(&'a mut String),
    /// JSON cannot be cut, only left out.
    Json(&'a mut Option<Box<RawValue>>),
}

impl Text<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Json(json) => json.as_ref().map_or(0, |json| json.get().len()),
        }
    }

    fn cut(self) -> bool {
        if self.len() <= HEAD {
            return false;
        }
        match self {
            Self::Plain(text) => {
                text.truncate(text.floor_char_boundary(HEAD));
                text.shrink_to_fit();
            }
            Self::Json(json) => *json = None,
        }
        true
    }
}

fn each_text(item: &mut ThreadItem, see: &mut impl FnMut(Text<'_>)) {
    each_text_of_body(&mut item.body, see);
    if let Some(meta) = &mut item.meta {
        each_text_of_meta(meta, see);
    }
}

fn each_text_of_body(body: &mut ItemBody, see: &mut impl FnMut(Text<'_>)) {
    match body {
        ItemBody::UserMessage { content } => content.iter_mut().for_each(|input| match input {
            UserInput::Text { text } | UserInput::Image { url: text } | UserInput::LocalImage { path: text } => {
                see(Text::Plain(text));
            }
        }),
        ItemBody::AgentMessage { text }
        | ItemBody::SubagentMessage { text, .. }
        | ItemBody::WebSearch { query: text } => see(Text::Plain(text)),
        ItemBody::Reasoning { summary, content } => {
            summary.iter_mut().chain(content).for_each(|text| see(Text::Plain(text)));
        }
        ItemBody::CommandExecution { command, aggregated_output, .. } => {
            std::iter::once(command).chain(aggregated_output).for_each(|text| see(Text::Plain(text)));
        }
        ItemBody::FileChange { changes, .. } => changes.iter_mut().for_each(|change| {
            let FileUpdateChange { path, diff, .. } = change;
            [path, diff].into_iter().for_each(|text| see(Text::Plain(text)));
        }),
        ItemBody::McpToolCall { arguments, result, error, .. }
        | ItemBody::ToolCall { arguments, result, error, .. } => {
            see(Text::Json(arguments));
            see(Text::Json(result));
            error.iter_mut().for_each(|text| see(Text::Plain(text)));
        }
        ItemBody::Plan { text, entries } => {
            see(Text::Plain(text));
            entries.iter_mut().for_each(|entry| see(Text::Plain(&mut entry.step)));
        }
        ItemBody::Subagent { prompt, result, error, .. } => {
            prompt.iter_mut().chain(result).chain(error).for_each(|text| see(Text::Plain(text)));
        }
    }
}

fn each_text_of_meta(meta: &mut ItemMeta, see: &mut impl FnMut(Text<'_>)) {
    see(Text::Json(&mut meta.results));
    let texts = [&mut meta.title, &mut meta.error, &mut meta.output].into_iter().flatten();
    texts.chain(&mut meta.queries).for_each(|text| see(Text::Plain(text)));
    let pieces = meta.content.iter_mut().flat_map(|piece| piece.text.iter_mut().chain(&mut piece.data));
    pieces.for_each(|text| see(Text::Plain(text)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(id: &str, text: String) -> ThreadItem {
        ThreadItem { id: id.into(), body: ItemBody::AgentMessage { text }, meta: None }
    }

    fn text(item: &ThreadItem) -> &str {
        match &item.body {
            ItemBody::AgentMessage { text } | ItemBody::SubagentMessage { text, .. } => text,
            _ => "",
        }
    }

    #[test]
    fn an_item_keeps_its_place_and_gets_its_final_state() {
        let mut kept = Kept::default();
        ["a", "b"].into_iter().for_each(|id| kept.begin(message(id, String::new())));
        for (id, said) in [("b", "second"), ("a", "first")] {
            kept.finish(message(id, said.to_owned()));
        }
        let (items, omitted) = kept.take();
        assert_eq!(items.iter().map(text).collect::<Vec<_>>(), ["first", "second"]);
        assert_eq!(omitted, 0);
    }

    #[test]
    fn the_oldest_texts_are_cut_first() {
        let mut kept = Kept::default();
        for id in ["a", "b", "c"] {
            kept.begin(message(id, "é".repeat(ROOM / 5)));
        }
        let (items, omitted) = kept.take();
        let cut: Vec<bool> = items.iter().map(|item| item.meta.as_ref().is_some_and(|meta| meta.truncated)).collect();
        assert_eq!(cut, [true, false, false]);
        assert_eq!((text(&items[0]).len(), omitted), (HEAD, 0));
    }

    #[test]
    fn an_endless_turn_has_bounded_items() {
        let mut kept = Kept::default();
        let many = 3 * ROOM / SHELL;
        for number in 0..many {
            kept.begin(message(&number.to_string(), "x".repeat(700)));
        }
        assert!(kept.bytes <= ROOM);
        let (items, omitted) = kept.take();
        assert_eq!(items.len() as u64 + omitted, many as u64);
        assert_eq!(items.last().map(|item| item.id.to_string()), Some((many - 1).to_string()));
    }

    #[test]
    fn one_item_larger_than_all_room_is_cut() {
        let mut kept = Kept::default();
        ["a", "b"].into_iter().for_each(|id| kept.begin(message(id, String::new())));
        kept.finish(message("a", "x".repeat(2 * ROOM)));
        let (items, _) = kept.take();
        assert_eq!(items.iter().map(|item| text(item).len()).collect::<Vec<_>>(), [HEAD, 0]);
    }
}
