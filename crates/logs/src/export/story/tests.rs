//! Stories that events tell.

use switchboard_event::{
    AgentMessage, Body, Command, Content, Details, Event, Id, Item, Status, Subagent, Timestamp, TurnStarted, Usage,
    UserMessage,
};

use super::{Story, What};

fn event(item: Option<&str>, parent: Option<&str>, body: Body) -> Event {
    Event {
        seq: 1,
        session: Id::from("s"),
        at: Timestamp::default(),
        agent: Id::from("agent"),
        run: 1,
        turn: None,
        item: item.map(Id::from),
        parent: parent.map(Id::from),
        thread: parent.map(Id::from),
        body,
        native: None,
        cause: None,
    }
}

fn turn(prompt: Option<&str>) -> Event {
    let started = TurnStarted { prompt: prompt.map(str::to_owned), ..TurnStarted::default() };
    event(None, None, Body::TurnStarted(Box::new(started)))
}

fn done(id: &str, parent: Option<&str>, details: impl Into<Details>) -> Event {
    event(Some(id), parent, Body::ItemCompleted(Box::new(Item::new(details).with_status(Status::Completed))))
}

fn said(id: &str, parent: Option<&str>, text: &str) -> Event {
    done(id, parent, AgentMessage::text(text))
}

fn asked(text: &str, synthetic: bool) -> Event {
    done("u", None, UserMessage { content: vec![Content::text(text)], synthetic, queued: false })
}

/// A story in few words.
fn told(events: &[Event]) -> Vec<String> {
    fn steps(all: &[super::Step], depth: usize, out: &mut Vec<String>) {
        for step in all {
            let what = match &step.what {
                What::Said(text) | What::Thought(text) | What::Note(text) => text.clone(),
                What::Did(did) => format!("{} {}", did.name, did.output).trim().to_owned(),
            };
            out.push(format!("{}{what}", "  ".repeat(depth)));
            steps(&step.inner, depth + 1, out);
        }
    }
    let mut out = Vec::new();
    for turn in Story::of(events).turns {
        out.push(format!("{}: {}", turn.number, turn.prompt.unwrap_or_default()));
        steps(&turn.steps, 1, &mut out);
    }
    out
}

#[test]
fn each_thing_that_is_asked_begins_a_turn() {
    let events = [
        said("0", None, "before"),
        turn(Some("one")),
        asked("one", false),
        asked("injected", true),
        said("1", None, "first"),
        asked("meanwhile", false),
        said("2", None, "second"),
        turn(None),
        said("3", None, "in the background"),
        turn(Some("one")),
        asked("one", false),
        turn(None),
        asked("two", false),
    ];
    let expected =
        ["0: ", "  before", "1: one", "  first", "2: meanwhile", "  second", "  in the background", "3: one", "4: two"];
    assert_eq!(told(&events), expected);
}

#[test]
fn what_a_subagent_does_is_within_its_call() {
    let agent = |result: Option<&str>| Subagent { result: result.map(str::to_owned), ..Subagent::default() };
    let events = [
        turn(Some("go")),
        event(Some("t"), None, Body::ItemStarted(Box::new(Item::new(agent(None))))),
        said("a", Some("t"), "inner"),
        event(Some("n"), Some("t"), Body::ItemStarted(Box::new(Item::new(agent(None))))),
        said("b", Some("n"), "innermost"),
        said("c", None, "outer meanwhile"),
        done("n", Some("t"), agent(Some("nested"))),
        done("x", Some("t"), Command { command: "ls".to_owned(), output: "out".to_owned(), ..Command::default() }),
        done("t", None, agent(Some("result"))),
    ];
    let expected = [
        "1: go",
        "  agent result",
        "    inner",
        "    agent nested",
        "      innermost",
        "    command out",
        "  outer meanwhile",
    ];
    assert_eq!(told(&events), expected);
}

#[test]
fn usage_is_added_up_and_totals_are_not() {
    let used =
        |output, cumulative| event(None, None, Body::Usage(Box::new(Usage { output, cumulative, ..Usage::default() })));
    let story =
        Story::of(&[turn(Some("a")), used(1, false), used(2, false), turn(Some("b")), used(4, false), used(99, true)]);
    assert_eq!(story.turns.iter().map(|turn| turn.usage.output).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(story.usage.output, 7);
}
