//! What somebody needs who has seen all up to an event: whole entries, or only what has grown.

use std::collections::HashMap;

use serde::Serialize;

use super::{
    Growth, Sheet,
    paint::{self, Html},
};

/// More entries than this are not sent one by one: it is better to begin anew.
const MOST_CHANGES: usize = 500;

/// One change of what is shown. `T` is an entry in the form in which it is sent.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "op", rename_all = "camelCase")]
pub enum Op<T> {
    /// A new entry, or one that takes the place of that of the same number.
    Entry {
        /// It.
        entry: T,
    },
    /// Text was added to what is not finished.
    Text {
        /// The entry.
        n: u32,
        /// What was added.
        text: String,
    },
    /// Something is finished.
    Blocks {
        /// The entry.
        n: u32,
        /// What is finished, to be added to what was before.
        html: Html,
        /// What is not, now.
        tail: String,
    },
    /// Too much was missed.
    Reset,
}

/// How far somebody has seen a session.
#[derive(Clone, Debug, Default)]
pub struct Cursor {
    /// The last event that was seen.
    pub seq: u64,
    known: HashMap<u32, Known>,
}

/// What somebody has of a text that grows.
#[derive(Clone, Copy, Debug)]
struct Known {
    stamp: u64,
    blocks: usize,
    tail: usize,
    turns: u32,
}

impl Known {
    fn new(stamp: u64, growth: &Growth) -> Self {
        Self { stamp, blocks: growth.blocks.len(), tail: growth.tail.len(), turns: growth.turns }
    }
}

impl Sheet {
    /// The place of somebody who was given the entries as they were at an event.
    #[must_use]
    pub fn cursor(&self, seq: u64) -> Cursor {
        let unchanged = self.growths.iter().filter_map(|(n, growth)| {
            let line = self.line(*n).filter(|line| line.last <= seq)?;
            Some((*n, Known::new(line.stamp, growth)))
        });
        Cursor { seq, known: unchanged.collect() }
    }

    /// What changed since then. Whole entries are made by whoever asks.
    pub fn changes<T>(&self, cursor: &mut Cursor, mut entry: impl FnMut(u32) -> Option<T>) -> Vec<Op<T>> {
        if cursor.seq >= self.seq() {
            return Vec::new();
        }
        let changed = self.touched_since(cursor.seq).filter(|changed| changed.len() <= MOST_CHANGES);
        cursor.seq = self.seq();
        let Some(changed) = changed else {
            *cursor = self.cursor(self.seq());
            return vec![Op::Reset];
        };
        let mut ops = Vec::new();
        for n in changed {
            match self.grown_since(n, cursor) {
                Some(grown) => ops.extend(grown),
                None => ops.extend(entry(n).map(|entry| Op::Entry { entry })),
            }
        }
        ops
    }

    /// What was added to an entry, if nothing else happened to it; else all of it must be sent.
    fn grown_since<T>(&self, n: u32, cursor: &mut Cursor) -> Option<Option<Op<T>>> {
        let stamp = self.line(n)?.stamp;
        let Some(growth) = self.growth(n) else {
            cursor.known.remove(&n);
            return None;
        };
        let now = Known::new(stamp, growth);
        let before = cursor.known.insert(n, now).filter(|before| before.stamp == stamp)?;
        let blocks = growth.blocks.get(before.blocks..)?;
        if before.turns != now.turns {
            return Some(Some(Op::Blocks { n, html: paint::join(blocks), tail: growth.tail.clone() }));
        }
        let text = growth.tail.get(before.tail..)?;
        Some((!text.is_empty()).then(|| Op::Text { n, text: text.to_owned() }))
    }
}
