//! Masks secrets that arrive in pieces: the pieces of one text are examined as if they were joined.
//!
//! Events are held while their text may be the beginning of a secret, and all later events too, so that order and
//! numbers stay. The continuation of the text decides, or another event of the item, a request, or the end of the turn:
//! never a clock. A driver has seen the record long before; only readers wait.

use std::{borrow::Cow, collections::VecDeque};

use switchboard_event::{Delta, Dir, Event, EventBody, Field, Id, NativeBody};

use super::{
    MASK, SecretMask,
    native_texts::{Replacement, native_texts, replace_text, set_texts},
};

/// The maximum size of held events. Beyond it, held texts are released as no secret.
const MAX_HELD_BYTES: usize = 1 << 20;

/// The maximum size of a record that can be a piece of a text.
const MAX_PIECE_BYTES: usize = 64 << 10;

/// Parts of the names of texts that arrive in pieces. Others, such as IDs, would be held needlessly.
const STREAMED_NAMES: [&str; 9] = ["text", "delta", "json", "data", "content", "output", "chunk", "arguments", "input"];

/// Masks secrets in a sequence of events, including those that are spread over several events.
pub struct StreamMask {
    mask: SecretMask,
    held: VecDeque<HeldEvent>,
    held_bytes: usize,
    /// The number of the first event that is held; numbers count all events.
    first_held: u64,
    /// The number of the last event with a record, and its `seq`.
    carrier: (u64, u64),
    /// Texts whose end may be the beginning of a secret.
    open: Vec<OpenText>,
    /// A secret was found in pieces. Items that are assembled from the pieces contain it, too.
    found_secret: bool,
}

struct HeldEvent {
    event: Event,
    bytes: usize,
    /// The cuts in the text that it appends.
    cuts: Vec<SecretCut>,
    /// The cuts in texts of its record, with the indexes of the texts.
    record_cuts: Vec<(usize, SecretCut)>,
}

/// A part of a text that belongs to a secret. The first part of a secret is replaced by the mask, the others are
/// removed.
#[derive(Clone, Copy)]
struct SecretCut {
    start: usize,
    end: usize,
    is_first: bool,
}

/// Identifies a text that arrives in pieces.
#[derive(Clone, PartialEq, Eq)]
enum TextKey {
    Field {
        item: Option<Id>,
        field: Field,
        part: u32,
    },
    /// A text in records that were not translated, by its name.
    Record {
        item: Option<Id>,
        name: String,
    },
}

struct OpenText {
    key: TextKey,
    /// The undecided text, and the pieces that it consists of.
    pending: String,
    pieces: Vec<TextPiece>,
}

struct TextPiece {
    /// The number of the event, and of the one that carries its record.
    event: u64,
    carrier: u64,
    /// The index of the text in the record; `None` for the text of the event itself.
    text: Option<usize>,
    /// The start of the piece in that text.
    offset: usize,
    length: usize,
}

impl StreamMask {
    pub fn new(mask: SecretMask) -> Self {
        let (held, open) = (VecDeque::new(), Vec::new());
        Self { mask, held, held_bytes: 0, first_held: 0, carrier: (0, 0), open, found_secret: false }
    }

    /// Masks a secret that was assembled from pieces, for example in a completed item.
    pub fn mask_joined(&self, event: Event) -> Event {
        if !self.found_secret || matches!(event.body, EventBody::ItemDelta(Delta::Append { .. })) {
            return event;
        }
        let mut json = Vec::new();
        if event.write_json(&mut json).is_err() {
            return event;
        }
        match self.mask.mask_bytes(&json) {
            Cow::Borrowed(_) => event,
            Cow::Owned(covered) => {
                let covered = str::from_utf8(&covered).ok().and_then(|json| Event::from_json(json).ok());
                covered.unwrap_or(event)
            }
        }
    }

    pub fn push(&mut self, event: Event) {
        let number = self.first_held + self.held.len() as u64;
        if event.native.is_some() {
            self.carrier = (number, event.seq);
        }
        let carrier = if event.cause == Some(self.carrier.1) { self.carrier.0 } else { number };
        let bytes = event_bytes(&event);
        self.held_bytes += bytes;
        let mut pieces = Vec::new();
        if self.mask.automaton.is_some() {
            self.close_before(&event);
            pieces = self.pieces_of(&event);
        }
        self.held.push_back(HeldEvent { event, bytes, cuts: Vec::new(), record_cuts: Vec::new() });
        for (key, text, content) in pieces {
            let piece = TextPiece {
                event: number,
                carrier: carrier.max(self.first_held),
                text,
                offset: 0,
                length: content.len(),
            };
            self.extend(&key, &content, piece);
        }
        if self.held_bytes > MAX_HELD_BYTES {
            self.close_all();
        }
    }

    /// Passes on the events that cannot change any more.
    pub fn release(&mut self, mut give: impl FnMut(Event)) {
        let pieces = self.open.iter().flat_map(|open| &open.pieces);
        let bound = pieces.map(|piece| piece.carrier.min(piece.event)).min();
        while bound.is_none_or(|bound| self.first_held < bound)
            && let Some(held) = self.held.pop_front()
        {
            self.first_held += 1;
            self.held_bytes -= held.bytes;
            give(self.finish(held));
        }
    }

    /// Decides all open texts: no more events follow.
    pub fn close_all(&mut self) {
        for open in std::mem::take(&mut self.open) {
            self.close(&open);
        }
    }

    /// Closes the texts that an event ends because it is not their next piece.
    fn close_before(&mut self, event: &Event) {
        let is_outgoing = event.native.as_ref().is_some_and(|native| native.dir == Dir::Out);
        let ends = |key: &TextKey| match (&event.body, key) {
            (
                EventBody::SessionStarted(_)
                | EventBody::SessionEnded(_)
                | EventBody::TurnStarted(_)
                | EventBody::TurnCompleted(_)
                | EventBody::RequestOpened(_)
                | EventBody::RequestResolved(_),
                _,
            ) => true,
            (body, TextKey::Record { .. }) => !matches!(body, EventBody::Notice(_)),
            (
                EventBody::ItemDelta(Delta::Append { field, part, .. }),
                TextKey::Field { item, field: known, part: of },
            ) => event.item == *item && (field, part) != (known, of),
            (_, TextKey::Field { item, .. }) => event.item.is_some() && event.item == *item,
        };
        // Outgoing records are written before they are sent, so no held event may precede them.
        let (closed, open) =
            std::mem::take(&mut self.open).into_iter().partition(|open| is_outgoing || ends(&open.key));
        self.open = open;
        let closed: Vec<OpenText> = closed;
        closed.iter().for_each(|open| self.close(open));
    }

    /// Returns the texts that an event extends: that of its item, or those of a record that was not translated. Usually
    /// none of them matters.
    fn pieces_of(&self, event: &Event) -> Vec<(TextKey, Option<usize>, String)> {
        match (&event.body, &event.native) {
            (EventBody::ItemDelta(Delta::Append { field, part, text }), _) => {
                let is_open = !self.open.is_empty();
                let key = || TextKey::Field { item: event.item.clone(), field: *field, part: *part };
                let is_relevant = self.is_relevant(text) || is_open && self.is_open(&key());
                is_relevant.then(|| (key(), None, text.clone())).into_iter().collect()
            }
            (EventBody::Notice(_), Some(native)) if native.dir == Dir::In && event_bytes(event) <= MAX_PIECE_BYTES => {
                let texts = native_texts(&native.body).into_iter().enumerate();
                let pieces = texts.filter(|(_, found)| is_streamed_name(found.name)).filter_map(|(number, found)| {
                    let key = TextKey::Record { item: event.item.clone(), name: found.name.to_owned() };
                    let is_relevant = self.is_relevant(&found.text) || self.is_open(&key);
                    is_relevant.then(|| (key, Some(number), found.text.into_owned()))
                });
                pieces.collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns whether a text contains a secret, or may end with the beginning of one.
    fn is_relevant(&self, text: &str) -> bool {
        self.mask.find_secret(text, 0).is_some() || self.mask.find_prefix(text, 0).is_some()
    }

    fn is_open(&self, key: &TextKey) -> bool {
        self.open.iter().any(|open| open.key == *key)
    }

    fn close(&mut self, open: &OpenText) {
        let mut from = 0;
        while let Some((start, end)) = self.mask.find_secret(&open.pending, from) {
            self.cut(&open.pieces, start, end);
            from = end;
        }
    }

    fn extend(&mut self, key: &TextKey, content: &str, piece: TextPiece) {
        let known = self.open.iter().position(|open| open.key == *key).map(|at| self.open.swap_remove(at));
        let fresh = || OpenText { key: key.clone(), pending: String::new(), pieces: Vec::new() };
        let mut open = known.unwrap_or_else(fresh);
        open.pending.push_str(content);
        open.pieces.push(piece);
        let mut from = 0;
        let undecided = loop {
            let (secret, prefix) =
                (self.mask.find_secret(&open.pending, from), self.mask.find_prefix(&open.pending, from));
            match (secret, prefix) {
                (Some((start, end)), prefix) if prefix.is_none_or(|prefix| start < prefix) => {
                    self.cut(&open.pieces, start, end);
                    from = end;
                }
                (_, prefix) => break prefix,
            }
        };
        if let Some(start) = undecided {
            open.forget(start);
            self.open.push(open);
        }
    }

    /// Marks a secret in the pieces that it consists of.
    fn cut(&mut self, pieces: &[TextPiece], start: usize, end: usize) {
        self.found_secret = true;
        let (mut at, mut is_first) = (0, true);
        for piece in pieces {
            let (from, to) = (start.max(at), end.min(at + piece.length));
            if from < to
                && let Some(number) = piece.event.checked_sub(self.first_held)
                && let Some(held) = usize::try_from(number).ok().and_then(|number| self.held.get_mut(number))
            {
                let cut = SecretCut { start: piece.offset + from - at, end: piece.offset + to - at, is_first };
                match piece.text {
                    Some(text) => held.record_cuts.push((text, cut)),
                    None => held.cuts.push(cut),
                }
                is_first = false;
            }
            at += piece.length;
        }
    }

    /// Removes the secrets from an event and its record.
    fn finish(&self, held: HeldEvent) -> Event {
        let HeldEvent { mut event, cuts, record_cuts, .. } = held;
        let of_record =
            self.held.iter().take_while(|other| event.native.is_some() && other.event.cause == Some(event.seq));
        let mut replacements: Vec<_> = of_record.filter_map(|other| replacement(&other.event, &other.cuts)).collect();
        let own = replacement(&event, &cuts);
        if let (EventBody::ItemDelta(Delta::Append { text, .. }), Some(own)) = (&mut event.body, &own) {
            text.clone_from(&own.to);
        }
        replacements.extend(own);
        if let Some(native) = &mut event.native {
            replacements.iter().for_each(|replacement| replace_text(&mut native.body, replacement));
            let changed = changed_texts(&native.body, &record_cuts);
            set_texts(&mut native.body, &changed);
        }
        event
    }
}

impl OpenText {
    /// Drops the decided text: everything before a position.
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

fn event_bytes(event: &Event) -> usize {
    let record = event.native.as_ref().map_or(0, |native| match &native.body {
        NativeBody::Json(json) => json.get().len(),
        NativeBody::Text(text) => text.len(),
        NativeBody::Bytes(bytes) => bytes.len(),
    });
    let text = match &event.body {
        EventBody::ItemDelta(Delta::Append { text, .. }) => text.len(),
        _ => 0,
    };
    record + text
}

fn is_streamed_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    STREAMED_NAMES.iter().any(|part| name.contains(part))
}

fn replacement(event: &Event, cuts: &[SecretCut]) -> Option<Replacement> {
    match &event.body {
        EventBody::ItemDelta(Delta::Append { text, .. }) if !cuts.is_empty() => {
            Some(Replacement { from: text.clone(), to: apply_cuts(text, cuts.iter().copied()) })
        }
        _ => None,
    }
}

fn changed_texts(body: &NativeBody, cuts: &[(usize, SecretCut)]) -> Vec<(usize, String)> {
    if cuts.is_empty() {
        return Vec::new();
    }
    let of = |number: usize| cuts.iter().filter(move |(of, _)| *of == number).map(|(_, cut)| *cut);
    let texts = native_texts(body).into_iter().enumerate().filter(|(number, _)| of(*number).next().is_some());
    texts.map(|(number, found)| (number, apply_cuts(&found.text, of(number)))).collect()
}

fn apply_cuts(text: &str, cuts: impl Iterator<Item = SecretCut>) -> String {
    let (mut kept, mut from) = (String::with_capacity(text.len()), 0);
    for cut in cuts {
        kept.push_str(text.get(from..cut.start).unwrap_or_default());
        if cut.is_first {
            kept.push_str(MASK);
        }
        from = cut.end;
    }
    kept.push_str(text.get(from..).unwrap_or_default());
    kept
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{Value, json, value::RawValue};
    use switchboard_event::{
        AgentMessage, Delta, Dir, Event, EventBody, Field, Id, Item, NativeBody, NativeRecord, Notice, Timestamp,
        Topic, to_raw_json,
    };

    use super::StreamMask;
    use crate::mask::SecretMask;

    const SECRET: &str = "sk-0123456789";

    fn mask(secrets: &[&str]) -> SecretMask {
        SecretMask::new(secrets.iter().map(|secret| (*secret).to_owned()))
    }

    fn event(seq: u64, item: Option<&str>, body: EventBody, native: Option<&Value>) -> Event {
        let record = |native| NativeRecord { dir: Dir::In, body: NativeBody::Json(to_raw_json(native)) };
        Event {
            seq,
            session: Id::from("s"),
            at: Timestamp::from_micros(0).unwrap(),
            agent: Id::from("a"),
            run: 1,
            turn: Some(1),
            item: item.map(Id::from),
            parent: None,
            thread: None,
            body,
            native: native.map(record),
            cause: None,
        }
    }

    fn append(seq: u64, item: &str, text: &str) -> Event {
        let body = EventBody::ItemDelta(Delta::Append { field: Field::Text, part: 0, text: text.to_owned() });
        event(seq, Some(item), body, Some(&json!({ "item": item, "nested": { "delta": text }, "n": 1 })))
    }

    fn notice(seq: u64) -> Event {
        event(seq, None, EventBody::Notice(Box::new(Notice::new(Topic::Unknown))), None)
    }

    fn delta_text(event: &Event) -> &str {
        match &event.body {
            EventBody::ItemDelta(Delta::Append { text, .. }) => text,
            _ => "",
        }
    }

    fn native_json(event: &Event) -> Value {
        let Some(NativeRecord { body: NativeBody::Json(json), .. }) = &event.native else { return Value::Null };
        serde_json::from_str(json.get()).unwrap()
    }

    fn native_delta(event: &Event) -> String {
        native_json(event)["nested"]["delta"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns the events released while events are pushed, and those released at the end.
    fn run_stream(mask: SecretMask, events: Vec<Event>) -> (Vec<Event>, Vec<Event>) {
        let (mut stream, mut live, mut rest) = (StreamMask::new(mask), Vec::new(), Vec::new());
        for event in events {
            let event = stream.mask_joined(event);
            stream.push(event);
            stream.release(|event| live.push(event));
        }
        stream.close_all();
        stream.release(|event| rest.push(event));
        (live, rest)
    }

    #[test]
    fn a_secret_in_pieces_is_masked_in_the_event_and_in_its_record() {
        let pieces = ["the key is s", "k-01", "23", "", "456", "789, or so"];
        let (live, rest) =
            run_stream(mask(&[SECRET]), (1..).zip(pieces).map(|(seq, text)| append(seq, "i", text)).collect());
        assert!(rest.is_empty(), "the last piece decides");
        let texts: Vec<_> = live.iter().map(delta_text).collect();
        assert_eq!(texts, ["the key is ***", "", "", "", "", ", or so"]);
        assert_eq!(live.iter().map(native_delta).collect::<Vec<_>>(), texts);
        assert!(live.iter().all(|event| native_json(event)["n"] == 1 && native_json(event)["item"] == "i"));
    }

    #[test]
    fn interleaved_texts_are_separate() {
        let pieces = [("a", "sk-01"), ("b", "sk-0123"), ("a", "23456"), ("b", "45678"), ("b", "9"), ("a", "789!")];
        let (live, _) =
            run_stream(mask(&[SECRET]), (1..).zip(pieces).map(|(seq, (item, text))| append(seq, item, text)).collect());
        assert_eq!(live.iter().map(delta_text).collect::<Vec<_>>(), ["***", "***", "", "", "", "!"]);
        assert_eq!(live.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn a_text_that_resembles_a_secret_is_unchanged_and_released() {
        let events = vec![append(1, "i", "sk-01"), notice(2), append(3, "i", "24"), append(4, "i", "sk-"), notice(5)];
        let before: Vec<_> = events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
        let (live, rest) = run_stream(mask(&[SECRET]), events);
        let seqs = |events: &[Event]| events.iter().map(|event| event.seq).collect::<Vec<_>>();
        assert_eq!((seqs(&live), seqs(&rest)), (vec![1, 2, 3], vec![4, 5]));
        let after: Vec<_> = live.iter().chain(&rest).map(|event| serde_json::to_string(event).unwrap()).collect();
        assert_eq!(after, before);
    }

    #[test]
    fn another_event_of_the_item_a_request_and_the_end_of_the_turn_decide() {
        let item = || Box::new(Item::new(AgentMessage { text: "sk-".to_owned(), ..AgentMessage::default() }));
        for last in [
            event(2, Some("i"), EventBody::ItemCompleted(item()), None),
            event(2, None, EventBody::RequestOpened(Box::default()), None),
            event(2, None, EventBody::TurnCompleted(Box::default()), None),
        ] {
            let (live, rest) = run_stream(mask(&[SECRET]), vec![append(1, "i", "sk-"), last]);
            assert_eq!((live.len(), rest.len()), (2, 0));
            assert_eq!(delta_text(live.first().unwrap()), "sk-");
        }
    }

    #[test]
    fn an_item_that_is_assembled_from_pieces_is_masked() {
        let text = format!("it is {SECRET}");
        let whole = Item::new(AgentMessage { text, ..AgentMessage::default() });
        let done = event(3, Some("i"), EventBody::ItemCompleted(Box::new(whole)), None);
        let (live, _) =
            run_stream(mask(&[SECRET]), vec![append(1, "i", "it is sk-01"), append(2, "i", "23456789"), done]);
        let json = serde_json::to_string(live.last().unwrap()).unwrap();
        assert!(json.contains("it is ***") && !json.contains(SECRET), "{json}");
    }

    #[test]
    fn a_record_whose_text_has_no_event_is_masked() {
        let heartbeat = |seq, text: &str| {
            let record = json!({ "type": "delta", "partial_json": text, "id": format!("{seq}sk") });
            event(seq, None, EventBody::Notice(Box::new(Notice::new(Topic::Heartbeat))), Some(&record))
        };
        let events =
            vec![heartbeat(1, "{\"key\":\"sk"), heartbeat(2, "-0123"), heartbeat(3, "456789\"}"), heartbeat(4, "x")];
        let (live, rest) = run_stream(mask(&[SECRET]), events);
        let texts: Vec<_> =
            live.iter().map(|event| native_json(event)["partial_json"].as_str().unwrap().to_owned()).collect();
        assert_eq!(texts, ["{\"key\":\"***", "", "\"}", "x"]);
        assert!(rest.is_empty());
    }

    #[test]
    fn a_record_that_another_event_carries_is_masked() {
        let item = Item::new(AgentMessage::default());
        let carrier = event(1, Some("i"), EventBody::ItemStarted(Box::new(item)), Some(&json!({ "delta": "sk-0123" })));
        let mut first = append(2, "i", "sk-0123");
        (first.native, first.cause) = (None, Some(1));
        let mut stream = StreamMask::new(mask(&[SECRET]));
        let mut out = Vec::new();
        // The events of one record come together.
        stream.push(carrier);
        stream.push(first);
        stream.release(|event| out.push(event));
        assert!(out.is_empty());
        stream.push(append(3, "i", "456789"));
        stream.release(|event| out.push(event));
        assert_eq!(native_json(out.first().unwrap())["delta"], "***");
        assert_eq!(out.iter().map(delta_text).collect::<Vec<_>>(), ["", "***", ""]);
    }

    #[test]
    fn held_events_are_bounded() {
        let mut events = vec![append(1, "i", "sk-")];
        events.extend((2..200).map(|seq| append(seq, "other", &"x".repeat(10_000))));
        let (live, _) = run_stream(mask(&[SECRET]), events);
        assert!(live.len() > 50, "{}", live.len());
    }

    #[test]
    fn without_secrets_nothing_is_held() {
        let (live, _) = run_stream(SecretMask::default(), vec![append(1, "i", "sk-0123")]);
        assert_eq!(live.len(), 1);
        assert_eq!(delta_text(live.first().unwrap()), "sk-0123");
    }

    /// Generates texts of few letters, so that secrets and beginnings of secrets are frequent.
    fn arbitrary_text() -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop_oneof![
                4 => "[abc\"é]{0,5}".prop_map(String::from),
                1 => Just("abcabcab".to_owned()),
                1 => Just("abcabcabcc".to_owned()),
                1 => Just("bcabcabé\"".to_owned()),
            ],
            0..12,
        )
        .prop_map(|parts| parts.concat())
    }

    fn split_at(text: &str, cuts: &[prop::sample::Index]) -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(letters.len() + 1)).collect();
        places.extend([0, letters.len()]);
        places.sort_unstable();
        places.windows(2).map(|pair| letters.get(pair[0]..pair[1]).unwrap().iter().collect()).collect()
    }

    proptest! {
        #[test]
        fn any_split_gives_the_result_of_a_mask_over_the_joined_text(
            texts in prop::collection::vec((arbitrary_text(), prop::collection::vec(any::<prop::sample::Index>(), 0..10)), 1..4),
            order in prop::collection::vec(any::<prop::sample::Index>(), 60),
        ) {
            let mask = mask(&["abcabcab", "abcabcabcc", "bcabcabé\""]);
            let mut queues: Vec<_> = texts.iter().map(|(text, cuts)| split_at(text, cuts).into_iter().collect::<std::collections::VecDeque<_>>()).collect();
            let (mut events, mut order) = (Vec::new(), order.into_iter().cycle());
            while queues.iter().any(|queue| !queue.is_empty()) {
                let at = order.next().unwrap().index(queues.len());
                if let Some(piece) = queues[at].pop_front() {
                    events.push(append(events.len() as u64 + 1, &at.to_string(), &piece));
                } else if let Some((at, queue)) = queues.iter_mut().enumerate().find(|(_, queue)| !queue.is_empty()) {
                    let piece = queue.pop_front().unwrap();
                    events.push(append(events.len() as u64 + 1, &at.to_string(), &piece));
                }
            }
            let count = events.len();
            let (mut out, rest) = run_stream(mask.clone(), events);
            out.extend(rest);
            prop_assert_eq!(out.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=count as u64).collect::<Vec<_>>());
            let mut joined: BTreeMap<String, (String, String)> = BTreeMap::new();
            for event in &out {
                let (typed_text, native_text) = joined.entry(event.item.as_ref().unwrap().to_string()).or_default();
                typed_text.push_str(delta_text(event));
                native_text.push_str(&native_delta(event));
                let Some(NativeRecord { body: NativeBody::Json(json), .. }) = &event.native else { panic!("no record") };
                prop_assert!(RawValue::from_string(json.get().to_owned()).is_ok());
            }
            for (at, (text, _)) in texts.iter().enumerate() {
                let expected = String::from_utf8(mask.mask_bytes(text.as_bytes()).into_owned()).unwrap();
                let (typed_text, native_text) = joined.remove(&at.to_string()).unwrap_or_default();
                prop_assert_eq!(&typed_text, &expected);
                prop_assert_eq!(&native_text, &expected);
            }
        }
    }
}
