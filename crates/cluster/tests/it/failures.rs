//! Servers that are killed, connections that break, and frames that are lost.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{TryRecvError, channel},
    },
    thread,
    time::Duration,
};

use switchboard_cluster::{ClusterLog, ClusterOptions};
use switchboard_log_conformance::fixture::{
    ALL_EVENTS, append_and_wait, done_patch, new_session, stored_seqs, text_events, to_chunk, wait_for_head,
};
use switchboard_store::{EventBatch, LogHealth, PageQuery, SessionLog as _, SessionPatch, SessionPhase, StoreError};

use crate::nats::{NatsCluster, wait_for};

/// Appends single events until a number of them is committed, with some batches in flight. Calls a function with the
/// number of committed events from time to time.
pub fn append_many(log: &ClusterLog, session: &str, count: u64, mut progress: impl FnMut(u64)) {
    let (send, receive) = channel();
    let (mut next, mut committed) = (1, 0);
    while committed < count {
        while next <= count && next <= committed + 20 {
            let (send, seq) = (send.clone(), next);
            log.append_batch(EventBatch {
                session: session.into(),
                events: to_chunk(text_events(session, seq..=seq)),
                update: SessionPatch::default(),
                done: Box::new(move |outcome| send.send(outcome.map(|()| seq)).unwrap()),
            });
            next += 1;
        }
        committed = receive.recv().unwrap().unwrap();
        progress(committed);
    }
}

#[test]
fn a_killed_server_loses_nothing_that_was_acknowledged() {
    let Some(mut nats) = NatsCluster::single() else { return };
    let log = nats.open("a");
    log.create_session(new_session("s")).unwrap();
    append_many(&log, "s", 3_000, |committed| {
        if committed % 700 == 0 {
            nats.servers[0].kill();
            assert!(log.get_session("s").unwrap().unwrap().head >= committed, "lists work without the server");
            nats.servers[0].start();
        }
    });
    assert_eq!(stored_seqs(&log, "s"), (1..=3_000).collect::<Vec<_>>());
    let other = nats.open("b");
    wait_for_head(&other, "s", 3_000);
    assert_eq!(stored_seqs(&other, "s"), (1..=3_000).collect::<Vec<_>>());
    assert!(other.find_damaged_events().unwrap().is_empty(), "the chain of frames is whole");
}

#[test]
fn without_a_server_batches_wait_and_sessions_are_refused() {
    let Some(mut nats) = NatsCluster::single() else { return };
    let log = nats.open("a");
    log.create_session(new_session("s")).unwrap();
    append_and_wait(&log, "s", text_events("s", 1..=1), SessionPatch::default()).unwrap();
    assert_eq!(log.check_health(), LogHealth::Sound);
    nats.servers[0].kill();
    let (send, committed) = channel();
    log.append_batch(EventBatch {
        session: "s".into(),
        events: to_chunk(text_events("s", 2..=5)),
        update: SessionPatch::default(),
        done: Box::new(move |outcome| send.send(outcome).unwrap()),
    });
    wait_for("the outage is noticed", || (log.check_health() == LogHealth::Unreachable).then_some(()));
    let refused = log.create_session(new_session("t"));
    assert!(matches!(refused, Err(StoreError::Unreachable(_))), "{refused:?}");
    assert!(matches!(committed.try_recv(), Err(TryRecvError::Empty)));
    assert_eq!(log.get_session("s").unwrap().unwrap().head, 1, "nothing uncommitted is shown");
    assert!(log.list_abandoned().unwrap().is_empty(), "an outage is not the death of nodes");
    nats.servers[0].start();
    committed.recv().unwrap().unwrap();
    assert_eq!(stored_seqs(&log, "s"), [1, 2, 3, 4, 5]);
    wait_for("the log is available again", || (log.check_health() == LogHealth::Sound).then_some(()));
    assert!(log.get_session("t").unwrap().is_none());
    log.create_session(new_session("u")).unwrap();
}

/// Forwards connections to a server. When armed, it forwards the next frame and cuts the connection before its
/// acknowledgment.
pub struct CuttingProxy {
    port: u16,
    is_armed: Arc<AtomicBool>,
    /// After the next cut, it accepts no connections until this is reset.
    is_blocking: Arc<AtomicBool>,
    cuts: Arc<AtomicUsize>,
}

impl CuttingProxy {
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let proxy = Self {
            port: listener.local_addr().unwrap().port(),
            is_armed: Arc::default(),
            is_blocking: Arc::default(),
            cuts: Arc::default(),
        };
        let (is_armed, is_blocking, cuts) = (proxy.is_armed.clone(), proxy.is_blocking.clone(), proxy.cuts.clone());
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let is_blocked = is_blocking.load(Ordering::SeqCst) && !is_armed.load(Ordering::SeqCst);
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                if !is_blocked {
                    let (is_armed, cuts) = (is_armed.clone(), cuts.clone());
                    thread::spawn(move || forward(&client, &server, &is_armed, &cuts));
                }
            }
        });
        proxy
    }

    /// Opens the log through the proxy.
    pub fn open(&self, nats: &NatsCluster, name: &str) -> ClusterLog {
        let servers = vec![format!("nats://127.0.0.1:{}", self.port)];
        ClusterLog::open(ClusterOptions { servers, ..nats.options(name) }).unwrap()
    }

    /// Forwards one more frame, and then nothing until connections are accepted again.
    pub fn block_after_next_frame(&self) {
        self.is_blocking.store(true, Ordering::SeqCst);
        self.is_armed.store(true, Ordering::SeqCst);
    }

    fn unblock(&self) {
        self.is_blocking.store(false, Ordering::SeqCst);
    }
}

fn forward(client: &TcpStream, server: &TcpStream, is_armed: &AtomicBool, cuts: &AtomicUsize) {
    let is_cut = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            copy(server, client, |_| !is_cut.load(Ordering::SeqCst));
            drop(client.shutdown(Shutdown::Both));
        });
        copy(client, server, |data| {
            let is_frame = data.windows(18).any(|window| window == b"Switchboard-Hash: ");
            if is_frame && is_armed.swap(false, Ordering::SeqCst) {
                is_cut.store(true, Ordering::SeqCst);
                cuts.fetch_add(1, Ordering::SeqCst);
            }
            true
        });
        drop(server.shutdown(Shutdown::Both));
    });
}

/// Copies data until the function refuses a part or the connection ends.
fn copy(mut from: &TcpStream, mut to: &TcpStream, mut inspect: impl FnMut(&[u8]) -> bool) {
    let mut buffer = vec![0; 1 << 20];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if !inspect(&buffer[..length]) || to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}

/// Appends while acknowledgments are lost, with a connection to the first server only.
pub fn append_with_lost_acknowledgments(nats: &NatsCluster) {
    let proxy = CuttingProxy::start(nats.servers[0].port);
    let log = proxy.open(nats, "a");
    log.create_session(new_session("s")).unwrap();
    for round in 0..5_u64 {
        let cuts = proxy.cuts.load(Ordering::SeqCst);
        proxy.is_armed.store(true, Ordering::SeqCst);
        let first = 1 + round * 10;
        append_and_wait(&log, "s", text_events("s", first..=first + 9), SessionPatch::default()).unwrap();
        assert!(proxy.cuts.load(Ordering::SeqCst) > cuts || round > 0, "the acknowledgment was not lost");
    }
    assert_eq!(stored_seqs(&log, "s"), (1..=50).collect::<Vec<_>>());
    assert!(log.find_damaged_events().unwrap().is_empty());
}

#[test]
fn a_frame_whose_acknowledgment_was_lost_is_recognized() {
    let Some(nats) = NatsCluster::single() else { return };
    append_with_lost_acknowledgments(&nats);
}

#[test]
fn a_session_whose_creation_failed_is_withdrawn() {
    let Some(nats) = NatsCluster::single() else { return };
    let (proxy, other) = (CuttingProxy::start(nats.servers[0].port), nats.open("b"));
    let log = proxy.open(&nats, "a");
    proxy.block_after_next_frame();
    let refused = log.create_session(new_session("s"));
    assert!(matches!(refused, Err(StoreError::Unreachable(_))), "{refused:?}");
    // The frame arrived, though.
    wait_for_head(&other, "s", 0);
    proxy.unblock();
    wait_for("the session is withdrawn", || other.get_session("s").unwrap().is_none().then_some(()));
    wait_for("the creator knows", || log.get_session("s").unwrap().is_none().then_some(()));
    assert!(matches!(other.create_session(new_session("s")), Err(StoreError::Exists(_))));
}

#[test]
fn a_session_whose_claim_failed_is_given_back() {
    let Some(nats) = NatsCluster::single() else { return };
    let (proxy, other) = (CuttingProxy::start(nats.servers[0].port), nats.open("b"));
    let log = proxy.open(&nats, "a");
    other.create_session(new_session("s")).unwrap();
    append_and_wait(&other, "s", text_events("s", 1..=3), done_patch()).unwrap();
    wait_for_head(&log, "s", 3);
    proxy.block_after_next_frame();
    let refused = log.claim_session("s", Some(3));
    assert!(matches!(refused, Err(StoreError::Unreachable(_))), "{refused:?}");
    let is_open = || other.get_session("s").unwrap().unwrap().state == SessionPhase::Running;
    wait_for("the frame arrived", || is_open().then_some(()));
    proxy.unblock();
    wait_for("the session is given back", || (!is_open()).then_some(()));
    assert_eq!(other.claim_session("s", Some(3)).unwrap().head, 3);
    append_and_wait(&other, "s", text_events("s", 4..=4), done_patch()).unwrap();
    assert!(other.find_damaged_events().unwrap().is_empty());
}

#[test]
fn lost_frames_are_noticed() {
    let Some(nats) = NatsCluster::single() else { return };
    let log = nats.open("a");
    log.create_session(new_session("s")).unwrap();
    for first in [1, 4, 7] {
        append_and_wait(&log, "s", text_events("s", first..=first + 2), SessionPatch::default()).unwrap();
    }
    assert!(log.find_damaged_events().unwrap().is_empty());
    drop(log);
    // The creation is the first message, and the second one has the first three events.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let client = async_nats::connect(nats.servers[0].url()).await.unwrap();
        let stream = async_nats::jetstream::new(client).get_stream("SWITCHBOARD").await.unwrap();
        assert!(stream.delete_message(3).await.unwrap());
    });
    for name in ["a", "b"] {
        let log = nats.open(name);
        wait_for_head(&log, "s", 9);
        let (rows, damaged) = log.read_sound_rows("s", ALL_EVENTS).unwrap();
        assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(damaged.is_empty(), "the page ends before them");
        let (rows, damaged) = log.read_sound_rows("s", PageQuery { after: 3, ..ALL_EVENTS }).unwrap();
        assert_eq!((rows.len(), damaged), (3, vec![4, 5, 6]));
        let found = log.find_damaged_events().unwrap();
        assert_eq!(found.len(), 1);
        assert!(found[0].1.starts_with(&[4, 5, 6]), "{found:?}");
    }
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let Some(mut nats) = NatsCluster::single() else { return };
    nats.servers[0].kill();
    let error = ClusterLog::open(nats.options("a")).err().unwrap();
    assert!(matches!(error, StoreError::Unreachable(_)), "{error:?}");
    let url = nats.servers[0].url();
    assert!(error.to_string().contains("NATS") && error.to_string().contains(&url), "{error}");
}

#[test]
fn closing_without_a_server_ends() {
    let Some(mut nats) = NatsCluster::single() else { return };
    let log = nats.open("a");
    log.create_session(new_session("s")).unwrap();
    nats.servers[0].kill();
    let (send, outcome) = channel();
    log.append_batch(EventBatch {
        session: "s".into(),
        events: to_chunk(text_events("s", 1..=1)),
        update: done_patch(),
        done: Box::new(move |outcome| send.send(outcome.is_ok()).unwrap()),
    });
    drop(log);
    assert!(!outcome.recv_timeout(Duration::from_secs(60)).unwrap());
}
