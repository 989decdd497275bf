//! Owners that are silent or dead lose their sessions, and cannot write to them again.

use std::{path::PathBuf, thread};

use switchboard_cluster::{ClusterLog, ClusterOptions, NodeDescription};
use switchboard_log_conformance::fixture::{
    append_and_wait, done_patch, new_session, stored_seqs, text_events, wait_for_head,
};
use switchboard_store::{SessionLog as _, SessionPatch, StoreError};

use crate::{
    child::{ChildProcess, child_role, write_to_parent},
    nats::{NatsCluster, wait_for},
};

/// Opens the log as a child process, whose role is the URL of the server and the data directory.
fn open_as_child(role: &str) -> ClusterLog {
    let (url, directory) = role.split_once(' ').unwrap();
    ClusterLog::open(ClusterOptions {
        servers: vec![url.to_owned()],
        data_directory: PathBuf::from(directory),
        node: NodeDescription { name: "child".to_owned(), ..NodeDescription::default() },
        ..ClusterOptions::default()
    })
    .unwrap()
}

fn role_on(nats: &NatsCluster) -> String {
    format!("{} {}", nats.servers[0].url(), nats.options("child").data_directory.display())
}

/// Appends to a session until it is refused.
fn append_until_refused(log: &ClusterLog) {
    log.create_session(new_session("s")).unwrap();
    for seq in 1.. {
        match append_and_wait(log, "s", text_events("s", seq..=seq), SessionPatch::default()) {
            Ok(()) if seq == 20 => write_to_parent("ready"),
            Ok(()) => thread::yield_now(),
            Err(error) => {
                let kind = if matches!(error, StoreError::NotOwner(_)) { "not owner" } else { "other" };
                write_to_parent(&format!("refused: {kind}: {error}"));
                break;
            }
        }
    }
    // It learns what has become of the session.
    wait_for("the end of the session", || {
        log.get_session("s").unwrap().filter(|session| session.state.is_final()).map(drop)
    });
    write_to_parent("ended");
}

#[test]
fn a_suspended_owner_does_not_write_again() {
    if let Some(role) = child_role() {
        return append_until_refused(&open_as_child(&role));
    }
    let Some(nats) = NatsCluster::single() else { return };
    let log = nats.open("other");
    let mut child = ChildProcess::start("fencing::a_suspended_owner_does_not_write_again", &role_on(&nats));
    assert_eq!(child.next_message().as_deref(), Some("ready"));
    wait_for_head(&log, "s", 20);
    assert!(log.list_abandoned().unwrap().is_empty());
    child.suspend();
    let taken = wait_for("the session is abandoned", || log.take_over().unwrap().pop());
    let head = taken.session.head;
    assert_eq!(taken.session.owner, Some(log.owner_number()));
    append_and_wait(&log, "s", text_events("s", head + 1..=head + 1), done_patch()).unwrap();
    child.resume();
    let refused = child.next_message().unwrap();
    assert!(refused.starts_with("refused: not owner"), "{refused}");
    assert_eq!(child.next_message().as_deref(), Some("ended"));
    assert_eq!(log.get_session("s").unwrap().unwrap().head, head + 1);
    assert_eq!(stored_seqs(&log, "s"), (1..=head + 1).collect::<Vec<_>>());
    assert!(log.find_damaged_events().unwrap().is_empty());
}

/// Creates a session and waits to be killed.
fn run_until_killed(log: &ClusterLog) {
    log.create_session(new_session("s")).unwrap();
    append_and_wait(log, "s", text_events("s", 1..=3), SessionPatch::default()).unwrap();
    write_to_parent("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn sessions_of_a_killed_node_are_taken_over() {
    if let Some(role) = child_role() {
        return run_until_killed(&open_as_child(&role));
    }
    let Some(nats) = NatsCluster::single() else { return };
    let log = nats.open("other");
    let mut child = ChildProcess::start("fencing::sessions_of_a_killed_node_are_taken_over", &role_on(&nats));
    assert_eq!(child.next_message().as_deref(), Some("ready"));
    wait_for_head(&log, "s", 3);
    child.kill();
    let taken = wait_for("the session is abandoned", || log.take_over().unwrap().pop());
    assert_eq!((taken.session.id.as_str(), taken.session.head), ("s", 3));
    append_and_wait(&log, "s", text_events("s", 4..=4), done_patch()).unwrap();
}

#[test]
fn a_restarted_node_finds_its_sessions_abandoned_at_once() {
    if let Some(role) = child_role() {
        return run_until_killed(&open_as_child(&role));
    }
    let Some(nats) = NatsCluster::single() else { return };
    let test = "fencing::a_restarted_node_finds_its_sessions_abandoned_at_once";
    let mut child = ChildProcess::start(test, &role_on(&nats));
    assert_eq!(child.next_message().as_deref(), Some("ready"));
    child.kill();
    let log = nats.open("child");
    assert_eq!(log.list_abandoned().unwrap().len(), 1);
    assert_eq!(log.take_over().unwrap().len(), 1);
    append_and_wait(&log, "s", text_events("s", 4..=4), done_patch()).unwrap();
}
