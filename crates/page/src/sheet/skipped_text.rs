//! Fast reading of long sessions: most events add text to items that are complete by now, and the completed item has
//! the whole text. Only the text of items that are still open has to be read.

use std::collections::HashMap;

use switchboard_event::{Event, EventBody, Id, Kind};

use super::Timeline;

/// The open items whose text was skipped, and where it starts.
#[derive(Debug, Default)]
pub struct SkippedText {
    items: HashMap<Id, u64>,
}

impl SkippedText {
    /// The kinds of event that contain the text of an open item.
    pub const KINDS: &'static [Kind] = &[Kind::ItemStarted, Kind::ItemDelta];

    /// Returns the event after which the skipped text starts; `None` if no item is open.
    #[must_use]
    pub fn begin(&self) -> Option<u64> {
        self.items.values().min().copied()
    }

    /// Returns whether text of this item was skipped.
    #[must_use]
    pub fn includes(&self, item: &str) -> bool {
        self.items.contains_key(item)
    }
}

impl Timeline {
    /// The kinds of event that contain everything except the text of open items.
    pub const KINDS_WITHOUT_TEXT: &'static [Kind] = &[
        Kind::SessionStarted,
        Kind::SessionUpdated,
        Kind::SessionEnded,
        Kind::TurnStarted,
        Kind::TurnCompleted,
        Kind::ItemStarted,
        Kind::ItemCompleted,
        Kind::RequestOpened,
        Kind::RequestResolved,
        Kind::Usage,
        Kind::Notice,
    ];

    /// Marks events up to this one as seen, of which those that add text were left out. Returns what to read next.
    #[must_use]
    pub fn skip_text(&mut self, seq: u64) -> SkippedText {
        self.skip_to(seq);
        let begin = |(id, n): (&Id, &u32)| Some((id.clone(), self.line(*n)?.seeded));
        SkippedText { items: self.open.iter().filter_map(begin).collect() }
    }

    /// Marks events up to this one as seen, of which none can be shown.
    pub fn skip_to(&mut self, seq: u64) {
        self.seq = self.seq.max(seq);
        self.summary.state.skip_to(seq);
    }

    /// Applies an event of [`SkippedText::KINDS`]. The events of an item must come in order.
    pub fn apply_skipped(&mut self, skipped: &SkippedText, event: &Event) {
        let begin = event.item.as_ref().and_then(|item| skipped.items.get(item));
        if begin.is_none_or(|begin| event.seq <= *begin) {
            return;
        }
        match &event.body {
            EventBody::ItemStarted(item) => self.item_started(event, item),
            EventBody::ItemDelta(delta) => self.item_delta(event, delta),
            _ => {}
        }
    }
}
