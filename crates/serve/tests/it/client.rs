//! The client library against the server, over TCP and a Unix socket, by WebSocket and by polling.

use std::time::Duration;

use futures_util::StreamExt as _;
use switchboard_client::{
    AgentClient, AgentErrorKind, AgentEvent, AgentEventKind as Kind, AgentSession, CancelToken, EndReason,
    NetworkTransport, ReconnectPolicy, RemoteServer, SessionConfig, SessionLifecycle, SessionQuery,
};
use tokio::net::{TcpListener, UnixListener};

use crate::rig::Rig;

/// Listens, and returns the address.
pub async fn listen(rig: &Rig) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = rig.service.router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

/// Returns the typed events of a session until its end, and allows every request.
async fn followed(session: &AgentSession) -> Vec<AgentEvent> {
    let all = tokio::time::timeout(Duration::from_secs(60), async {
        let (mut all, mut events) = (Vec::new(), session.events());
        while let Some(event) = events.next().await {
            let event = event.unwrap();
            if let Kind::ApprovalRequested(approval) = &event.kind {
                session.approve(&approval.id).await.unwrap();
                let again = session.decline(&approval.id, None).await.unwrap_err();
                assert_eq!(again.kind, AgentErrorKind::ProtocolError, "{again}");
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

/// Exercises all functions of the library.
async fn tried(client: AgentClient) {
    let client = client.for_agent("script");
    let session =
        client.create_session("text one\napprove touch x\nburst 2000", SessionConfig::default()).await.unwrap();
    let first = followed(&session).await;
    assert!(answer(&first).contains("one") && first.iter().any(|event| event.kind.name() == "toolCompleted"));
    assert!(matches!(first.last().unwrap().kind, Kind::SessionEnded { reason: EndReason::Completed, error: None }));
    let log: Vec<u64> = session.log().map(|event| event.unwrap().seq).collect().await;
    assert_eq!(log, (1..=log.len() as u64).collect::<Vec<_>>());
    assert!(log.len() > 2000);
    let resumed = client.resume_session(session.id(), "text two").await.unwrap();
    let second = followed(&resumed).await;
    assert_eq!(answer(&second), "two");
    assert_eq!(second[0].seq, log.len() as u64 + 1);
    let view = client.get_session(session.id()).await.unwrap();
    assert_eq!((view.state, view.runs, view.agent_type.as_str()), (SessionLifecycle::Done, 2, "script"));
    let query = SessionQuery { text: Some("text one".to_owned()), limit: Some(1), ..SessionQuery::default() };
    assert_eq!(client.list_sessions(query).await.unwrap().sessions[0].id, *session.id());
    client.delete_session(session.id()).await.unwrap();
    assert_eq!(client.open_session(session.id()).await.unwrap_err().kind, AgentErrorKind::SessionNotFound);
    let token = CancelToken::new();
    let session = client.create_session("text here\nsleep 600", SessionConfig::default()).await.unwrap();
    let session = session.with_cancel(&token);
    let mut events = session.events();
    while !matches!(events.next().await.unwrap().unwrap().kind, Kind::TextChunk { .. }) {}
    token.cancel();
    let rest: Vec<_> = events.map(Result::unwrap).collect().await;
    assert!(matches!(rest.last().unwrap().kind, Kind::SessionEnded { reason: EndReason::Cancelled, .. }), "{rest:?}");
}

#[tokio::test]
async fn the_library_over_every_transport() {
    let rig = Rig::new();
    let url = listen(&rig).await;
    tried(AgentClient::connect(&url, None).unwrap()).await;
    let asking = ReconnectPolicy { polling_only: true, ..ReconnectPolicy::default() };
    let transport = NetworkTransport::new(RemoteServer::new(&url, None).unwrap()).with_reconnect(asking);
    tried(AgentClient::new(transport)).await;
    let socket = rig.folder.path().join("client.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let router = rig.service.router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    tried(AgentClient::connect(&format!("unix:{}", socket.display()), None).unwrap()).await;
}

#[tokio::test]
async fn refusals_are_errors_that_say_what_to_do() {
    let rig = Rig::new();
    let client = AgentClient::connect(&listen(&rig).await, None).unwrap();
    let error = client.open_session("nowhere").await.unwrap_err();
    assert_eq!(error.kind, AgentErrorKind::SessionNotFound, "{error}");
    let error = client.clone().for_agent("nobody").create_session("x", SessionConfig::default()).await.unwrap_err();
    assert!(error.code.is_some() && error.native_error.is_some(), "{error:?}");
    assert_eq!(error.agent_type.as_deref(), Some("nobody"));
    let session = client.for_agent("echo").create_session("x", SessionConfig::default()).await.unwrap();
    followed(&session).await;
    assert_eq!(session.approve("never").await.unwrap_err().kind, AgentErrorKind::ProtocolError);
}
