//! Secrets that come in pieces: the pieces of one text are looked at as if they were joined.
//!
//! Events are held while their text may be the beginning of a secret, and everything behind them too, so that order and
//! numbers stay. What follows in the same text decides, or another event of the item, a request, or the end of the turn:
//! never a clock. A driver has seen the record long before; only readers wait.

use std::{borrow::Cow, collections::VecDeque};

use switchboard_event::{Body, Delta, Dir, Event, Field, Id, NativeBody};

use super::{
    COVER, Mask,
    native::{self, Replacement},
};

/// So much is held at most. Beyond it, what is held is not taken for a secret.
const MAX_HELD_BYTES: usize = 1 << 20;

/// Larger records are no pieces of a text.
const MAX_PIECE_BYTES: usize = 64 << 10;

/// What the names of texts that come in pieces have in them. Others, such as ids, would be held for nothing.
const STREAMED_NAMES: [&str; 9] = ["text", "delta", "json", "data", "content", "output", "chunk", "arguments", "input"];

/// Covers secrets in a sequence of events, also those that several events have together.
pub struct StreamMask {
    mask: Mask,
    held: VecDeque<HeldEvent>,
    held_bytes: usize,
    /// The number of the first event that is held; numbers count all events.
    first: u64,
    /// The last event with a record, and the event's place in the session.
    carrier: (u64, u64),
    /// Texts whose end may be the beginning of a secret.
    open: Vec<OpenText>,
    /// A secret was found in pieces. Items that are put together of the pieces have it, too.
    found: bool,
}

struct HeldEvent {
    event: Event,
    bytes: usize,
    /// What to take out of the text that it adds.
    cuts: Vec<Cut>,
    /// What to take out of texts of its record, by their numbers.
    record_cuts: Vec<(usize, Cut)>,
}

/// A part of a text that belongs to a secret. The first part of a secret is covered, the others are left out.
#[derive(Clone, Copy)]
struct Cut {
    start: usize,
    end: usize,
    is_first: bool,
}

/// A text that comes in pieces.
#[derive(Clone, PartialEq, Eq)]
enum TextKey {
    /// A field of an item.
    Field { item: Option<Id>, field: Field, part: u32 },
    /// A text in records that are not understood, by its name.
    Record { item: Option<Id>, name: String },
}

struct OpenText {
    key: TextKey,
    /// What is not decided, and the pieces that it is made of.
    pending: String,
    pieces: Vec<Piece>,
}

struct Piece {
    /// The event, and the one that carries its record.
    event: u64,
    carrier: u64,
    /// The text of the record; none for the text of the event itself.
    text: Option<usize>,
    /// Where in that text the piece begins.
    offset: usize,
    length: usize,
}

impl StreamMask {
    pub fn new(mask: Mask) -> Self {
        let (held, open) = (VecDeque::new(), Vec::new());
        Self { mask, held, held_bytes: 0, first: 0, carrier: (0, 0), open, found: false }
    }

    /// Covers a secret that was put together of pieces: in a finished item, say.
    pub fn cover_joined(&self, event: Event) -> Event {
        if !self.found || matches!(event.body, Body::ItemDelta(Delta::Append { .. })) {
            return event;
        }
        let mut json = Vec::new();
        if event.write_json(&mut json).is_err() {
            return event;
        }
        match self.mask.cover(&json) {
            Cow::Borrowed(_) => event,
            Cow::Owned(covered) => {
                let covered = str::from_utf8(&covered).ok().and_then(|json| Event::from_json(json).ok());
                covered.unwrap_or(event)
            }
        }
    }

    /// Takes the next event.
    pub fn push(&mut self, event: Event) {
        let number = self.first + self.held.len() as u64;
        if event.native.is_some() {
            self.carrier = (number, event.seq);
        }
        let carrier = if event.cause == Some(self.carrier.1) { self.carrier.0 } else { number };
        let bytes = size(&event);
        self.held_bytes += bytes;
        let mut pieces = Vec::new();
        if self.mask.automaton.is_some() {
            self.close_before(&event);
            pieces = self.pieces_of(&event);
        }
        self.held.push_back(HeldEvent { event, bytes, cuts: Vec::new(), record_cuts: Vec::new() });
        for (key, text, content) in pieces {
            let piece =
                Piece { event: number, carrier: carrier.max(self.first), text, offset: 0, length: content.len() };
            self.extend(&key, &content, piece);
        }
        if self.held_bytes > MAX_HELD_BYTES {
            self.close_all();
        }
    }

    /// Gives the events that nothing can change any more.
    pub fn release(&mut self, mut give: impl FnMut(Event)) {
        let pieces = self.open.iter().flat_map(|open| &open.pieces);
        let bound = pieces.map(|piece| piece.carrier.min(piece.event)).min();
        while bound.is_none_or(|bound| self.first < bound)
            && let Some(held) = self.held.pop_front()
        {
            self.first += 1;
            self.held_bytes -= held.bytes;
            give(self.finish(held));
        }
    }

    /// Decides everything: nothing more comes.
    pub fn close_all(&mut self) {
        for open in std::mem::take(&mut self.open) {
            self.close(&open);
        }
    }

    /// An event that is not the next piece of a text ends it.
    fn close_before(&mut self, event: &Event) {
        let is_ours = event.native.as_ref().is_some_and(|native| native.dir == Dir::Out);
        let ends = |key: &TextKey| match (&event.body, key) {
            (
                Body::SessionStarted(_)
                | Body::SessionEnded(_)
                | Body::TurnStarted(_)
                | Body::TurnCompleted(_)
                | Body::RequestOpened(_)
                | Body::RequestResolved(_),
                _,
            ) => true,
            (body, TextKey::Record { .. }) => !matches!(body, Body::Notice(_)),
            (Body::ItemDelta(Delta::Append { field, part, .. }), TextKey::Field { item, field: known, part: of }) => {
                event.item == *item && (field, part) != (known, of)
            }
            (_, TextKey::Field { item, .. }) => event.item.is_some() && event.item == *item,
        };
        // What we send is written before it goes, and nothing may stand before it that is held.
        let (closed, open) = std::mem::take(&mut self.open).into_iter().partition(|open| is_ours || ends(&open.key));
        self.open = open;
        let closed: Vec<OpenText> = closed;
        closed.iter().for_each(|open| self.close(open));
    }

    /// The texts that an event adds to: that of its item, or those of a record that was not understood. As a rule they
    /// are of no interest.
    fn pieces_of(&self, event: &Event) -> Vec<(TextKey, Option<usize>, String)> {
        match (&event.body, &event.native) {
            (Body::ItemDelta(Delta::Append { field, part, text }), _) => {
                let is_open = !self.open.is_empty();
                let key = || TextKey::Field { item: event.item.clone(), field: *field, part: *part };
                let matters = self.matters(text) || is_open && self.is_open(&key());
                matters.then(|| (key(), None, text.clone())).into_iter().collect()
            }
            (Body::Notice(_), Some(native)) if native.dir == Dir::In && size(event) <= MAX_PIECE_BYTES => {
                let texts = native::texts(&native.body).into_iter().enumerate();
                let pieces = texts.filter(|(_, found)| is_streamed(found.name)).filter_map(|(number, found)| {
                    let key = TextKey::Record { item: event.item.clone(), name: found.name.to_owned() };
                    let matters = self.matters(&found.text) || self.is_open(&key);
                    matters.then(|| (key, Some(number), found.text.into_owned()))
                });
                pieces.collect()
            }
            _ => Vec::new(),
        }
    }

    /// Has a secret in it, or may be the beginning of one.
    fn matters(&self, text: &str) -> bool {
        self.mask.find(text, 0).is_some() || self.mask.find_beginning(text, 0).is_some()
    }

    fn is_open(&self, key: &TextKey) -> bool {
        self.open.iter().any(|open| open.key == *key)
    }

    fn close(&mut self, open: &OpenText) {
        let mut from = 0;
        while let Some((start, end)) = self.mask.find(&open.pending, from) {
            self.cut(&open.pieces, start, end);
            from = end;
        }
    }

    fn extend(&mut self, key: &TextKey, content: &str, piece: Piece) {
        let known = self.open.iter().position(|open| open.key == *key).map(|at| self.open.swap_remove(at));
        let fresh = || OpenText { key: key.clone(), pending: String::new(), pieces: Vec::new() };
        let mut open = known.unwrap_or_else(fresh);
        open.pending.push_str(content);
        open.pieces.push(piece);
        let mut from = 0;
        let undecided = loop {
            let (secret, beginning) =
                (self.mask.find(&open.pending, from), self.mask.find_beginning(&open.pending, from));
            match (secret, beginning) {
                (Some((start, end)), beginning) if beginning.is_none_or(|beginning| start < beginning) => {
                    self.cut(&open.pieces, start, end);
                    from = end;
                }
                (_, beginning) => break beginning,
            }
        };
        if let Some(start) = undecided {
            open.forget(start);
            self.open.push(open);
        }
    }

    /// Marks a secret in the pieces that it is made of.
    fn cut(&mut self, pieces: &[Piece], start: usize, end: usize) {
        self.found = true;
        let (mut at, mut is_first) = (0, true);
        for piece in pieces {
            let (from, to) = (start.max(at), end.min(at + piece.length));
            if from < to
                && let Some(number) = piece.event.checked_sub(self.first)
                && let Some(held) = usize::try_from(number).ok().and_then(|number| self.held.get_mut(number))
            {
                let cut = Cut { start: piece.offset + from - at, end: piece.offset + to - at, is_first };
                match piece.text {
                    Some(text) => held.record_cuts.push((text, cut)),
                    None => held.cuts.push(cut),
                }
                is_first = false;
            }
            at += piece.length;
        }
    }

    /// Takes the secrets out of an event and its record.
    fn finish(&self, held: HeldEvent) -> Event {
        let HeldEvent { mut event, cuts, record_cuts, .. } = held;
        let of_record =
            self.held.iter().take_while(|other| event.native.is_some() && other.event.cause == Some(event.seq));
        let mut replacements: Vec<_> = of_record.filter_map(|other| replacement(&other.event, &other.cuts)).collect();
        let own = replacement(&event, &cuts);
        if let (Body::ItemDelta(Delta::Append { text, .. }), Some(own)) = (&mut event.body, &own) {
            text.clone_from(&own.to);
        }
        replacements.extend(own);
        if let Some(native) = &mut event.native {
            replacements.iter().for_each(|replacement| native::replace(&mut native.body, replacement));
            let changed = changed_texts(&native.body, &record_cuts);
            native::set_texts(&mut native.body, &changed);
        }
        event
    }
}

impl OpenText {
    /// Forgets what is decided: everything before a place.
    fn forget(&mut self, start: usize) {
        self.pending.drain(..start);
        let mut decided = start;
        self.pieces.retain_mut(|piece| {
            let gone = decided.min(piece.length);
            decided -= gone;
            piece.offset += gone;
            piece.length -= gone;
            piece.length > 0
        });
    }
}

fn size(event: &Event) -> usize {
    let record = event.native.as_ref().map_or(0, |native| match &native.body {
        NativeBody::Json(json) => json.get().len(),
        NativeBody::Text(text) => text.len(),
        NativeBody::Bytes(bytes) => bytes.len(),
    });
    let text = match &event.body {
        Body::ItemDelta(Delta::Append { text, .. }) => text.len(),
        _ => 0,
    };
    record + text
}

fn is_streamed(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    STREAMED_NAMES.iter().any(|part| name.contains(part))
}

fn replacement(event: &Event, cuts: &[Cut]) -> Option<Replacement> {
    match &event.body {
        Body::ItemDelta(Delta::Append { text, .. }) if !cuts.is_empty() => {
            Some(Replacement { from: text.clone(), to: without(text, cuts.iter().copied()) })
        }
        _ => None,
    }
}

fn changed_texts(body: &NativeBody, cuts: &[(usize, Cut)]) -> Vec<(usize, String)> {
    if cuts.is_empty() {
        return Vec::new();
    }
    let of = |number: usize| cuts.iter().filter(move |(of, _)| *of == number).map(|(_, cut)| *cut);
    let texts = native::texts(body).into_iter().enumerate().filter(|(number, _)| of(*number).next().is_some());
    texts.map(|(number, found)| (number, without(&found.text, of(number)))).collect()
}

fn without(text: &str, cuts: impl Iterator<Item = Cut>) -> String {
    let (mut kept, mut from) = (String::with_capacity(text.len()), 0);
    for cut in cuts {
        kept.push_str(text.get(from..cut.start).unwrap_or_default());
        if cut.is_first {
            kept.push_str(COVER);
        }
        from = cut.end;
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    kept
}

#[cfg(test)]
mod tests;
