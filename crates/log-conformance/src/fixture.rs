//! Sessions and events for tests.

use std::{
    ops::RangeInclusive,
    sync::{Arc, mpsc::channel},
    thread,
    time::{Duration, Instant},
};

use switchboard_event::{Decider, EndReason, Event, Id, SessionConfig, SessionEnded, Timestamp};
use switchboard_store::{
    AgentRun, EventBatch, EventChunk, NewSession, PageQuery, ProcessIdentity, SessionEnd, SessionLog, SessionPatch,
    SessionPhase, SessionRecord, StoreError,
};

use crate::LogStorage;

/// All events of a session, regardless of size.
pub const ALL_EVENTS: PageQuery = PageQuery { after: 0, limit: usize::MAX >> 1, max_bytes: usize::MAX, kinds: &[] };

/// The time after which something that takes effect in another process must have done so.
const PROPAGATION_TIMEOUT: Duration = Duration::from_secs(60);

/// Opens the log with one session, `s`.
pub fn log_with_session(storage: &dyn LogStorage) -> Box<dyn SessionLog> {
    let log = storage.open_log();
    log.create_session(new_session("s")).unwrap();
    log
}

#[must_use]
pub fn test_time(second: i64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + second * 1_000).unwrap()
}

#[must_use]
pub fn new_session(id: &str) -> NewSession {
    NewSession {
        id: id.into(),
        agent: "echo".into(),
        created: test_time(0),
        config: SessionConfig { model: Some("large".to_owned()), ..SessionConfig::default() },
        prompt: "fix the test".to_owned(),
        cwd: "/home/me".to_owned(),
        project: None,
    }
}

/// Creates an event with a text and a native record that must be returned verbatim.
#[must_use]
pub fn text_event(session: &str, seq: u64, text: &str) -> Event {
    let text = format!(
        r#"{{"v":1,"seq":{seq},"session":"{session}","at":"{}","agent":"echo","run":1,"turn":1,"item":"i","parent":null,"thread":null,"kind":"item.delta","data":{{"op":"append","field":"text","part":0,"text":"{text}"}},"dir":"in","native":{{ "n" : 1.0e2, "n":1 }}}}"#,
        test_time(i64::try_from(seq).unwrap()),
    );
    Event::from_json(&text).unwrap()
}

#[must_use]
pub fn text_events(session: &str, seqs: RangeInclusive<u64>) -> Vec<Event> {
    seqs.map(|seq| text_event(session, seq, "hello")).collect()
}

/// Converts events to a chunk.
#[must_use]
pub fn to_chunk(events: Vec<Event>) -> Arc<EventChunk> {
    Arc::new(EventChunk::try_from(events).unwrap())
}

/// Appends events and waits for the commit.
///
/// # Errors
/// Fails if the batch is refused.
pub fn append_and_wait(
    log: &dyn SessionLog,
    session: &str,
    events: Vec<Event>,
    update: SessionPatch,
) -> Result<(), StoreError> {
    let (send, receive) = channel();
    let done = Box::new(move |outcome| send.send(outcome).unwrap());
    log.append_batch(EventBatch { session: session.into(), events: to_chunk(events), update, done });
    receive.recv().unwrap()
}

/// Returns the stored `seq`s.
pub fn stored_seqs(log: &dyn SessionLog, session: &str) -> Vec<u64> {
    log.read_events(session, ALL_EVENTS).unwrap().iter().map(|event| event.seq).collect()
}

#[must_use]
pub fn session_ids(sessions: &[SessionRecord]) -> Vec<&str> {
    sessions.iter().map(|session| Id::as_str(&session.id)).collect()
}

/// Returns the patch of a session that is done.
#[must_use]
pub fn done_patch() -> SessionPatch {
    SessionPatch { state: Some(SessionPhase::Done), ..SessionPatch::default() }
}

/// Returns the patch of a session that ended at a time.
#[must_use]
pub fn ended_patch(at: Timestamp) -> SessionPatch {
    let how = SessionEnded {
        reason: EndReason::Completed,
        error: None,
        exit_code: None,
        signal: None,
        duration_ms: 1,
        by: Decider::Agent,
    };
    SessionPatch { end: Some(SessionEnd { at, how }), ..done_patch() }
}

/// Returns a run that is in progress or has ended.
#[must_use]
pub fn make_run(ended: bool) -> AgentRun {
    AgentRun {
        run: 1,
        boot: "boot".into(),
        supervisor: Some(ProcessIdentity { pid: 11, start: 12 }),
        agent: None,
        started: test_time(1),
        ended: ended.then(|| test_time(2)),
    }
}

#[must_use]
pub fn run_patch(run: AgentRun) -> SessionPatch {
    SessionPatch { run: Some(run), ..SessionPatch::default() }
}

/// Waits for something that another process may see a little later.
pub fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PROPAGATION_TIMEOUT;
    while !condition() {
        assert!(Instant::now() < deadline, "timeout: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until another process sees a session with a number of events.
pub fn wait_for_head(log: &dyn SessionLog, session: &str, head: u64) {
    wait_until("the session's events are visible", || {
        log.get_session(session).unwrap().is_some_and(|session| session.head >= head)
    });
}
