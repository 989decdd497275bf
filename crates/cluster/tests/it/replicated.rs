//! The log on three servers that form a cluster.

use switchboard_log_conformance::{
    CONFORMANCE_TESTS,
    fixture::{new_session, stored_seqs, wait_for_head},
};
use switchboard_store::SessionLog as _;

use crate::{
    failures::{append_many, append_with_lost_acknowledgments},
    nats::NatsCluster,
};

/// Deletes all streams and buckets, so that they do not slow down later tests.
fn delete_streams(nats: &NatsCluster) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(nats.urls()).await.unwrap();
        let context = async_nats::jetstream::new(client);
        let mut names = context.stream_names();
        while let Some(name) = futures_util::StreamExt::next(&mut names).await {
            context.delete_stream(name.unwrap()).await.unwrap();
        }
    });
}

#[test]
fn the_contract_holds_on_three_servers() {
    let Some(mut nats) = NatsCluster::replicated() else { return };
    for (name, test) in CONFORMANCE_TESTS {
        println!("{name}");
        nats.set_prefix(name);
        test(&nats);
        delete_streams(&nats);
    }
}

#[test]
fn killed_replicas_lose_nothing_that_was_acknowledged() {
    let Some(mut nats) = NatsCluster::replicated() else { return };
    let (log, other) = (nats.open("a"), nats.open("b"));
    log.create_session(new_session("s")).unwrap();
    append_many(&log, "s", 4_000, |committed| {
        if committed % 1_000 == 0 && committed < 4_000 {
            let index = usize::try_from(committed / 1_000 - 1).unwrap();
            nats.servers[index].kill();
            nats.servers[index].start();
            nats.wait_until_healthy();
        }
    });
    for log in [&log, &other] {
        wait_for_head(log, "s", 4_000);
        assert_eq!(stored_seqs(log, "s"), (1..=4_000).collect::<Vec<_>>());
    }
    assert!(other.find_damaged_events().unwrap().is_empty());
}

#[test]
fn a_replicated_frame_whose_acknowledgment_was_lost_is_recognized() {
    let Some(nats) = NatsCluster::replicated() else { return };
    append_with_lost_acknowledgments(&nats);
}
