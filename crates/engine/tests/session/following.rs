//! Followers see every event once and in order, at any speed, and the same events as a later translation. So does the
//! client library directly on an engine.

use std::time::Duration;

use futures_util::StreamExt as _;
use switchboard_agents::{Record, RecordBody, RecordTranslator, SessionContext, TranslatorOptions, find_source};
use switchboard_client::{
    AgentClient, AgentErrorKind, AgentEvent, AgentEventKind as Kind, CancelToken, EndReason, SessionConfig,
    SessionLifecycle, SessionQuery, SessionStateFilter,
};
use switchboard_engine::InProcessTransport;
use switchboard_event::{Event, NativeBody};

use crate::fixtures::{EngineFixture, remaining_events};

#[tokio::test]
async fn slow_and_late_followers_miss_nothing() {
    let fixture = EngineFixture::new();
    let session = fixture.start(fixture.script("burst 20000")).await;
    let (mut early, mut slow) = (session.follow(), session.follow());
    let mut seen = 0;
    while let Some(events) = slow.next().await.unwrap() {
        for event in events.events().unwrap() {
            seen += 1;
            assert_eq!(event.seq, seen);
        }
        tokio::task::yield_now().await;
    }
    assert!(seen > 20_000, "{seen}");
    assert_eq!(remaining_events(&mut early).await.len() as u64, seen);
    assert_eq!(remaining_events(&mut session.follow_after(seen - 3)).await.len(), 3);
}

/// Translates the native records of events again.
fn translated(events: &[Event]) -> Vec<Event> {
    let first = events[0].clone();
    let switchboard_event::EventBody::SessionStarted(started) = &first.body else { panic!("no beginning") };
    let options = TranslatorOptions {
        session: Some(first.session.clone()),
        hold: true,
        arrival: first.at,
        start: SessionContext { config: started.config.clone(), ..SessionContext::default() },
        ..TranslatorOptions::default()
    };
    let mut translator = RecordTranslator::new(find_source(&first.agent).unwrap(), options);
    let mut out = Vec::new();
    for event in events {
        let Some(native) = &event.native else { continue };
        let body = match &native.body {
            NativeBody::Json(raw) => RecordBody::Json(raw),
            NativeBody::Text(text) => RecordBody::Text(text),
            NativeBody::Bytes(bytes) => RecordBody::Bytes(bytes),
        };
        translator.translate_record(&Record { dir: native.dir, at: Some(event.at), body }, &mut out);
    }
    translator.finish(&mut out);
    out
}

#[tokio::test]
async fn live_equals_translate() {
    let fixture = EngineFixture::new();
    let script = "think hm\ntext some words\nrun ls\nedit a.txt\nplan a, b\nsubagent helper\nraw {\"x\":1}\nfail no";
    let live = fixture.play(fixture.script(script)).await;
    let again = translated(&live);
    let body = |event: &Event| serde_json::to_string(&event.body).unwrap();
    let (live, again): (Vec<_>, Vec<_>) = (live.iter().map(body).collect(), again.iter().map(body).collect());
    assert_eq!(live, again);
    assert!(live.len() >= 30, "{}", live.len());
}

fn client(fixture: &EngineFixture) -> AgentClient {
    AgentClient::new(InProcessTransport::new(fixture.engine.clone()))
        .for_agent("script")
        .in_directory(fixture.directory.path().to_string_lossy())
}

/// Returns the typed events of a session until its end, and allows every request.
async fn followed(session: &switchboard_client::AgentSession) -> Vec<AgentEvent> {
    let all = tokio::time::timeout(Duration::from_secs(60), async {
        let (mut all, mut events) = (Vec::new(), session.events());
        while let Some(event) = events.next().await {
            let event = event.unwrap();
            if let Kind::ApprovalRequested(approval) = &event.kind {
                assert_eq!(session.list_approvals().await.unwrap().len(), 1);
                session.approve(&approval.id).await.unwrap();
                let again = session.decline(&approval.id, None).await.unwrap_err();
                assert!(matches!(again.code.as_deref(), Some("not_open" | "ended")), "{again:?}");
            }
            all.push(event);
        }
        all
    });
    all.await.unwrap()
}

fn answer(events: &[AgentEvent]) -> String {
    let text = |event: &AgentEvent| match &event.kind {
        Kind::TextChunk { content, channel: None, .. } => Some(content.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

#[tokio::test]
async fn a_session_from_its_start_to_a_follow_up() {
    let fixture = EngineFixture::new();
    let client = client(&fixture);
    let session = client.create_session("text one\napprove touch x", SessionConfig::default()).await.unwrap();
    let first = followed(&session).await;
    assert!(answer(&first).contains("one") && first.iter().any(|event| event.kind.name() == "toolCompleted"));
    assert!(matches!(first.last().unwrap().kind, Kind::SessionEnded { reason: EndReason::Completed, error: None }));
    let resumed = client.resume_session(session.id(), "text two").await.unwrap();
    let second = followed(&resumed).await;
    assert!(answer(&second).contains("two") && !answer(&second).contains("one"), "{second:?}");
    assert!(matches!(second.first().unwrap().kind, Kind::SessionStarted { .. }));
    assert_eq!(
        second.first().unwrap().seq,
        session.log().count().await as u64 - resumed.log().count().await as u64 + 1
    );
    let view = client.get_session(session.id()).await.unwrap();
    assert_eq!((view.state, view.runs), (SessionLifecycle::Done, 2));
    let listed =
        client.list_sessions(SessionQuery { state: Some(SessionStateFilter::Done), ..SessionQuery::default() }).await;
    assert_eq!(listed.unwrap().sessions.len(), 1);
    client.delete_session(session.id()).await.unwrap();
    let gone = client.get_session(session.id()).await.unwrap_err();
    assert_eq!(gone.kind, AgentErrorKind::SessionNotFound);
}

#[tokio::test]
async fn a_cancel_token_ends_the_session_and_the_stream() {
    let fixture = EngineFixture::new();
    let token = CancelToken::new();
    let session = client(&fixture).create_session("text here\nsleep 600", SessionConfig::default()).await.unwrap();
    let session = session.with_cancel(&token);
    let mut events = session.events();
    while !matches!(events.next().await.unwrap().unwrap().kind, Kind::TextChunk { .. }) {}
    token.cancel();
    let rest: Vec<_> = events.map(Result::unwrap).collect().await;
    assert!(matches!(rest.last().unwrap().kind, Kind::SessionEnded { reason: EndReason::Cancelled, .. }), "{rest:?}");
    assert_eq!(session.view().await.unwrap().state, SessionLifecycle::Cancelled);
}

#[tokio::test]
async fn errors_have_kinds_codes_and_hints() {
    let fixture = EngineFixture::new();
    let client = client(&fixture);
    let error = client.open_session("nowhere").await.unwrap_err();
    assert_eq!(error.kind, AgentErrorKind::SessionNotFound);
    let error = client.clone().for_agent("nobody").create_session("x", SessionConfig::default()).await.unwrap_err();
    assert_eq!((error.code.as_deref(), error.agent_type.as_deref()), (Some("unknown_agent"), Some("nobody")));
    assert!(error.hint.unwrap().contains("switchboard agents"));
    let session = client.create_session("fail out of luck", SessionConfig::default()).await.unwrap();
    let events = followed(&session).await;
    let Kind::SessionEnded { reason: EndReason::Failed, error: Some(error) } = &events.last().unwrap().kind else {
        panic!("{:?}", events.last());
    };
    assert_eq!(error.agent_type.as_deref(), Some("script"));
    assert!(error.message.contains("out of luck"), "{error}");
    let error = session.interrupt().await.unwrap_err();
    assert_eq!(error.code.as_deref(), Some("ended"));
}
