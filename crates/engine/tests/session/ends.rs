//! However a session ends, everything is closed and the end is told.

use std::time::Duration;

use switchboard_event::Body;
use switchboard_store::{Options, State};

use crate::rig::{Rig, kinds, reason, rest, wait};

#[tokio::test]
async fn cancelled_is_not_failed() {
    let rig = Rig::new();
    let session = rig.start(rig.script("text one\nsleep 1000")).await;
    let mut follower = session.follow();
    wait(&mut follower, |body| matches!(body, Body::Notice(_)).then_some(())).await;
    session.cancel().await.unwrap();
    let events = rest(&mut follower).await;
    assert_eq!(reason(&events), "Cancelled");
    let row = rig.engine.log().session(session.id()).unwrap().unwrap();
    assert_eq!(row.state, State::Cancelled);
}

#[tokio::test]
async fn too_long_is_a_timeout_of_its_own() {
    for idle in [false, true] {
        let rig = Rig::new();
        let mut request = rig.script("text one\nsleep 100000");
        let limit = Some(Duration::from_millis(50));
        (request.limits.total, request.limits.idle) = if idle { (None, limit) } else { (limit, None) };
        assert_eq!(reason(&rig.play(request).await), "Timeout", "idle: {idle}");
    }
}

#[tokio::test]
async fn a_crash_is_a_failure_with_all_closed() {
    let rig = Rig::new();
    let events = rig.play(rig.script("text one\nsubagent two\ncrash")).await;
    assert_eq!(reason(&events), "Failed");
    let count = |kind: &str| kinds(&events).split(' ').filter(|name| *name == kind).count();
    assert_eq!(count("item.started"), count("item.completed"));
    assert_eq!(count("turn.started"), count("turn.completed"));
}

#[tokio::test]
async fn a_full_disk_stops_the_session_and_harms_nothing() {
    let rig = Rig::with(&Options { max_bytes: Some(1 << 20), ..Options::default() });
    let session = rig.start(rig.script("burst 100000")).await;
    let outcome = session.outcome().await;
    assert!(outcome.unwritten.is_some_and(|why| why.contains("no space left")), "it must say why");
    let seen = rest(&mut session.follow()).await;
    let row = rig.engine.log().session(session.id()).unwrap().unwrap();
    assert_eq!(seen.last().map(|event| event.seq), Some(row.head), "what was seen is what is there");
}
