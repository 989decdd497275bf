//! The messages of a session: in pages, as streams, and through readers of every speed.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use switchboard_dialects::{DIALECTS, Dialect, MessageBuffer, find_dialect};
use switchboard_serve::feed::{FeedStart, SessionReader};
use switchboard_store::{CheckpointPosition, PageQuery};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, protocol::frame::coding::CloseCode},
};

use crate::rig::Rig;

/// Reads all messages, page by page.
async fn all_messages(rig: &Rig, id: &str, dialect: &str, limit: usize) -> Vec<Value> {
    let (mut messages, mut offset) = (Vec::new(), 0);
    loop {
        let path = format!("/api/sessions/{id}/events?dialect={dialect}&offset={offset}&limit={limit}");
        let page = rig.get(&path).await.body;
        let events = page["events"].as_array().unwrap().clone();
        assert!(events.len() <= limit);
        assert_eq!(page["nextOffset"], json!(offset + events.len()));
        if events.is_empty() {
            return messages;
        }
        offset += events.len();
        messages.extend(events);
    }
}

#[tokio::test]
async fn pages_of_any_size_say_the_same() {
    let rig = Rig::new();
    let id = rig.start("script", "text one two three\nthink why\nrun ls\nedit a.txt\nplan a, b").await;
    rig.ended(&id).await;
    for dialect in DIALECTS {
        let whole = all_messages(&rig, &id, dialect.name, 10_000).await;
        assert!(whole.len() > 3, "{}: {whole:?}", dialect.name);
        for limit in [1, 2, 7] {
            assert_eq!(all_messages(&rig, &id, dialect.name, limit).await, whole, "{} by {limit}", dialect.name);
        }
    }
}

#[tokio::test]
async fn the_usual_dialect_is_that_of_a_board() {
    let rig = Rig::new();
    let id = rig.start("echo", "hello there").await;
    rig.ended(&id).await;
    let page = rig.get(&format!("/api/sessions/{id}/events")).await.body;
    let events = page["events"].as_array().unwrap();
    for field in ["id", "sessionId", "type", "payload", "timestamp"] {
        assert!(events.iter().all(|event| event.get(field).is_some()), "{field}");
    }
    assert!(page.to_string().contains("hello there"));
}

#[tokio::test]
async fn after_counts_events() {
    let rig = Rig::new();
    let id = rig.start("echo", "hello").await;
    let head = rig.ended(&id).await["events"].as_u64().unwrap();
    let path = |rest: &str| format!("/api/sessions/{id}/events?dialect=events{rest}");
    let page = rig.get(&path("&after=3")).await.body;
    let seqs: Vec<_> = page["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (4..=head).collect::<Vec<_>>());
    assert_eq!((page["nextOffset"].as_u64(), page["lastSeq"].as_u64()), (Some(head), Some(head)));
    let beyond = rig.get(&path(&format!("&offset={}", head + 10))).await.body;
    assert_eq!((&beyond["events"], &beyond["nextOffset"]), (&json!([]), &json!(head + 10)));
    let part = rig.get(&path("&offset=1&limit=2")).await.body;
    assert_eq!((part["nextOffset"].as_u64(), part["lastSeq"].as_u64()), (Some(3), Some(3)));
}

#[tokio::test]
async fn waiting_ends_with_the_first_message_or_with_the_session() {
    let rig = Rig::new();
    let (id, request) = rig.start_asking("approve touch x").await;
    let head = rig.get(&format!("/api/sessions/{id}")).await.body["events"].clone();
    let path = format!("/api/sessions/{id}/events?dialect=events&after={head}&wait=60");
    let waiting = rig.get(&path);
    let answering = async {
        // The waiting request is sent first, and is not completed by itself.
        tokio::task::yield_now().await;
        rig.post(&format!("/api/sessions/{id}/approvals/{request}"), json!({ "decision": "decline" })).await
    };
    let (page, answered) = tokio::join!(waiting, answering);
    assert_eq!(answered.status, 200);
    assert!(!page.body["events"].as_array().unwrap().is_empty(), "{page:?}");
    let head = rig.ended(&id).await["events"].clone();
    let path = format!("/api/sessions/{id}/events?dialect=events&after={head}&wait=60");
    let over = tokio::time::timeout(Duration::from_secs(30), rig.get(&path)).await.expect("nothing can come any more");
    assert_eq!(over.body["events"], json!([]));
}

#[tokio::test]
async fn waiting_ends_with_time() {
    let rig = Rig::new();
    let (id, _) = rig.start_asking("approve touch x").await;
    let head = rig.get(&format!("/api/sessions/{id}")).await.body["events"].clone();
    let page = rig.get(&format!("/api/sessions/{id}/events?dialect=events&after={head}&wait=0.05")).await.body;
    assert_eq!(page["events"], json!([]));
}

#[tokio::test]
async fn who_counts_events_gets_past_one_of_several_messages() {
    let rig = Rig::new();
    let id = rig.start("script", "text a\nrun ls\nedit f\nplan A, B").await;
    rig.ended(&id).await;
    for dialect in DIALECTS {
        let whole = all_messages(&rig, &id, dialect.name, 10_000).await;
        let (mut got, mut after) = (Vec::new(), 0);
        loop {
            let path = format!("/api/sessions/{id}/events?dialect={}&after={after}&limit=1", dialect.name);
            let page = rig.get(&path).await.body;
            let events = page["events"].as_array().unwrap().clone();
            if events.is_empty() {
                break;
            }
            got.extend(events);
            after = page["lastSeq"].as_u64().unwrap();
        }
        assert_eq!(got, whole, "{}", dialect.name);
    }
}

/// Returns the address of a server without access control.
async fn listening(rig: &Rig) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let router = rig.service.router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

async fn connect(address: &str, path: &str) -> WebSocketStream<TcpStream> {
    let stream = TcpStream::connect(address).await.unwrap();
    client_async(format!("ws://{address}{path}"), stream).await.unwrap().0
}

/// Receives until the server closes the connection; also returns how it was closed.
async fn receive_all(socket: &mut WebSocketStream<TcpStream>) -> (Vec<Value>, Option<(CloseCode, String)>) {
    let mut messages = Vec::new();
    let reading = async {
        loop {
            match socket.next().await {
                Some(Ok(Message::Text(text))) => messages.push(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(frame))) => break frame.map(|frame| (frame.code, frame.reason.to_string())),
                Some(Ok(_)) => {}
                _ => break None,
            }
        }
    };
    let close = tokio::time::timeout(Duration::from_secs(60), reading).await.expect("it was not closed");
    (messages, close)
}

async fn wait_for(socket: &mut WebSocketStream<TcpStream>, wanted: impl Fn(&Value) -> bool) -> Value {
    let search = async {
        loop {
            let Some(Ok(message)) = socket.next().await else { panic!("it was closed before") };
            let Message::Text(text) = message else { continue };
            let value = serde_json::from_str(&text).unwrap();
            if wanted(&value) {
                return value;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), search).await.expect("it never came")
}

async fn say(socket: &mut WebSocketStream<TcpStream>, command: Value) {
    socket.send(Message::text(command.to_string())).await.unwrap();
}

#[tokio::test]
async fn a_websocket_steers_the_session_that_it_follows() {
    let rig = Rig::new();
    let address = listening(&rig).await;
    let id = rig.start("script", "approve touch x\nsleep 1\ntext after").await;
    let mut socket = connect(&address, &format!("/ws/sessions/{id}?dialect=events")).await;
    let opened = wait_for(&mut socket, |event| event["kind"] == "request.opened").await;
    let request = opened["data"]["request"].clone();
    for (command, ok, code) in [
        (json!({"type": "approval", "id": request, "decision": "perhaps"}), false, "bad_field"),
        (json!({"type": "approval", "decision": "accept"}), false, "bad_field"),
        (json!({"type": "dance"}), false, "bad_field"),
        (json!(["no", "object"]), false, "bad_field"),
        (json!({"type": "approval", "id": request, "decision": "accept"}), true, ""),
        (json!({"type": "approval", "id": request, "decision": "decline"}), false, "not_open"),
    ] {
        say(&mut socket, command.clone()).await;
        let reply = wait_for(&mut socket, |message| message["type"] == "reply").await;
        assert_eq!(
            (&reply["ok"], reply["error"]["code"].as_str().unwrap_or_default()),
            (&json!(ok), code),
            "{command}"
        );
    }
    say(&mut socket, json!({"type": "ping", "id": 7})).await;
    let (rest, close) = receive_all(&mut socket).await;
    assert!(rest.contains(&json!({"type": "pong", "id": 7})), "{rest:?}");
    assert_eq!(close, Some((CloseCode::Normal, "session ended".to_owned())));
    assert_eq!(rig.ended(&id).await["state"], "done");
}

#[tokio::test]
async fn a_prompt_over_websocket_is_another_turn() {
    let rig = Rig::new();
    let address = listening(&rig).await;
    let id = rig.start("script", "sleep 0.5\ntext first").await;
    let mut socket = connect(&address, &format!("/ws/sessions/{id}?dialect=events")).await;
    say(&mut socket, json!({"type": "prompt", "prompt": "text second"})).await;
    let (messages, _) = receive_all(&mut socket).await;
    let turns = messages.iter().filter(|event| event["kind"] == "turn.started").count();
    assert_eq!(turns, 2, "{messages:?}");
}

#[tokio::test]
async fn streams_close_with_a_reason_when_the_server_ends() {
    let rig = Rig::new();
    let address = listening(&rig).await;
    let id = rig.start("script", "sleep 60").await;
    let mut socket = connect(&address, &format!("/ws/sessions/{id}")).await;
    let stream = tokio::spawn({
        let (service, path) = (rig.service.clone(), format!("/api/sessions/{id}/stream"));
        async move { crate::rig::text(&service, &path).await }
    });
    tokio::time::timeout(Duration::from_secs(60), async {
        while !rig.get("/metrics").await.body.as_str().unwrap().contains("wire=\"sse\"") {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    rig.service.drain().begin();
    let (_, close) = receive_all(&mut socket).await;
    assert_eq!(close, Some((CloseCode::Away, "the server is shutting down".to_owned())));
    let text = stream.await.unwrap();
    assert!(text.ends_with("event: closed\ndata: {\"reason\":\"the server is shutting down\"}\n\n"), "{text}");
}

#[tokio::test]
async fn one_run_ends_once_and_asks_nobody() {
    let rig = Rig::new();
    let answer = rig.post("/api/run", json!({"driver": "script", "task": "approve touch x\ntext after"})).await;
    let text = answer.body.as_str().unwrap().to_owned();
    let events: Vec<Value> = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|one| serde_json::from_str(one).unwrap())
        .collect();
    let ends = events.iter().filter(|event| event["kind"] == "session_end").count();
    assert_eq!((ends, &events.last().unwrap()["kind"]), (1, &json!("session_end")));
    assert!(events.iter().any(|event| event["kind"] == "agent_token" && event["text"] == "after"), "{text}");
    assert!(text.contains(r#""status":"failed","detail":"declined""#), "{text}");
}

#[tokio::test]
async fn what_is_no_websocket_is_told_so() {
    let rig = Rig::new();
    let id = rig.start("echo", "hello").await;
    let answer = rig.get(&format!("/ws/sessions/{id}")).await;
    assert_eq!((answer.status, answer.code()), (426, "not_websocket"));
    for (path, status) in [
        ("/ws/sessions/nobody", 404),
        ("/api/sessions/nobody/stream", 404),
        (&*format!("/api/sessions/{id}/stream?dialect=klingon"), 400),
        (&*format!("/api/sessions/{id}/stream?after=1&offset=1"), 400),
        (&*format!("/api/sessions/{id}/stream?after=-1"), 400),
    ] {
        assert_eq!(rig.get(path).await.status, status, "{path}");
    }
}

/// Reads messages until the end, with the event's position on its last message.
async fn rest(reader: &mut SessionReader) -> Vec<(Bytes, Option<u64>)> {
    let mut all = Vec::new();
    let reading = async {
        while let Some(part) = reader.next().await.unwrap() {
            all.extend(part.messages().iter().map(|one| (one.json.clone(), one.is_last.then_some(one.seq))));
        }
    };
    tokio::time::timeout(Duration::from_secs(60), reading).await.expect("the session did not end");
    all
}

/// Projects the events of the log at once.
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
            let mut reader = rig.service.open_reader(&id, dialect, FeedStart::AfterMessages(0)).await.unwrap();
            readers.push(tokio::spawn(async move {
                let mut got = Vec::new();
                while slow && let Some(part) = reader.next().await.unwrap() {
                    // It falls behind all messages that are kept for others.
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
            let mut reader =
                rig.service.open_reader(&id, dialect, FeedStart::AfterMessages(skip as u64)).await.unwrap();
            assert_eq!(rest(&mut reader).await, whole[skip..], "{} from message {skip}", dialect.name);
            let Some(seq) = whole.get(skip).and_then(|(_, seq)| *seq) else { continue };
            let mut reader = rig.service.open_reader(&id, dialect, FeedStart::AfterEvent(seq)).await.unwrap();
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
    let whole = rest(&mut rig.service.open_reader(&id, dialect, FeedStart::AfterMessages(0)).await.unwrap()).await;
    // Another process has nothing in memory.
    let other = rig.second_process();
    let (log, version) = (other.service.engine().log(), dialect.version());
    let kept = log
        .find_checkpoint(&id, dialect.name, &version, CheckpointPosition::Seq(29_000))
        .unwrap()
        .expect("no checkpoint was kept");
    assert!(kept.seq > 20_000 && kept.seq <= 29_000, "{}", kept.seq);
    for begin in [FeedStart::AfterEvent(29_000), FeedStart::AfterMessages(29_500)] {
        let got = rest(&mut other.service.open_reader(&id, dialect, begin).await.unwrap()).await;
        assert_eq!(got[..], whole[whole.len() - got.len()..], "{begin:?}");
        assert!((400..1100).contains(&got.len()), "{begin:?}: {}", got.len());
    }
}

#[tokio::test]
async fn an_offset_that_is_not_reached_yet_is_waited_for() {
    let rig = Rig::new();
    let id = rig.start("script", "sleep 0.2\nburst 100\nsleep 0.2\ntext end").await;
    let events = find_dialect("events").unwrap();
    let mut reader = rig.service.open_reader(&id, events, FeedStart::AfterMessages(90)).await.unwrap();
    let got = rest(&mut reader).await;
    assert_eq!(got, said(&rig, &id, events)[90..]);
}

#[tokio::test]
async fn a_session_that_another_process_runs_is_followed() {
    let rig = Rig::new();
    let id = rig.start("script", "sleep 0.2\nburst 3000\nsleep 0.1\ntext end").await;
    let other = rig.second_process();
    for dialect in DIALECTS {
        let got = rest(&mut other.service.open_reader(&id, dialect, FeedStart::AfterMessages(0)).await.unwrap()).await;
        assert_eq!(got, said(&rig, &id, dialect), "{}", dialect.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_goes_back_misses_nothing_and_repeats_nothing() {
    let rig = Rig::new();
    // Once while it runs, so that some readers leave the shared projection, and once after it has ended.
    let id = rig.start("script", "sleep 0.1\nburst 6000\ntext done").await;
    for dialect in DIALECTS {
        let mut reader = rig.service.open_reader(&id, dialect, FeedStart::AfterMessages(0)).await.unwrap();
        let (mut got, mut steps) = (Vec::new(), 0);
        while let Some(part) = reader.next().await.unwrap() {
            steps += 1;
            // Only some messages of every other slice are sent, also within one event.
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
