//! The library as programs use it, over a session that is made up.

use std::time::Duration;

use futures_util::StreamExt as _;
use switchboard_client::{
    AgentClient, AgentErrorKind, AgentEvent, AgentEventKind, CancelToken, Decision, EndReason, EventBuffer,
    MockTransport, Order, SessionConfig, SessionState,
};
use switchboard_testkit::{play, recording::recordings};

/// A recording in which somebody is asked.
fn lines() -> Vec<String> {
    let all = recordings().unwrap();
    let events = all.iter().map(|recording| play::stored(&play::events(recording.source, &recording.bytes)));
    let asks = |lines: &Vec<String>| lines.iter().any(|line| line.contains(r#""kind":"request.opened""#));
    events.into_iter().find(asks).unwrap()
}

#[tokio::test]
async fn a_session_is_started_followed_and_answered() {
    let lines = lines();
    let mock = MockTransport::new(lines.clone());
    let client = AgentClient::new(mock.clone()).for_agent("x");
    let session = client.create_session("go", SessionConfig::default()).await.unwrap();
    let (mut seqs, mut asked, mut last) = (Vec::new(), 0, None);
    let mut events = session.events();
    while let Some(event) = events.next().await {
        let AgentEvent { seq, kind, .. } = event.unwrap();
        seqs.push(seq);
        if let AgentEventKind::ApprovalRequested(approval) = &kind {
            session.approve(&approval.id).await.unwrap();
            asked += 1;
        }
        last = Some(kind);
    }
    assert!(matches!(last, Some(AgentEventKind::SessionEnded { .. })), "{last:?}");
    assert!(seqs.is_sorted() && asked > 0);
    let orders = mock.orders();
    assert_eq!(orders.len(), asked);
    assert!(matches!(&orders[0], Order::Answer { answer, .. } if answer.decision == Decision::Accept));
    assert_eq!(session.log().count().await, lines.len());
    assert_eq!(session.log_after(3).count().await, lines.len() - 3);
    assert!(client.get_session(session.id()).await.unwrap().state != SessionState::Running);
}

#[tokio::test]
async fn who_returns_hears_the_rest_and_it_is_the_same() {
    let client = AgentClient::new(MockTransport::new(lines()));
    let session = client.session("s").await.unwrap();
    let all: Vec<AgentEvent> = session.events().map(Result::unwrap).collect().await;
    let seq = all[all.len() / 2].seq;
    let rest: Vec<AgentEvent> = session.events_after(seq).map(Result::unwrap).collect().await;
    let text = |events: &[AgentEvent]| serde_json::to_string(events).unwrap();
    let expected: Vec<AgentEvent> = all.into_iter().filter(|event| event.seq > seq).collect();
    assert!(!rest.is_empty());
    assert_eq!(text(&rest), text(&expected));
}

#[tokio::test]
async fn a_resumed_session_tells_only_what_is_new() {
    let client = AgentClient::new(MockTransport::new(lines()));
    let session = client.resume_session("s", "go on").await.unwrap();
    assert_eq!(session.log().count().await, 0, "nothing is new in a session that is made up");
}

#[tokio::test]
async fn a_line_that_is_no_event_is_an_error() {
    let mut lines = lines();
    lines.insert(2, r#"{"type":"thread.started"}"#.to_owned());
    let session = AgentClient::new(MockTransport::new(lines)).session("s").await.unwrap();
    let error = session.log().skip(2).next().await.unwrap().unwrap_err();
    assert_eq!(error.kind, AgentErrorKind::ProtocolError);
    assert_eq!(error.native_error.as_deref(), Some(r#"{"type":"thread.started"}"#));
}

#[tokio::test(start_paused = true)]
async fn a_token_cancels_natively_and_ends_the_stream() {
    let hour = Duration::from_secs(3600);
    let mock = MockTransport::new(lines()).with_delay(hour);
    let token = CancelToken::new();
    let session = AgentClient::new(mock.clone()).session("s").await.unwrap().with_cancel(&token);
    let mut events = session.events();
    assert!(tokio::time::timeout(hour * 2, events.next()).await.unwrap().unwrap().is_ok());
    token.cancel();
    assert!(token.is_cancelled());
    let begin = tokio::time::Instant::now();
    // This one does not end when it is cancelled; the stream does, and says so.
    let error = events.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind, AgentErrorKind::Timeout);
    assert!(events.next().await.is_none() && begin.elapsed() < Duration::from_secs(60));
    assert!(matches!(mock.orders().as_slice(), [Order::Cancel]));
}

#[tokio::test(start_paused = true)]
async fn a_token_cancels_also_if_nobody_follows() {
    let mock = MockTransport::new(lines());
    let token = CancelToken::new();
    let session = AgentClient::new(mock.clone()).session("s").await.unwrap().with_cancel(&token);
    token.cancel();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(mock.orders().len(), 1);
    let all: Vec<_> = session.events().map(Result::unwrap).collect().await;
    assert!(matches!(all.last().unwrap().kind, AgentEventKind::SessionEnded { .. }), "what ended is told");
}

#[tokio::test]
async fn events_in_batches() {
    let session = AgentClient::new(MockTransport::new(lines())).session("s").await.unwrap();
    let one_by_one = session.events().count().await;
    let batches: Vec<_> =
        EventBuffer { max_size: 4, ..EventBuffer::default() }.batches(session.events()).collect().await;
    assert_eq!(batches.iter().map(Vec::len).sum::<usize>(), one_by_one);
    let ended = batches.last().unwrap().last().unwrap().as_ref().unwrap();
    assert!(matches!(ended.kind, AgentEventKind::SessionEnded { reason: EndReason::Completed, .. }), "{ended:?}");
}
