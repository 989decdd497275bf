//! Secrets in pieces: whatever the pieces are, readers get what a mask over the joined text would leave.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json, value::RawValue};
use switchboard_event::{
    AgentMessage, Body, Delta, Dir, Event, Field, Id, Item, Native, NativeBody, Notice, Timestamp, Topic, raw,
};

use super::StreamMask;
use crate::mask::Mask;

const SECRET: &str = "sk-0123456789";

fn mask(secrets: &[&str]) -> Mask {
    Mask::new(secrets.iter().map(|secret| (*secret).to_owned()))
}

fn event(seq: u64, item: Option<&str>, body: Body, native: Option<&Value>) -> Event {
    let record = |native| Native { dir: Dir::In, body: NativeBody::Json(raw(native)) };
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
    let body = Body::ItemDelta(Delta::Append { field: Field::Text, part: 0, text: text.to_owned() });
    event(seq, Some(item), body, Some(&json!({ "item": item, "nested": { "delta": text }, "n": 1 })))
}

fn notice(seq: u64) -> Event {
    event(seq, None, Body::Notice(Box::new(Notice::new(Topic::Unknown))), None)
}

fn typed(event: &Event) -> &str {
    match &event.body {
        Body::ItemDelta(Delta::Append { text, .. }) => text,
        _ => "",
    }
}

fn native(event: &Event) -> Value {
    let Some(Native { body: NativeBody::Json(json), .. }) = &event.native else { return Value::Null };
    serde_json::from_str(json.get()).unwrap()
}

fn delta(event: &Event) -> String {
    native(event)["nested"]["delta"].as_str().unwrap_or_default().to_owned()
}

/// Everything that comes out while the events come in, and at the end.
fn run(mask: Mask, events: Vec<Event>) -> (Vec<Event>, Vec<Event>) {
    let (mut stream, mut live, mut rest) = (StreamMask::new(mask), Vec::new(), Vec::new());
    for event in events {
        let event = stream.cover_joined(event);
        stream.push(event);
        stream.release(|event| live.push(event));
    }
    stream.close_all();
    stream.release(|event| rest.push(event));
    (live, rest)
}

#[test]
fn a_secret_in_pieces_is_covered_in_the_event_and_in_its_record() {
    let pieces = ["the key is s", "k-01", "23", "", "456", "789, or so"];
    let (live, rest) = run(mask(&[SECRET]), (1..).zip(pieces).map(|(seq, text)| append(seq, "i", text)).collect());
    assert!(rest.is_empty(), "the last piece decides");
    let texts: Vec<_> = live.iter().map(typed).collect();
    assert_eq!(texts, ["the key is ***", "", "", "", "", ", or so"]);
    assert_eq!(live.iter().map(delta).collect::<Vec<_>>(), texts);
    assert!(live.iter().all(|event| native(event)["n"] == 1 && native(event)["item"] == "i"));
}

#[test]
fn texts_that_interleave_are_told_apart() {
    let pieces = [("a", "sk-01"), ("b", "sk-0123"), ("a", "23456"), ("b", "45678"), ("b", "9"), ("a", "789!")];
    let (live, _) =
        run(mask(&[SECRET]), (1..).zip(pieces).map(|(seq, (item, text))| append(seq, item, text)).collect());
    assert_eq!(live.iter().map(typed).collect::<Vec<_>>(), ["***", "***", "", "", "", "!"]);
    assert_eq!(live.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn what_only_resembles_a_secret_is_unchanged_and_not_held_for_long() {
    let events = vec![append(1, "i", "sk-01"), notice(2), append(3, "i", "24"), append(4, "i", "sk-"), notice(5)];
    let before: Vec<_> = events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    let (live, rest) = run(mask(&[SECRET]), events);
    let seqs = |events: &[Event]| events.iter().map(|event| event.seq).collect::<Vec<_>>();
    assert_eq!((seqs(&live), seqs(&rest)), (vec![1, 2, 3], vec![4, 5]));
    let after: Vec<_> = live.iter().chain(&rest).map(|event| serde_json::to_string(event).unwrap()).collect();
    assert_eq!(after, before);
}

#[test]
fn another_event_of_the_item_a_request_and_the_end_of_the_turn_decide() {
    let item = || Box::new(Item::new(AgentMessage { text: "sk-".to_owned(), ..AgentMessage::default() }));
    for last in [
        event(2, Some("i"), Body::ItemCompleted(item()), None),
        event(2, None, Body::RequestOpened(Box::default()), None),
        event(2, None, Body::TurnCompleted(Box::default()), None),
    ] {
        let (live, rest) = run(mask(&[SECRET]), vec![append(1, "i", "sk-"), last]);
        assert_eq!((live.len(), rest.len()), (2, 0));
        assert_eq!(typed(live.first().unwrap()), "sk-");
    }
}

#[test]
fn an_item_that_is_put_together_of_the_pieces_is_covered() {
    let text = format!("it is {SECRET}");
    let whole = Item::new(AgentMessage { text, ..AgentMessage::default() });
    let done = event(3, Some("i"), Body::ItemCompleted(Box::new(whole)), None);
    let (live, _) = run(mask(&[SECRET]), vec![append(1, "i", "it is sk-01"), append(2, "i", "23456789"), done]);
    let json = serde_json::to_string(live.last().unwrap()).unwrap();
    assert!(json.contains("it is ***") && !json.contains(SECRET), "{json}");
}

#[test]
fn a_record_whose_text_has_no_event_is_covered() {
    let heartbeat = |seq, text: &str| {
        let record = json!({ "type": "delta", "partial_json": text, "id": format!("{seq}sk") });
        event(seq, None, Body::Notice(Box::new(Notice::new(Topic::Heartbeat))), Some(&record))
    };
    let events =
        vec![heartbeat(1, "{\"key\":\"sk"), heartbeat(2, "-0123"), heartbeat(3, "456789\"}"), heartbeat(4, "x")];
    let (live, rest) = run(mask(&[SECRET]), events);
    let texts: Vec<_> = live.iter().map(|event| native(event)["partial_json"].as_str().unwrap().to_owned()).collect();
    assert_eq!(texts, ["{\"key\":\"***", "", "\"}", "x"]);
    assert!(rest.is_empty());
}

#[test]
fn a_record_that_another_event_carries_is_covered() {
    let item = Item::new(AgentMessage::default());
    let carrier = event(1, Some("i"), Body::ItemStarted(Box::new(item)), Some(&json!({ "delta": "sk-0123" })));
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
    assert_eq!(native(out.first().unwrap())["delta"], "***");
    assert_eq!(out.iter().map(typed).collect::<Vec<_>>(), ["", "***", ""]);
}

#[test]
fn what_is_held_is_bounded() {
    let mut events = vec![append(1, "i", "sk-")];
    events.extend((2..200).map(|seq| append(seq, "other", &"x".repeat(10_000))));
    let (live, _) = run(mask(&[SECRET]), events);
    assert!(live.len() > 50, "{}", live.len());
}

#[test]
fn without_secrets_nothing_is_held() {
    let (live, _) = run(Mask::default(), vec![append(1, "i", "sk-0123")]);
    assert_eq!(live.len(), 1);
    assert_eq!(typed(live.first().unwrap()), "sk-0123");
}

/// Texts of few letters, so that secrets and beginnings of secrets are frequent.
fn text() -> impl Strategy<Value = String> {
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

fn split(text: &str, cuts: &[prop::sample::Index]) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(letters.len() + 1)).collect();
    places.extend([0, letters.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| letters.get(pair[0]..pair[1]).unwrap().iter().collect()).collect()
}

proptest! {
    #[test]
    fn any_split_leaves_what_a_mask_over_the_joined_text_leaves(
        texts in prop::collection::vec((text(), prop::collection::vec(any::<prop::sample::Index>(), 0..10)), 1..4),
        order in prop::collection::vec(any::<prop::sample::Index>(), 60),
    ) {
        let mask = mask(&["abcabcab", "abcabcabcc", "bcabcabé\""]);
        let mut queues: Vec<_> = texts.iter().map(|(text, cuts)| split(text, cuts).into_iter().collect::<std::collections::VecDeque<_>>()).collect();
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
        let (mut out, rest) = run(mask.clone(), events);
        out.extend(rest);
        prop_assert_eq!(out.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=count as u64).collect::<Vec<_>>());
        let mut joined: BTreeMap<String, (String, String)> = BTreeMap::new();
        for event in &out {
            let (typed_text, native_text) = joined.entry(event.item.as_ref().unwrap().to_string()).or_default();
            typed_text.push_str(typed(event));
            native_text.push_str(&delta(event));
            let Some(Native { body: NativeBody::Json(json), .. }) = &event.native else { panic!("no record") };
            prop_assert!(RawValue::from_string(json.get().to_owned()).is_ok());
        }
        for (at, (text, _)) in texts.iter().enumerate() {
            let expected = String::from_utf8(mask.cover(text.as_bytes()).into_owned()).unwrap();
            let (typed_text, native_text) = joined.remove(&at.to_string()).unwrap_or_default();
            prop_assert_eq!(&typed_text, &expected);
            prop_assert_eq!(&native_text, &expected);
        }
    }
}
