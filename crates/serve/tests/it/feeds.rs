//! Readers of a session: wherever they begin, however slow they are and whoever reads beside them, each gets every
//! message once and in order.

use std::time::Duration;

use bytes::Bytes;
use switchboard_dialects::{DIALECTS, Dialect, MessageBuffer, find_dialect};
use switchboard_serve::feed::{Begin, Reader};
use switchboard_store::{CheckpointPosition, PageQuery};

use crate::rig::Rig;

/// What a reader gets until the end: each message, and the place of its event if it is the event's last.
async fn rest(reader: &mut Reader) -> Vec<(Bytes, Option<u64>)> {
    let mut all = Vec::new();
    let reading = async {
        while let Some(part) = reader.next().await.unwrap() {
            all.extend(part.messages().iter().map(|one| (one.json.clone(), one.is_last.then_some(one.seq))));
        }
    };
    tokio::time::timeout(Duration::from_secs(60), reading).await.expect("the session did not end");
    all
}

/// What the events of the log say, projected in one go.
fn said(rig: &Rig, id: &str, dialect: &Dialect) -> Vec<(Bytes, Option<u64>)> {
    let page = PageQuery { after: 0, limit: usize::MAX >> 1, max_bytes: usize::MAX, kinds: &[] };
    let mut projection = (dialect.projection)();
    let mut all = Vec::new();
    for event in rig.service.engine().log().read_events(id, page).unwrap() {
        let mut messages = MessageBuffer::default();
        projection.project_event(&event, &mut messages);
        let count = messages.len();
        let numbered = messages.iter().zip(1..);
        all.extend(numbered.map(|(one, n)| (Bytes::copy_from_slice(one), (n == count).then_some(event.seq))));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn all_who_read_a_burst_get_all_of_it() {
    let rig = Rig::new();
    let id = rig.start("script", "sleep 0.1\nburst 6000\ntext done").await;
    let mut readers = Vec::new();
    for dialect in DIALECTS {
        for slow in [false, false, true] {
            let mut reader = rig.service.read(&id, dialect, Begin::Message(0)).await.unwrap();
            readers.push(tokio::spawn(async move {
                let mut got = Vec::new();
                while slow && let Some(part) = reader.next().await.unwrap() {
                    // It falls behind all that is kept for those who do not.
                    got.extend(part.messages().iter().map(|one| (one.json.clone(), one.is_last.then_some(one.seq))));
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                got.extend(rest(&mut reader).await);
                (dialect, got)
            }));
        }
    }
    for reader in readers {
        let (dialect, got) = reader.await.unwrap();
        assert_eq!(got, said(&rig, &id, dialect), "{}", dialect.name);
    }
}

#[tokio::test]
async fn a_reader_begins_anywhere() {
    let rig = Rig::new();
    let id = rig.start("script", "text one two\nthink why\nrun ls\nedit a.txt\nplan a, b\nburst 50\ntext end").await;
    rig.ended(&id).await;
    for dialect in DIALECTS {
        let whole = said(&rig, &id, dialect);
        for skip in 0..=whole.len() {
            let mut reader = rig.service.read(&id, dialect, Begin::Message(skip as u64)).await.unwrap();
            assert_eq!(rest(&mut reader).await, whole[skip..], "{} from message {skip}", dialect.name);
            let Some(seq) = whole.get(skip).and_then(|(_, seq)| *seq) else { continue };
            let mut reader = rig.service.read(&id, dialect, Begin::Event(seq)).await.unwrap();
            assert_eq!(rest(&mut reader).await, whole[skip + 1..], "{} behind event {seq}", dialect.name);
        }
    }
}

#[tokio::test]
async fn who_returns_begins_at_a_checkpoint() {
    let rig = Rig::new();
    let id = rig.start("script", "burst 30000\ntext end").await;
    rig.ended(&id).await;
    let dialect = DIALECTS.first().unwrap();
    let whole = rest(&mut rig.service.read(&id, dialect, Begin::Message(0)).await.unwrap()).await;
    // Another process, which has nothing in memory.
    let other = rig.beside();
    let (log, version) = (other.service.engine().log(), dialect.version());
    let kept = log
        .find_checkpoint(&id, dialect.name, &version, CheckpointPosition::Seq(29_000))
        .unwrap()
        .expect("no checkpoint was kept");
    assert!(kept.seq > 20_000 && kept.seq <= 29_000, "{}", kept.seq);
    for begin in [Begin::Event(29_000), Begin::Message(29_500)] {
        let got = rest(&mut other.service.read(&id, dialect, begin).await.unwrap()).await;
        assert_eq!(got[..], whole[whole.len() - got.len()..], "{begin:?}");
        assert!((400..1100).contains(&got.len()), "{begin:?}: {}", got.len());
    }
}

#[tokio::test]
async fn an_offset_that_is_not_reached_yet_is_waited_for() {
    let rig = Rig::new();
    let id = rig.start("script", "sleep 0.2\nburst 100\nsleep 0.2\ntext end").await;
    let events = find_dialect("events").unwrap();
    let mut reader = rig.service.read(&id, events, Begin::Message(90)).await.unwrap();
    let got = rest(&mut reader).await;
    assert_eq!(got, said(&rig, &id, events)[90..]);
}

#[tokio::test]
async fn a_session_that_another_process_runs_is_followed() {
    let rig = Rig::new();
    let id = rig.start("script", "sleep 0.2\nburst 3000\nsleep 0.1\ntext end").await;
    let other = rig.beside();
    for dialect in DIALECTS {
        let got = rest(&mut other.service.read(&id, dialect, Begin::Message(0)).await.unwrap()).await;
        assert_eq!(got, said(&rig, &id, dialect), "{}", dialect.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_goes_back_misses_nothing_and_repeats_nothing() {
    let rig = Rig::new();
    // While it runs, so that some go back from among the others, and once it has ended.
    let id = rig.start("script", "sleep 0.1\nburst 6000\ntext done").await;
    for dialect in DIALECTS {
        let mut reader = rig.service.read(&id, dialect, Begin::Message(0)).await.unwrap();
        let (mut got, mut steps) = (Vec::new(), 0);
        while let Some(part) = reader.next().await.unwrap() {
            steps += 1;
            // Only some of every other part are sent, also of the messages of one event.
            let sent = if steps % 2 == 0 { part.messages().len() } else { part.messages().len().div_ceil(3) };
            let messages = part.messages().iter().take(sent);
            got.extend(messages.map(|one| (one.json.clone(), one.is_last.then_some(one.seq))));
            if sent < part.messages().len() {
                reader.rewind(part.first_offset() + sent as u64).await;
            }
        }
        let said = said(&rig, &id, dialect);
        assert!(got == said, "{}: {} of {} messages", dialect.name, got.len(), said.len());
    }
}
