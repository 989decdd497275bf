//! Prompts, interrupts, follow-ups, continuing.

use switchboard_agents::Command;
use switchboard_engine::{CommandError, StartError, StartRequest};
use switchboard_event::{Body, Origin};

use crate::rig::{Rig, kinds, opened, prompt, reason, rest, wait};

fn ended(body: &Body) -> Option<()> {
    matches!(body, Body::TurnCompleted(_)).then_some(())
}

#[tokio::test]
async fn a_prompt_waits_for_the_turn_before_it() {
    let rig = Rig::new();
    let session = rig.start(rig.script("approve x\ntext one")).await;
    let mut follower = session.follow();
    let request = opened(&mut follower).await;
    session.prompt(prompt("text two")).await.unwrap();
    session.answer(crate::rig::answer(&request, switchboard_agents::Decision::Allow)).await.unwrap();
    let events = rest(&mut follower).await;
    let turns: Vec<_> = events.iter().filter_map(|event| event.turn).collect();
    assert!(turns.is_sorted() && turns.last() == Some(&2), "{turns:?}");
    assert_eq!(reason(&events), "Completed");
}

#[tokio::test]
async fn an_interrupted_session_takes_the_next_prompt() {
    let rig = Rig::new();
    let session = rig.start(StartRequest { stay: true, ..rig.script("text one\nsleep 1000") }).await;
    let mut follower = session.follow();
    wait(&mut follower, |body| matches!(body, Body::Notice(_)).then_some(())).await;
    session.interrupt().await.unwrap();
    wait(&mut follower, ended).await;
    session.prompt(prompt("text two")).await.unwrap();
    wait(&mut follower, ended).await;
    session.command(Command::Close).await.unwrap();
    let events = rest(&mut follower).await;
    assert_eq!(reason(&events), "Completed");
    let late = session.prompt(prompt("text three")).await;
    assert!(matches!(late, Err(CommandError::Ended)), "{late:?}");
}

#[tokio::test]
async fn a_session_goes_on_in_the_same_log() {
    let rig = Rig::new();
    let first = rig.start(rig.script("text one")).await;
    rest(&mut first.follow()).await;
    let id = first.outcome().await.reason.map(|_| first.id().clone());
    let second = rig.start(StartRequest { agent: String::new(), resume: id.clone(), ..rig.script("text two") }).await;
    assert_eq!(Some(second.id()), id.as_ref());
    let events = rest(&mut second.follow()).await;
    let Body::SessionStarted(started) = &events[0].body else { panic!("{}", kinds(&events)) };
    assert!(started.run == 2 && started.resumed.is_some(), "{started:?}");
    assert!(events.iter().all(|event| event.run == 2));
    let all = rest(&mut second.follow_after(0)).await;
    let seqs: Vec<_> = all.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    let turns: Vec<_> = all.iter().filter_map(|event| event.turn).collect();
    assert_eq!(turns.last(), Some(&2));
}

#[tokio::test]
async fn a_copy_is_a_session_of_its_own() {
    let rig = Rig::new();
    let first = rig.start(rig.script("text one")).await;
    first.outcome().await;
    let id = Some(first.id().clone());
    let copy = rig.start(StartRequest { resume: id, fork: true, ..rig.script("text two") }).await;
    assert_ne!(first.id(), copy.id());
    let events = rest(&mut copy.follow()).await;
    let Body::SessionStarted(started) = &events[0].body else { panic!("{}", kinds(&events)) };
    assert!(started.resumed.as_ref().is_some_and(|resumed| resumed.fork), "{started:?}");
}

#[tokio::test]
async fn what_cannot_be_is_refused_before_anything_starts() {
    let rig = Rig::new();
    let unknown = StartRequest { agent: "nobody".to_owned(), ..rig.script("x") };
    assert!(matches!(rig.engine.start(unknown).await, Err(StartError::UnknownAgent(_))));
    let mut nowhere = rig.script("x");
    nowhere.config.working_directory = Some("/no/such/folder".to_owned());
    assert!(matches!(rig.engine.start(nowhere).await, Err(StartError::BadFolder { .. })));
    let gone = StartRequest { resume: Some("no-such-session".into()), ..rig.script("x") };
    assert!(matches!(rig.engine.start(gone).await, Err(StartError::NoSession(_))));
    let mut schema = rig.script("x");
    schema.prompt.as_mut().unwrap().output_schema = Some(switchboard_event::raw(&1));
    assert!(matches!(rig.engine.start(schema).await, Err(StartError::Unsupported(_))));
    assert!(rig.engine.log().sessions(&switchboard_store::Filter::default()).unwrap().is_empty());
}

fn slash(name: &str, arguments: &str) -> Command {
    Command::Slash { name: name.to_owned(), arguments: arguments.to_owned() }
}

#[tokio::test]
async fn a_command_waits_in_line_and_an_unknown_one_is_refused() {
    let rig = Rig::new();
    let session = rig.start(StartRequest { stay: true, ..rig.script("text one") }).await;
    let mut follower = session.follow();
    wait(&mut follower, ended).await;
    let unknown = session.command(slash("dance", "")).await;
    assert!(unknown.unwrap_err().to_string().contains("it has /compact, /rename"));
    session.prompt(prompt("approve x")).await.unwrap();
    let request = opened(&mut follower).await;
    let unknown = session.command(slash("dance", "")).await;
    assert!(unknown.is_err(), "also while it works");
    for command in [slash("compact", ""), slash("rename", "a name")] {
        session.command(command).await.unwrap();
    }
    session.prompt(prompt("text two")).await.unwrap();
    session.command(Command::Close).await.unwrap();
    session.answer(crate::rig::answer(&request, switchboard_agents::Decision::Allow)).await.unwrap();
    let events = rest(&mut session.follow()).await;
    let origins: Vec<_> = events.iter().filter_map(|event| origin(&event.body)).collect();
    assert_eq!(origins, [Origin::Prompt, Origin::Prompt, Origin::Command, Origin::Prompt]);
    assert_eq!(reason(&events), "Completed");
}

fn origin(body: &Body) -> Option<Origin> {
    match body {
        Body::TurnStarted(turn) => Some(turn.origin),
        _ => None,
    }
}
