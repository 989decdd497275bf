//! Malicious or oversized sessions: they are shown in part, and quickly.

use serde_json::Value;
use switchboard_event::{
    AgentMessage, Command, Delta, EventBody, Field, Item, Notice, Reasoning, Status, Subagent, Topic, TurnStarted,
};

use super::{entries, kinds, written};
use crate::rig::Rig;

fn started(item: Item) -> EventBody {
    EventBody::ItemStarted(Box::new(item))
}

fn completed(item: Item) -> EventBody {
    EventBody::ItemCompleted(Box::new(item.with_status(Status::Completed)))
}

fn grew(field: Field, text: &str) -> EventBody {
    EventBody::ItemDelta(Delta::Append { field, part: 0, text: text.to_owned() })
}

async fn answered(rig: &Rig, path: &str) -> (Value, usize) {
    let answer = rig.get(path).await;
    assert_eq!(answer.status, 200, "{path}");
    let size = answer.body.to_string().len();
    (answer.body, size)
}

#[tokio::test]
async fn what_an_agent_says_is_text_and_never_does_anything() {
    let rig = Rig::new();
    let bad = "<script>alert(1)</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)> \u{202e}\x1b[31mred";
    let mut happened = vec![(
        None,
        EventBody::TurnStarted(Box::new(TurnStarted { prompt: Some(bad.to_owned()), ..TurnStarted::default() })),
    )];
    happened.push((Some("a"), completed(Item::new(AgentMessage::text(bad)))));
    happened.push((
        Some("c"),
        completed(Item::new(Command { command: bad.to_owned(), output: bad.to_owned(), ..Command::default() })),
    ));
    happened.push((Some("r"), completed(Item::new(Reasoning { text: Some(bad.to_owned()), ..Reasoning::default() }))));
    happened.push((None, EventBody::Notice(Box::new(Notice::new(Topic::Retry).with_text(bad)))));
    happened.push((Some("g"), started(Item::new(AgentMessage::default()))));
    happened.push((Some("g"), grew(Field::Text, &format!("{bad}\n\n{bad}\n\nmore"))));
    let id = written(&rig, happened).await;
    let entries = entries(&rig, &id).await;
    assert_eq!(kinds(&entries), ["turn", "user", "answer", "command", "reasoning", "notice", "answer"]);
    for entry in &entries {
        for part in ["title", "html"] {
            let html = entry[part].as_str().unwrap();
            for never in ["<script", "javascript:", "onerror=", "\u{202e}", "\x1b"] {
                let is_shown = html.contains("&lt;script") || html.contains("&lt;img") || !html.contains(never);
                assert!(is_shown && !html.contains("<script") && !html.contains("<img src=x"), "{entry}");
            }
        }
    }
    assert_eq!(entries[6]["live"], "text");
}

#[tokio::test]
async fn one_line_of_ten_megabytes_is_cut() {
    let rig = Rig::new();
    let long = "x".repeat(10 << 20);
    let command = Command { command: "cat big".to_owned(), output: long.clone(), ..Command::default() };
    let happened = vec![
        (Some("c"), started(Item::new(Command::default()))),
        (Some("c"), grew(Field::Output, &long)),
        (Some("c"), completed(Item::new(command))),
        (Some("a"), completed(Item::new(AgentMessage::text(long.clone())))),
        (Some("g"), started(Item::new(Command::default()))),
        (Some("g"), grew(Field::Output, &long)),
        (Some("h"), started(Item::new(AgentMessage::default()))),
        (Some("h"), grew(Field::Text, &long)),
    ];
    let id = written(&rig, happened).await;
    let (page, size) = answered(&rig, &format!("/api/page/sessions/{id}")).await;
    assert!(size < 1 << 20, "{size}");
    let entries = page["entries"].as_array().unwrap();
    assert!(entries.iter().all(|entry| entry["more"] == true), "{:?}", kinds(entries));
    let whole = rig.get(&format!("/api/page/sessions/{id}/entries/0/text")).await;
    assert!(whole.body.as_str().unwrap().len() > 10 << 20);
}

#[tokio::test]
async fn text_that_never_ends_takes_a_bounded_place() {
    let rig = Rig::new();
    let mut happened = vec![(Some("a"), started(Item::new(AgentMessage::default())))];
    let paragraph = format!("{}\n\n", "word ".repeat(200));
    happened.extend((0..4_000).map(|_| (Some("a"), grew(Field::Text, &paragraph))));
    happened.push((Some("o"), started(Item::new(Command::default()))));
    happened.extend((0..4_000).map(|_| (Some("o"), grew(Field::Output, "a line of output\r\n"))));
    let id = written(&rig, happened).await;
    let (page, size) = answered(&rig, &format!("/api/page/sessions/{id}")).await;
    assert!(size < 3 << 20, "{size}");
    let output = &page["entries"][1];
    assert!(output["tail"].as_str().unwrap().len() <= 24 << 10 && output["more"] == true, "{output}");
}

#[tokio::test]
async fn subagents_within_themselves_are_shown_once() {
    let rig = Rig::new();
    let agent = |thread: &str| Item::new(Subagent { thread: Some(thread.into()), ..Subagent::default() });
    let id = written(&rig, vec![(Some("x"), started(agent("x"))), (Some("y"), started(agent("x")))]).await;
    let entries = entries(&rig, &id).await;
    assert_eq!(kinds(&entries), ["subagent", "subagent"]);
    assert!(entries.iter().all(|entry| entry["depth"].as_u64().unwrap() <= 1), "{entries:?}");
}

#[tokio::test]
async fn a_session_of_very_many_events_is_shown_from_its_end() {
    let rig = Rig::new();
    let mut happened = Vec::new();
    let names: Vec<String> = (0..2_000).map(|n| format!("item_{n}")).collect();
    for name in &names {
        happened.push((Some(name.as_str()), started(Item::new(AgentMessage::default()))));
        happened.extend((0..10).map(|_| (Some(name.as_str()), grew(Field::Text, "word "))));
        happened.push((Some(name.as_str()), completed(Item::new(AgentMessage::text(format!("said {name}"))))));
    }
    happened.push((Some("last"), started(Item::new(AgentMessage::default()))));
    happened
        .extend((0..2_000).map(|n| (Some("last"), grew(Field::Text, if n % 100 == 0 { "end\n\n" } else { "word " }))));
    let id = written(&rig, happened).await;
    let (page, size) = answered(&rig, &format!("/api/page/sessions/{id}?count=5")).await;
    assert_eq!((page["total"].as_u64(), page["seq"].as_u64()), (Some(2_001), Some(26_001)));
    assert!(size < 100_000, "{size}");
    let entries = page["entries"].as_array().unwrap();
    assert!(entries[3]["html"].as_str().unwrap().contains("said item_1999"), "{}", entries[3]);
    // Text that was skipped at first and still grows is complete.
    let growing = &entries[4];
    let words = format!("{}{}", growing["html"].as_str().unwrap(), growing["tail"].as_str().unwrap());
    assert_eq!((words.matches("word").count(), words.matches("end").count()), (1_980, 20), "{growing}");
}
