//! The answer is what the agent said, and nothing else: over all recordings, whole or as it comes.

use switchboard_event::{AgentMessage, Delta, Details, Event, EventBody, Field, Item, Status, TurnCompleted};
use switchboard_testkit::stream_checker::{AnswerText, answer_text};

use super::{ViewOptions, all_recordings, event, play, render};
use crate::view::{ScreenLayout, sanitize::TextSanitizer};

/// What the finished messages say, each on lines of its own, with a blank line between them.
fn said(events: &[Event]) -> String {
    let (mut text, mut last) = (String::new(), None);
    let mut add = |said: &str| {
        if said.is_empty() {
            return;
        }
        if !text.is_empty() && text != "\n" && !text.ends_with("\n\n") {
            text.push('\n');
        }
        text.push_str(&TextSanitizer::whole(said));
        if !text.ends_with('\n') {
            text.push('\n');
        }
    };
    for event in events.iter().filter(|event| event.thread.is_none()) {
        match &event.body {
            EventBody::ItemCompleted(item) if item.status != Status::Superseded => {
                if let Details::AgentMessage(message) = &item.details {
                    add(&message.text);
                    last = Some(message.text.clone()).filter(|text| !text.trim().is_empty()).or(last);
                }
            }
            EventBody::TurnCompleted(turn) if turn.result.is_some() && turn.result != last => {
                add(turn.result.as_deref().unwrap_or_default());
            }
            _ => {}
        }
    }
    text
}

fn is_superseded(event: &Event) -> bool {
    matches!(&event.body, EventBody::ItemCompleted(item) if item.status == Status::Superseded)
}

#[test]
fn in_a_pipe_the_answer_is_all_messages() {
    let mut messages = 0;
    for recording in all_recordings() {
        let events = play(recording);
        let written = render(&events, ViewOptions::piped());
        assert_eq!(written.answer, said(&events), "{recording}");
        messages += usize::from(!written.answer.is_empty());
    }
    assert!(messages > 100, "the recordings say too little");
}

#[test]
fn as_it_comes_the_answer_is_the_same_text() {
    for recording in all_recordings() {
        let events = play(recording);
        let AnswerText::Text(text) = answer_text(&events) else { continue };
        // A terminal keeps what was shown before it was taken back.
        if events.iter().any(is_superseded) {
            continue;
        }
        let text = TextSanitizer::whole(&text).replace('\n', "");
        for screen in [ScreenLayout::None, ScreenLayout::Activity, ScreenLayout::Both] {
            let options = ViewOptions { screen, ..ViewOptions::terminal(60) };
            assert_eq!(render(&events, options).answer.replace('\n', ""), text, "{recording} {screen:?}");
        }
    }
}

#[test]
fn the_last_message_is_all_of_the_answer_if_wanted() {
    let options = ViewOptions { last_message: true, quiet: true, ..ViewOptions::piped() };
    for recording in all_recordings() {
        let events = play(recording);
        let answer = render(&events, options).answer;
        let turn = events.iter().rposition(|event| matches!(&event.body, EventBody::TurnStarted(_)));
        let all = said(&events);
        assert!(all.ends_with(&answer), "{recording}: {answer:?} does not end {all:?}");
        let last = said(events.get(turn.unwrap_or(0)..).unwrap());
        assert_eq!(answer.is_empty(), last.trim().is_empty() && answer.is_empty(), "{recording}");
    }
}

fn message(text: &str, status: Status) -> EventBody {
    EventBody::ItemCompleted(Box::new(Item::new(AgentMessage::text(text)).with_status(status)))
}

fn began() -> EventBody {
    EventBody::ItemStarted(Box::new(Item::new(AgentMessage::default())))
}

fn grew(text: &str) -> EventBody {
    EventBody::ItemDelta(Delta::Append { field: Field::Text, part: 0, text: text.to_owned() })
}

#[test]
fn what_is_taken_back_is_no_answer_in_a_pipe() {
    let events = [
        event(Some("m1"), began()),
        event(Some("m1"), grew("half of")),
        event(Some("m1"), message("half of", Status::Superseded)),
        event(Some("m2"), began()),
        event(Some("m2"), message("half of it, and the other half", Status::Completed)),
    ];
    assert_eq!(render(&events, ViewOptions::piped()).answer, "half of it, and the other half\n");
    let seen = render(&events, ViewOptions { color: false, ..ViewOptions::terminal(80) }).all;
    assert_eq!(seen, "half of\n\n· taken back\n\nhalf of it, and the other half\n");
}

#[test]
fn what_did_not_come_in_pieces_comes_at_the_end() {
    let events = [
        event(Some("m1"), began()),
        event(Some("m1"), grew("Hello")),
        event(Some("m1"), message("Hello, world", Status::Completed)),
    ];
    assert_eq!(render(&events, ViewOptions::terminal(80)).answer, "Hello, world\n");
}

#[test]
fn a_message_of_many_megabytes_is_not_held_back() {
    let piece = "word ".repeat(1 << 12);
    let mut events = vec![event(Some("m1"), began())];
    events.extend((0..200).map(|_| event(Some("m1"), grew(&piece))));
    let cut = AgentMessage { truncated: true, ..AgentMessage::text(piece.clone()) };
    let cut = Item::new(cut).with_status(Status::Completed);
    events.push(event(Some("m1"), EventBody::ItemCompleted(Box::new(cut))));
    assert_eq!(render(&events, ViewOptions::piped()).answer, piece.repeat(200) + "\n");
}

#[test]
fn an_answer_beside_the_messages_is_told_once() {
    let turn = |result: &str| {
        let turn = TurnCompleted { result: Some(result.to_owned()), ..TurnCompleted::default() };
        [
            event(None, EventBody::TurnStarted(Box::default())),
            event(Some("m"), began()),
            event(Some("m"), message("{\"a\":1}", Status::Completed)),
            event(None, EventBody::TurnCompleted(Box::new(turn))),
        ]
    };
    assert_eq!(render(&turn("{\"a\":1}"), ViewOptions::piped()).answer, "{\"a\":1}\n");
    assert_eq!(render(&turn("{\"b\":2}"), ViewOptions::piped()).answer, "{\"a\":1}\n\n{\"b\":2}\n");
}
