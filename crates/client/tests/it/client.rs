//! The library as programs use it, over a scripted session.

use std::time::Duration;

use futures_util::StreamExt as _;
use switchboard_client::{
    AgentClient, AgentErrorKind, AgentEvent, AgentEventKind, ApprovalDecision, CancelToken, EndReason, EventBuffer,
    MockTransport, SessionAction, SessionConfig, SessionLifecycle,
};
use switchboard_testkit::recording::{self, load_recordings};

/// Returns the events of a recording with a request.
fn lines_with_request() -> Vec<String> {
    let all = load_recordings().unwrap();
    let events = all
        .iter()
        .map(|recording| recording::stored_json(&recording::stream_events(recording.source, &recording.bytes)));
    let asks = |lines: &Vec<String>| lines.iter().any(|line| line.contains(r#""kind":"request.opened""#));
    events.into_iter().find(asks).unwrap()
}

#[tokio::test]
async fn a_session_is_started_followed_and_answered() {
    let lines = lines_with_request();
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
    let orders = mock.recorded_actions();
    assert_eq!(orders.len(), asked);
    assert!(matches!(&orders[0], SessionAction::Answer { answer, .. } if answer.decision == ApprovalDecision::Accept));
    assert_eq!(session.log().count().await, lines.len());
    assert_eq!(session.log_after(3).count().await, lines.len() - 3);
    assert!(client.get_session(session.id()).await.unwrap().state != SessionLifecycle::Running);
}

#[tokio::test]
async fn who_returns_hears_the_rest_and_it_is_the_same() {
    let client = AgentClient::new(MockTransport::new(lines_with_request()));
    let session = client.open_session("s").await.unwrap();
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
    let client = AgentClient::new(MockTransport::new(lines_with_request()));
    let session = client.resume_session("s", "go on").await.unwrap();
    assert_eq!(session.log().count().await, 0, "nothing is new in a session that is made up");
}

#[tokio::test]
async fn a_line_that_is_no_event_is_an_error() {
    let mut lines = lines_with_request();
    lines.insert(2, r#"{"type":"thread.started"}"#.to_owned());
    let session = AgentClient::new(MockTransport::new(lines)).open_session("s").await.unwrap();
    let error = session.log().skip(2).next().await.unwrap().unwrap_err();
    assert_eq!(error.kind, AgentErrorKind::ProtocolError);
    assert_eq!(error.native_error.as_deref(), Some(r#"{"type":"thread.started"}"#));
}

#[tokio::test(start_paused = true)]
async fn a_token_cancels_natively_and_ends_the_stream() {
    let hour = Duration::from_secs(3600);
    let mock = MockTransport::new(lines_with_request()).with_delay(hour);
    let token = CancelToken::new();
    let session = AgentClient::new(mock.clone()).open_session("s").await.unwrap().with_cancel(&token);
    let mut events = session.events();
    assert!(tokio::time::timeout(hour * 2, events.next()).await.unwrap().unwrap().is_ok());
    token.cancel();
    assert!(token.is_cancelled());
    let begin = tokio::time::Instant::now();
    // The scripted session ignores the cancellation; the stream ends with an error.
    let error = events.next().await.unwrap().unwrap_err();
    assert_eq!(error.kind, AgentErrorKind::Timeout);
    assert!(events.next().await.is_none() && begin.elapsed() < Duration::from_secs(60));
    assert!(matches!(mock.recorded_actions().as_slice(), [SessionAction::Cancel]));
}

#[tokio::test(start_paused = true)]
async fn a_token_cancels_also_if_nobody_follows() {
    let mock = MockTransport::new(lines_with_request());
    let token = CancelToken::new();
    let session = AgentClient::new(mock.clone()).open_session("s").await.unwrap().with_cancel(&token);
    token.cancel();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(mock.recorded_actions().len(), 1);
    let all: Vec<_> = session.events().map(Result::unwrap).collect().await;
    assert!(matches!(all.last().unwrap().kind, AgentEventKind::SessionEnded { .. }), "what ended is told");
}

#[tokio::test]
async fn events_in_batches() {
    let session = AgentClient::new(MockTransport::new(lines_with_request())).open_session("s").await.unwrap();
    let one_by_one = session.events().count().await;
    let batches: Vec<_> =
        EventBuffer { max_size: 4, ..EventBuffer::default() }.batches(session.events()).collect().await;
    assert_eq!(batches.iter().map(Vec::len).sum::<usize>(), one_by_one);
    let ended = batches.last().unwrap().last().unwrap().as_ref().unwrap();
    assert!(matches!(ended.kind, AgentEventKind::SessionEnded { reason: EndReason::Completed, .. }), "{ended:?}");
}
