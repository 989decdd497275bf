//! Changes for a reader that is up to date to an event: whole entries, or only added text.

use std::collections::HashMap;

use serde::Serialize;

use super::{GrowingText, Timeline};
use crate::html::{SafeHtml, join};

/// If more entries changed, a reset is cheaper than sending them one by one.
const MAX_CHANGES: usize = 500;

/// One change of the timeline. `T` is an entry in its serialized form.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "op", rename_all = "camelCase")]
pub enum TimelineOp<T> {
    /// A new entry, or a replacement of the entry with the same number.
    Entry { entry: T },
    /// Text was added to the unfinished part.
    Text {
        /// The entry.
        n: u32,
        text: String,
    },
    /// Part of the text is finished.
    Blocks {
        /// The entry.
        n: u32,
        /// The newly finished part, to be appended.
        html: SafeHtml,
        /// The new unfinished part.
        tail: String,
    },
    /// Too much was missed: the reader must reload.
    Reset,
}

/// The position of a reader in a session.
#[derive(Clone, Debug, Default)]
pub struct TimelineCursor {
    pub seq: u64,
    known: HashMap<u32, KnownGrowth>,
}

/// The part of a growing text that a reader has.
#[derive(Clone, Copy, Debug)]
struct KnownGrowth {
    stamp: u64,
    blocks: usize,
    tail: usize,
    turns: u32,
}

impl KnownGrowth {
    fn new(stamp: u64, growth: &GrowingText) -> Self {
        Self { stamp, blocks: growth.blocks.len(), tail: growth.tail.len(), turns: growth.turns }
    }
}

impl Timeline {
    /// Returns the position of a reader that has the entries as of an event.
    #[must_use]
    pub fn cursor(&self, seq: u64) -> TimelineCursor {
        let unchanged = self.growths.iter().filter_map(|(n, growth)| {
            let line = self.line(*n).filter(|line| line.last <= seq)?;
            Some((*n, KnownGrowth::new(line.stamp, growth)))
        });
        TimelineCursor { seq, known: unchanged.collect() }
    }

    /// Returns the changes since a position and advances it. The caller renders whole entries.
    pub fn changes<T>(
        &self,
        cursor: &mut TimelineCursor,
        mut entry: impl FnMut(u32) -> Option<T>,
    ) -> Vec<TimelineOp<T>> {
        if cursor.seq >= self.seq() {
            return Vec::new();
        }
        let changed = self.touched_since(cursor.seq).filter(|changed| changed.len() <= MAX_CHANGES);
        let before = std::mem::replace(&mut cursor.seq, self.seq());
        let Some(changed) = changed else {
            *cursor = self.cursor(self.seq());
            return vec![TimelineOp::Reset];
        };
        let mut ops = Vec::new();
        for n in changed {
            match self.grown_since(n, before, &mut cursor.known) {
                Some(grown) => ops.extend(grown),
                None => ops.extend(entry(n).map(|entry| TimelineOp::Entry { entry })),
            }
        }
        ops
    }

    /// Returns the text added to an entry; `None` if something else changed and the whole entry must be sent.
    fn grown_since<T>(&self, n: u32, seq: u64, known: &mut HashMap<u32, KnownGrowth>) -> Option<Option<TimelineOp<T>>> {
        let stamp = self.line(n)?.stamp;
        let Some(growth) = self.growth(n) else {
            known.remove(&n);
            // This text is not shown before it is complete.
            return (stamp <= seq).then_some(None);
        };
        let now = KnownGrowth::new(stamp, growth);
        let before = known.insert(n, now).filter(|before| before.stamp == stamp)?;
        let blocks = growth.blocks.get(before.blocks..)?;
        if before.turns != now.turns {
            return Some(Some(TimelineOp::Blocks { n, html: join(blocks), tail: growth.tail.clone() }));
        }
        let text = growth.tail.get(before.tail..)?;
        Some((!text.is_empty()).then(|| TimelineOp::Text { n, text: text.to_owned() }))
    }
}
