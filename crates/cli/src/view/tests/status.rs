//! The status line: what it says, and that it never stays behind.

use std::time::Duration;

use switchboard_event::{AgentMessage, Command, Delta, EventBody, Field, Item, Reasoning, Status, Usage};

use super::{ViewOptions, event};
use crate::view::{ScreenLayout, TranscriptView, ViewOutput};

fn view(options: ViewOptions) -> (TranscriptView, ViewOutput) {
    (TranscriptView::new(options), ViewOutput::default())
}

fn text(out: &mut ViewOutput) -> String {
    let text = out.pieces().map(|(_, text)| text).collect();
    out.clear();
    text
}

fn grew(field: Field, text: &str) -> EventBody {
    EventBody::ItemDelta(Delta::Append { field, part: 0, text: text.to_owned() })
}

fn command() -> Item {
    Item::new(Command { command: "cargo test --workspace".to_owned(), ..Command::default() })
}

#[test]
fn it_says_what_is_being_done() {
    let (mut view, mut out) = view(ViewOptions::terminal(60));
    let mut said = |body: Option<(&str, EventBody)>| {
        if let Some((item, body)) = body {
            view.event(&event(Some(item), body), &mut out);
        }
        view.status(Duration::from_millis(12_345))
    };
    let started = |item: Item| EventBody::ItemStarted(Box::new(item));
    assert_eq!(said(None), "⠸ 12.3 s · starting");
    assert_eq!(said(Some(("-", EventBody::TurnStarted(Box::default())))), "⠸ 12.3 s · working");
    assert_eq!(said(Some(("t", started(Item::new(Reasoning::default()))))), "⠸ 12.3 s · thinking");
    let thought = Item::new(Reasoning::default()).with_status(Status::Completed);
    said(Some(("t", EventBody::ItemCompleted(Box::new(thought)))));
    assert_eq!(said(Some(("m", started(Item::new(AgentMessage::default()))))), "⠸ 12.3 s · writing");
    assert_eq!(said(Some(("c", started(command())))), "⠸ 12.3 s · cargo test --workspace");
    let output = grew(Field::Output, "first\n\x1b[32mtest a ... ok\x1b[0m\n");
    assert_eq!(said(Some(("c", output))), "⠸ 12.3 s · cargo test --workspace · test a ... ok");
    let usage = Usage { input: 12_000, output: 345, ..Usage::default() };
    let long = said(Some(("-", EventBody::Usage(Box::new(usage)))));
    assert_eq!(long, "⠸ 12.3 s · 12.3k tokens · cargo test --workspace · test a …");
    let asked = said(Some(("c", EventBody::RequestOpened(Box::default()))));
    assert_eq!(asked, "⠸ 12.3 s · 12.3k tokens · waiting for an answer");
}

#[test]
fn it_goes_before_anything_is_written() {
    let (mut view, mut out) = view(ViewOptions { color: false, ..ViewOptions::terminal(40) });
    view.draw_status(Duration::ZERO, &mut out);
    assert_eq!(text(&mut out), "\r⠋ 0.0 s · starting\x1b[K");
    view.event(&event(Some("c"), EventBody::ItemStarted(Box::new(command()))), &mut out);
    assert_eq!(text(&mut out), "\r\x1b[2K$ cargo test --workspace\n");
    view.event(&event(None, EventBody::Usage(Box::default())), &mut out);
    assert!(out.is_empty(), "what shows nothing does not disturb it");
    view.draw_status(Duration::ZERO, &mut out);
    out.clear();
    view.pause(&mut out);
    assert_eq!(text(&mut out), "\r\x1b[2K");
    view.pause(&mut out);
    assert!(out.is_empty());
}

#[test]
fn it_waits_while_a_line_is_being_written() {
    let (mut view, mut out) = view(ViewOptions { color: false, ..ViewOptions::terminal(40) });
    view.event(&event(Some("m"), EventBody::ItemStarted(Box::new(Item::new(AgentMessage::default())))), &mut out);
    view.event(&event(Some("m"), grew(Field::Text, "half a ")), &mut out);
    out.clear();
    view.draw_status(Duration::ZERO, &mut out);
    assert!(out.is_empty());
    view.event(&event(Some("m"), grew(Field::Text, "line\n")), &mut out);
    assert_eq!(text(&mut out), "line\n");
    view.draw_status(Duration::ZERO, &mut out);
    assert_eq!(text(&mut out), "\r⠋ 0.0 s · writing\x1b[K");
}

#[test]
fn it_is_on_terminals_only() {
    for (screen, drawn) in [(ScreenLayout::None, false), (ScreenLayout::Activity, true), (ScreenLayout::Both, true)] {
        let (mut view, mut out) = view(ViewOptions { screen, ..ViewOptions::terminal(40) });
        view.draw_status(Duration::ZERO, &mut out);
        assert_eq!(!out.is_empty(), drawn, "{screen:?}");
    }
}

#[test]
fn another_width_is_kept_to() {
    let (mut view, mut out) = view(ViewOptions::terminal(80));
    view.event(&event(Some("c"), EventBody::ItemStarted(Box::new(command()))), &mut out);
    view.resize(24);
    assert_eq!(view.status(Duration::ZERO), "⠋ 0.0 s · cargo test -…");
}

#[test]
fn a_question_on_the_screen_is_not_written_into() {
    let (mut view, mut out) = view(ViewOptions { color: false, ..ViewOptions::terminal(40) });
    view.draw_status(Duration::ZERO, &mut out);
    out.clear();
    view.aside("may it?\n> ", &mut out);
    assert_eq!(text(&mut out), "\r\x1b[2Kmay it?\n> ");
    view.draw_status(Duration::ZERO, &mut out);
    assert!(out.is_empty(), "the line belongs to who types");
    view.event(&event(Some("c"), EventBody::ItemStarted(Box::new(command()))), &mut out);
    assert_eq!(text(&mut out), "\n$ cargo test --workspace\n");
    view.aside("> ", &mut out);
    view.entered();
    out.clear();
    view.draw_status(Duration::ZERO, &mut out);
    assert!(text(&mut out).starts_with('\r'), "the line was ended by who typed");
}

#[test]
fn it_does_not_come_back_when_all_is_over() {
    let (mut view, mut out) = view(ViewOptions::terminal(40));
    for event in super::recorded_events("echo live/made-tasks") {
        view.event(&event, &mut out);
    }
    out.clear();
    view.draw_status(Duration::ZERO, &mut out);
    assert!(out.is_empty());
}
