//! Events and texts that are too large for a message.

use switchboard_log_conformance::fixture::{
    ALL_EVENTS, append_and_wait, done_patch, new_session, text_event, text_events, to_chunk, wait_for_head,
};
use switchboard_store::{NewSession, SessionLog as _, SessionPatch};

use crate::{
    failures::CuttingProxy,
    nats::{NatsCluster, wait_for},
};

/// Returns text that hardly compresses.
fn noise(length: usize) -> String {
    let (mut state, mut text) = (7_u64, String::new());
    while text.len() < length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("{:016x}", state ^ (state >> 29)));
    }
    text
}

/// Returns the number of messages of all objects.
fn object_messages(nats: &NatsCluster) -> u64 {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(nats.servers[0].url()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let objects = context.get_stream("OBJ_SWITCHBOARD_payloads").await.unwrap();
        let mut chunks = objects.info_with_subjects("$O.SWITCHBOARD_payloads.C.>").await.unwrap();
        let mut count = 0;
        while let Some(entry) = futures_util::StreamExt::next(&mut chunks).await {
            count += u64::try_from(entry.unwrap().1).unwrap();
        }
        count
    })
}

#[test]
fn large_payloads_are_objects_that_go_with_their_session() {
    let Some(nats) = NatsCluster::single() else { return };
    let (log, other) = (nats.open("a"), nats.open("b"));
    let prompt = noise(200_000);
    log.create_session(NewSession { prompt: prompt.clone(), ..new_session("s") }).unwrap();
    let large = noise(20_000_000);
    let written = vec![text_event("s", 1, "small"), text_event("s", 2, &large), text_event("s", 3, "small")];
    append_and_wait(&log, "s", written.clone(), SessionPatch::default()).unwrap();
    append_and_wait(&log, "s", text_events("s", 4..=5), SessionPatch::default()).unwrap();
    let expected = to_chunk(written);
    for log in [&log, &other] {
        wait_for_head(log, "s", 5);
        let rows = log.read_rows("s", ALL_EVENTS).unwrap();
        assert_eq!(rows.len(), 5);
        for (row, (event, json)) in rows.iter().zip(expected.iter_from(0)) {
            assert!(row.seq == event.seq && row.json.as_bytes() == &json[..], "event {} differs", event.seq);
        }
        assert!(log.get_session("s").unwrap().unwrap().prompt == prompt, "the prompt differs");
    }
    assert!(object_messages(&nats) > 0);
    append_and_wait(&log, "s", vec![], done_patch()).unwrap();
    other.delete_session("s").unwrap();
    other.reclaim_space().unwrap();
    assert_eq!(object_messages(&nats), 0);
}

#[test]
fn another_node_finishes_an_interrupted_deletion() {
    let Some(nats) = NatsCluster::single() else { return };
    let (proxy, other) = (CuttingProxy::start(nats.servers[0].port), nats.open("b"));
    let log = proxy.open(&nats, "a");
    other.create_session(new_session("s")).unwrap();
    append_and_wait(&other, "s", vec![text_event("s", 1, &noise(1_000_000))], done_patch()).unwrap();
    wait_for_head(&log, "s", 1);
    proxy.block_after_next_frame();
    assert!(log.delete_session("s").is_err());
    drop(log);
    wait_for("the session is deleted", || other.get_session("s").unwrap().is_none().then_some(()));
    assert!(object_messages(&nats) > 0);
    wait_for("the objects are removed", || {
        other.reclaim_space().unwrap();
        (object_messages(&nats) == 0).then_some(())
    });
}
