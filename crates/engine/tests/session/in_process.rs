//! The client library over the engine itself.

use std::time::Duration;

use futures_util::StreamExt as _;
use switchboard_client::{
    AgentClient, AgentErrorKind, AgentEvent, AgentEventKind as Kind, CancelToken, EndReason, SessionConfig,
    SessionQuery, SessionState,
};
use switchboard_engine::InProcess;

use crate::rig::Rig;

fn client(rig: &Rig) -> AgentClient {
    AgentClient::new(InProcess::new(rig.engine.clone()))
        .for_agent("script")
        .in_folder(rig.folder.path().to_string_lossy())
}

/// The typed events of a session until its end, with every request allowed.
async fn followed(session: &switchboard_client::Session) -> Vec<AgentEvent> {
    let all = tokio::time::timeout(Duration::from_secs(60), async {
        let (mut all, mut events) = (Vec::new(), session.events());
        while let Some(event) = events.next().await {
            let event = event.unwrap();
            if let Kind::ApprovalRequested(approval) = &event.kind {
                assert_eq!(session.approvals().await.unwrap().len(), 1);
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
    let rig = Rig::new();
    let client = client(&rig);
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
    assert_eq!((view.state, view.runs), (SessionState::Done, 2));
    let listed =
        client.list_sessions(SessionQuery { state: Some(SessionState::Done), ..SessionQuery::default() }).await;
    assert_eq!(listed.unwrap().sessions.len(), 1);
    client.delete_session(session.id()).await.unwrap();
    let gone = client.get_session(session.id()).await.unwrap_err();
    assert_eq!(gone.kind, AgentErrorKind::SessionNotFound);
}

#[tokio::test]
async fn a_token_ends_the_session_and_the_stream() {
    let rig = Rig::new();
    let token = CancelToken::new();
    let session = client(&rig).create_session("text here\nsleep 600", SessionConfig::default()).await.unwrap();
    let session = session.with_cancel(&token);
    let mut events = session.events();
    while !matches!(events.next().await.unwrap().unwrap().kind, Kind::TextChunk { .. }) {}
    token.cancel();
    let rest: Vec<_> = events.map(Result::unwrap).collect().await;
    assert!(matches!(rest.last().unwrap().kind, Kind::SessionEnded { reason: EndReason::Cancelled, .. }), "{rest:?}");
    assert_eq!(session.view().await.unwrap().state, SessionState::Cancelled);
}

#[tokio::test]
async fn what_cannot_be_is_said() {
    let rig = Rig::new();
    let client = client(&rig);
    let error = client.session("nowhere").await.unwrap_err();
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
