//! Prompts, interrupts, follow-ups and continued sessions. However a session ends, everything is closed and the end is
//! reported.

use std::time::Duration;

use switchboard_agents::{AgentCommand, RequestDecision};
use switchboard_engine::{CommandError, StartError, StartRequest};
use switchboard_event::{EventBody, Origin};
use switchboard_store::{SessionPhase, StoreOptions};

use crate::fixtures::{
    EngineFixture, answer, end_reason, event_kinds, prompt, remaining_events, wait_for_event, wait_for_request,
};

fn ended(body: &EventBody) -> Option<()> {
    matches!(body, EventBody::TurnCompleted(_)).then_some(())
}

#[tokio::test]
async fn a_prompt_waits_for_the_turn_before_it() {
    let fixture = EngineFixture::new();
    let session = fixture.start(fixture.script("approve x\ntext one")).await;
    let mut follower = session.follow();
    let request = wait_for_request(&mut follower).await;
    session.send_prompt(prompt("text two")).await.unwrap();
    session.answer_request(answer(&request, RequestDecision::Allow)).await.unwrap();
    let events = remaining_events(&mut follower).await;
    let turns: Vec<_> = events.iter().filter_map(|event| event.turn).collect();
    assert!(turns.is_sorted() && turns.last() == Some(&2), "{turns:?}");
    assert_eq!(end_reason(&events), "Completed");
}

#[tokio::test]
async fn an_interrupted_session_takes_the_next_prompt() {
    let fixture = EngineFixture::new();
    let session = fixture.start(StartRequest { stay: true, ..fixture.script("text one\nsleep 1000") }).await;
    let mut follower = session.follow();
    wait_for_event(&mut follower, |body| matches!(body, EventBody::Notice(_)).then_some(())).await;
    session.interrupt().await.unwrap();
    wait_for_event(&mut follower, ended).await;
    session.send_prompt(prompt("text two")).await.unwrap();
    wait_for_event(&mut follower, ended).await;
    session.send_command(AgentCommand::Close).await.unwrap();
    let events = remaining_events(&mut follower).await;
    assert_eq!(end_reason(&events), "Completed");
    let late = session.send_prompt(prompt("text three")).await;
    assert!(matches!(late, Err(CommandError::Ended)), "{late:?}");
}

#[tokio::test]
async fn a_session_continues_in_the_same_log() {
    let fixture = EngineFixture::new();
    let first = fixture.start(fixture.script("text one")).await;
    remaining_events(&mut first.follow()).await;
    let id = first.wait_for_outcome().await.reason.map(|_| first.id().clone());
    let second =
        fixture.start(StartRequest { agent: String::new(), resume: id.clone(), ..fixture.script("text two") }).await;
    assert_eq!(Some(second.id()), id.as_ref());
    let events = remaining_events(&mut second.follow()).await;
    let EventBody::SessionStarted(started) = &events[0].body else { panic!("{}", event_kinds(&events)) };
    assert!(started.run == 2 && started.resumed.is_some(), "{started:?}");
    assert!(events.iter().all(|event| event.run == 2));
    let all = remaining_events(&mut second.follow_after(0)).await;
    let seqs: Vec<_> = all.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    let turns: Vec<_> = all.iter().filter_map(|event| event.turn).collect();
    assert_eq!(turns.last(), Some(&2));
}

#[tokio::test]
async fn a_copy_is_a_session_of_its_own() {
    let fixture = EngineFixture::new();
    let first = fixture.start(fixture.script("text one")).await;
    first.wait_for_outcome().await;
    let id = Some(first.id().clone());
    let copy = fixture.start(StartRequest { resume: id, fork: true, ..fixture.script("text two") }).await;
    assert_ne!(first.id(), copy.id());
    let events = remaining_events(&mut copy.follow()).await;
    let EventBody::SessionStarted(started) = &events[0].body else { panic!("{}", event_kinds(&events)) };
    assert!(started.resumed.as_ref().is_some_and(|resumed| resumed.fork), "{started:?}");
}

#[tokio::test]
async fn invalid_requests_are_refused_before_anything_starts() {
    let fixture = EngineFixture::new();
    let unknown = StartRequest { agent: "nobody".to_owned(), ..fixture.script("x") };
    assert!(matches!(fixture.engine.start_session(unknown).await, Err(StartError::UnknownAgent(_))));
    let mut nowhere = fixture.script("x");
    nowhere.config.working_directory = Some("/no/such/folder".to_owned());
    assert!(matches!(fixture.engine.start_session(nowhere).await, Err(StartError::BadDirectory { .. })));
    let gone = StartRequest { resume: Some("no-such-session".into()), ..fixture.script("x") };
    assert!(matches!(fixture.engine.start_session(gone).await, Err(StartError::NoSession(_))));
    let mut schema = fixture.script("x");
    schema.prompt.as_mut().unwrap().output_schema = Some(switchboard_event::to_raw_json(&1));
    assert!(matches!(fixture.engine.start_session(schema).await, Err(StartError::Unsupported(_))));
    assert!(fixture.engine.log().list_sessions(&switchboard_store::SessionFilter::default()).unwrap().is_empty());
}

fn slash(name: &str, arguments: &str) -> AgentCommand {
    AgentCommand::Slash { name: name.to_owned(), arguments: arguments.to_owned() }
}

#[tokio::test]
async fn a_command_waits_in_line_and_an_unknown_one_is_refused() {
    let fixture = EngineFixture::new();
    let session = fixture.start(StartRequest { stay: true, ..fixture.script("text one") }).await;
    let mut follower = session.follow();
    wait_for_event(&mut follower, ended).await;
    let unknown = session.send_command(slash("dance", "")).await;
    assert!(unknown.unwrap_err().to_string().contains("it has /compact, /rename"));
    session.send_prompt(prompt("approve x")).await.unwrap();
    let request = wait_for_request(&mut follower).await;
    let unknown = session.send_command(slash("dance", "")).await;
    assert!(unknown.is_err(), "also while it works");
    for command in [slash("compact", ""), slash("rename", "a name")] {
        session.send_command(command).await.unwrap();
    }
    session.send_prompt(prompt("text two")).await.unwrap();
    session.send_command(AgentCommand::Close).await.unwrap();
    session.answer_request(answer(&request, RequestDecision::Allow)).await.unwrap();
    let events = remaining_events(&mut session.follow()).await;
    let origins: Vec<_> = events.iter().filter_map(|event| origin(&event.body)).collect();
    assert_eq!(origins, [Origin::Prompt, Origin::Prompt, Origin::Command, Origin::Prompt]);
    assert_eq!(end_reason(&events), "Completed");
}

fn origin(body: &EventBody) -> Option<Origin> {
    match body {
        EventBody::TurnStarted(turn) => Some(turn.origin),
        _ => None,
    }
}

#[tokio::test]
async fn cancelled_is_not_failed() {
    let fixture = EngineFixture::new();
    let session = fixture.start(fixture.script("text one\nsleep 1000")).await;
    let mut follower = session.follow();
    wait_for_event(&mut follower, |body| matches!(body, EventBody::Notice(_)).then_some(())).await;
    session.cancel().await.unwrap();
    let events = remaining_events(&mut follower).await;
    assert_eq!(end_reason(&events), "Cancelled");
    let row = fixture.engine.log().get_session(session.id()).unwrap().unwrap();
    assert_eq!(row.state, SessionPhase::Cancelled);
}

#[tokio::test]
async fn a_timeout_is_its_own_reason() {
    for idle in [false, true] {
        let fixture = EngineFixture::new();
        let mut request = fixture.script("text one\nsleep 100000");
        let limit = Some(Duration::from_millis(50));
        (request.timeouts.total, request.timeouts.idle) = if idle { (None, limit) } else { (limit, None) };
        assert_eq!(end_reason(&fixture.play(request).await), "Timeout", "idle: {idle}");
    }
}

#[tokio::test]
async fn a_crash_is_a_failure_and_everything_is_closed() {
    let fixture = EngineFixture::new();
    let events = fixture.play(fixture.script("text one\nsubagent two\ncrash")).await;
    assert_eq!(end_reason(&events), "Failed");
    let count = |kind: &str| event_kinds(&events).split(' ').filter(|name| *name == kind).count();
    assert_eq!(count("item.started"), count("item.completed"));
    assert_eq!(count("turn.started"), count("turn.completed"));
}

#[tokio::test]
async fn a_full_disk_stops_the_session_and_harms_nothing() {
    let fixture = EngineFixture::with(&StoreOptions { max_bytes: Some(1 << 20), ..StoreOptions::default() });
    let session = fixture.start(fixture.script("burst 100000")).await;
    let outcome = session.wait_for_outcome().await;
    assert!(outcome.write_error.is_some_and(|why| why.contains("no space left")), "the error names the reason");
    let seen = remaining_events(&mut session.follow()).await;
    let row = fixture.engine.log().get_session(session.id()).unwrap().unwrap();
    assert_eq!(seen.last().map(|event| event.seq), Some(row.head), "readers see the whole log");
}
