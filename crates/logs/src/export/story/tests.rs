//! Documents built from events.

use switchboard_event::{
    AgentMessage, Command, Content, Details, Event, EventBody, Id, Item, Status, Subagent, Timestamp, TurnStarted,
    Usage, UserMessage,
};

use super::{StepContent, TranscriptDocument};

fn event_with_body(item: Option<&str>, parent: Option<&str>, body: EventBody) -> Event {
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

fn turn_started(prompt: Option<&str>) -> Event {
    let started = TurnStarted { prompt: prompt.map(str::to_owned), ..TurnStarted::default() };
    event_with_body(None, None, EventBody::TurnStarted(Box::new(started)))
}

fn item_completed(id: &str, parent: Option<&str>, details: impl Into<Details>) -> Event {
    event_with_body(
        Some(id),
        parent,
        EventBody::ItemCompleted(Box::new(Item::new(details).with_status(Status::Completed))),
    )
}

fn agent_message(id: &str, parent: Option<&str>, text: &str) -> Event {
    item_completed(id, parent, AgentMessage::text(text))
}

fn user_message(text: &str, synthetic: bool) -> Event {
    item_completed("u", None, UserMessage { content: vec![Content::text(text)], synthetic, queued: false })
}

/// Summarizes a document, one line per turn or step.
fn outline(events: &[Event]) -> Vec<String> {
    fn push_steps(all: &[super::TranscriptStep], depth: usize, out: &mut Vec<String>) {
        for step in all {
            let what = match &step.what {
                StepContent::Said(text) | StepContent::Thought(text) | StepContent::Note(text) => text.clone(),
                StepContent::Did(did) => format!("{} {}", did.name, did.output).trim().to_owned(),
            };
            out.push(format!("{}{what}", "  ".repeat(depth)));
            push_steps(&step.inner, depth + 1, out);
        }
    }
    let mut out = Vec::new();
    for turn in TranscriptDocument::from_events(events).turns {
        out.push(format!("{}: {}", turn.number, turn.prompt.unwrap_or_default()));
        push_steps(&turn.steps, 1, &mut out);
    }
    out
}

#[test]
fn each_thing_that_is_asked_begins_a_turn() {
    let events = [
        agent_message("0", None, "before"),
        turn_started(Some("one")),
        user_message("one", false),
        user_message("injected", true),
        agent_message("1", None, "first"),
        user_message("meanwhile", false),
        agent_message("2", None, "second"),
        turn_started(None),
        agent_message("3", None, "in the background"),
        turn_started(Some("one")),
        user_message("one", false),
        turn_started(None),
        user_message("two", false),
    ];
    let expected =
        ["0: ", "  before", "1: one", "  first", "2: meanwhile", "  second", "  in the background", "3: one", "4: two"];
    assert_eq!(outline(&events), expected);
}

#[test]
fn what_a_subagent_does_is_within_its_call() {
    let agent = |result: Option<&str>| Subagent { result: result.map(str::to_owned), ..Subagent::default() };
    let events = [
        turn_started(Some("go")),
        event_with_body(Some("t"), None, EventBody::ItemStarted(Box::new(Item::new(agent(None))))),
        agent_message("a", Some("t"), "inner"),
        event_with_body(Some("n"), Some("t"), EventBody::ItemStarted(Box::new(Item::new(agent(None))))),
        agent_message("b", Some("n"), "innermost"),
        agent_message("c", None, "outer meanwhile"),
        item_completed("n", Some("t"), agent(Some("nested"))),
        item_completed(
            "x",
            Some("t"),
            Command { command: "ls".to_owned(), output: "out".to_owned(), ..Command::default() },
        ),
        item_completed("t", None, agent(Some("result"))),
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
    assert_eq!(outline(&events), expected);
}

#[test]
fn usage_is_added_up_and_totals_are_not() {
    let used = |output, cumulative| {
        event_with_body(None, None, EventBody::Usage(Box::new(Usage { output, cumulative, ..Usage::default() })))
    };
    let story = TranscriptDocument::from_events(&[
        turn_started(Some("a")),
        used(1, false),
        used(2, false),
        turn_started(Some("b")),
        used(4, false),
        used(99, true),
    ]);
    assert_eq!(story.turns.iter().map(|turn| turn.usage.output).collect::<Vec<_>>(), [3, 4]);
    assert_eq!(story.usage.output, 7);
}
