//! Followers see every event once and in order, whatever their speed; what they see is what a translation gives.

use switchboard_agents::{Options, Record, RecordBody, Start, Translator, source};
use switchboard_event::{Event, NativeBody};

use crate::rig::{Rig, rest};

#[tokio::test]
async fn slow_and_late_followers_miss_nothing() {
    let rig = Rig::new();
    let session = rig.start(rig.script("burst 20000")).await;
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
    assert_eq!(rest(&mut early).await.len() as u64, seen);
    assert_eq!(rest(&mut session.follow_after(seen - 3)).await.len(), 3);
}

/// The same native records, translated afterwards.
fn translated(events: &[Event]) -> Vec<Event> {
    let first = events[0].clone();
    let switchboard_event::Body::SessionStarted(started) = &first.body else { panic!("no beginning") };
    let options = Options {
        session: Some(first.session.clone()),
        hold: true,
        arrival: first.at,
        start: Start { config: started.config.clone(), ..Start::default() },
        ..Options::default()
    };
    let mut translator = Translator::new(source(&first.agent).unwrap(), options);
    let mut out = Vec::new();
    for event in events {
        let Some(native) = &event.native else { continue };
        let body = match &native.body {
            NativeBody::Json(raw) => RecordBody::Json(raw),
            NativeBody::Text(text) => RecordBody::Text(text),
            NativeBody::Bytes(bytes) => RecordBody::Bytes(bytes),
        };
        translator.record(&Record { dir: native.dir, at: Some(event.at), body }, &mut out);
    }
    translator.end(&mut out);
    out
}

#[tokio::test]
async fn live_equals_translate() {
    let rig = Rig::new();
    let script = "think hm\ntext some words\nrun ls\nedit a.txt\nplan a, b\nsubagent helper\nraw {\"x\":1}\nfail no";
    let live = rig.play(rig.script(script)).await;
    let again = translated(&live);
    let told = |event: &Event| serde_json::to_string(&event.body).unwrap();
    let (live, again): (Vec<_>, Vec<_>) = (live.iter().map(told).collect(), again.iter().map(told).collect());
    assert_eq!(live, again);
    assert!(live.len() >= 30, "{}", live.len());
}
