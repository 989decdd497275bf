//! Server-sent events and WebSocket, over real connections.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, protocol::frame::coding::CloseCode},
};

use crate::rig::Rig;

/// The address of a server without a guard.
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

/// What comes until the server closes, and how it does.
async fn all(socket: &mut WebSocketStream<TcpStream>) -> (Vec<Value>, Option<(CloseCode, String)>) {
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
    let (rest, close) = all(&mut socket).await;
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
    let (messages, _) = all(&mut socket).await;
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
    let (_, close) = all(&mut socket).await;
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
