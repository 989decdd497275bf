//! Sessions on another server: another Switchboard, and a server that implements only the protocol.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{
        Path, Query, State, WebSocketUpgrade,
        ws::{Message, WebSocket},
    },
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use switchboard_agents::{AgentPrompt, RequestAnswer, RequestDecision};
use switchboard_engine::{Follower, RequestAudience, SessionHandle, StartRequest};
use switchboard_event::{EndReason, Event, EventBody};
use tokio::{net::TcpListener, sync::watch};

use crate::{client::listen, rig::Rig};

async fn start(rig: &Rig, url: &str, agent: &str, text: &str) -> SessionHandle {
    let prompt = Some(AgentPrompt { text: text.to_owned(), ..AgentPrompt::default() });
    let mut request = StartRequest {
        agent: "board".to_owned(),
        prompt,
        audience: RequestAudience::Client,
        ..StartRequest::default()
    };
    request.command = vec![url.to_owned(), agent.to_owned()];
    request.config.working_directory = Some(rig.folder.path().to_string_lossy().into_owned());
    rig.service.engine().start_session(request).await.unwrap()
}

/// Returns all events until the end, and allows every request.
async fn rest(session: &SessionHandle, follower: &mut Follower) -> Vec<Event> {
    let all = tokio::time::timeout(Duration::from_secs(60), async {
        let mut all = Vec::new();
        while let Some(slice) = follower.next().await.unwrap() {
            for event in slice.events().unwrap() {
                if let EventBody::RequestOpened(request) = &event.body {
                    let (request, decision) = (request.request.clone(), RequestDecision::Allow);
                    session
                        .answer_request(RequestAnswer { request, decision, ..RequestAnswer::default() })
                        .await
                        .unwrap();
                }
                all.push(event);
            }
        }
        all
    });
    all.await.expect("the session did not end")
}

fn said(events: &[Event]) -> Vec<String> {
    let text = |event: &Event| match &event.body {
        EventBody::ItemCompleted(item) => match &item.details {
            switchboard_event::Details::AgentMessage(message) => Some(message.text.clone()),
            _ => None,
        },
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

fn ended(events: &[Event]) -> EndReason {
    match &events.last().unwrap().body {
        EventBody::SessionEnded(ended) => ended.reason,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn another_switchboard() {
    let (there, here) = (Rig::new(), Rig::new());
    let url = listen(&there).await;
    let session = start(&here, &url, "script", "text one\napprove touch x\ntext two").await;
    let events = rest(&session, &mut session.follow()).await;
    assert_eq!((said(&events), ended(&events)), (vec!["one".to_owned(), "two".to_owned()], EndReason::Completed));
    assert!(events.iter().any(|event| matches!(event.body, EventBody::RequestResolved(_))));
    let opened = there.service.engine().log().list_sessions(&Default::default()).unwrap();
    assert_eq!((opened.len(), opened[0].state.name()), (1, "done"));
    let shown = here.get(&format!("/api/sessions/{}", session.id())).await.body;
    assert_eq!((&shown["agentType"], &shown["agentId"]), (&json!("script"), &json!("board")));
    // A follow-up continues the same remote session, and only new events are sent.
    let mut again = StartRequest {
        resume: Some(session.id().clone()),
        audience: RequestAudience::Client,
        ..StartRequest::default()
    };
    again.command = vec![url.clone(), "script".to_owned()];
    again.prompt = Some(AgentPrompt { text: "text three".to_owned(), ..AgentPrompt::default() });
    session.wait_for_outcome().await;
    let session = here.service.engine().start_session(again).await.unwrap();
    let events = rest(&session, &mut session.follow()).await;
    assert_eq!((said(&events), ended(&events)), (vec!["three".to_owned()], EndReason::Completed));
    let opened = there.service.engine().log().list_sessions(&Default::default()).unwrap();
    assert_eq!((opened.len(), opened[0].runs), (1, 2));
}

#[tokio::test]
async fn cancelling_reaches_the_other_server() {
    let (there, here) = (Rig::new(), Rig::new());
    let url = listen(&there).await;
    let session = start(&here, &url, "script", "text waiting\nsleep 600").await;
    let mut follower = session.follow();
    loop {
        let slice = follower.next().await.unwrap().unwrap();
        if said(&slice.events().unwrap()).contains(&"waiting".to_owned()) {
            break;
        }
    }
    session.cancel().await.unwrap();
    assert_eq!(ended(&rest(&session, &mut follower).await), EndReason::Cancelled);
    let opened = there.service.engine().log().list_sessions(&Default::default()).unwrap();
    let session = there.service.engine().session(&opened[0].id);
    if let Some(session) = session {
        session.wait_for_outcome().await;
    }
    assert_eq!(there.service.engine().log().get_session(&opened[0].id).unwrap().unwrap().state.name(), "cancelled");
}

/// A server with the bare protocol: no positions on its WebSocket, no follow-ups, no approvals.
struct Plain {
    sockets: bool,
    /// The number of lines of the session so far.
    lines: watch::Sender<usize>,
    state: watch::Sender<&'static str>,
    created: watch::Sender<Value>,
}

const LINES: usize = 40;

fn message(number: usize) -> Value {
    let (kind, payload) = match number {
        0 => ("plan", json!({ "message": "Planning" })),
        _ => ("log", json!({ "line": format!("line {number}") })),
    };
    json!({ "id": format!("evt-{number}"), "sessionId": "s-1", "type": kind, "payload": payload, "timestamp": "2026-01-01T00:00:00Z" })
}

impl Plain {
    async fn listen(sockets: bool) -> (Arc<Self>, String) {
        let plain = Arc::new(Self {
            sockets,
            lines: watch::channel(0).0,
            state: watch::channel("running").0,
            created: watch::channel(Value::Null).0,
        });
        let router = Router::new()
            .route("/api/sessions", post(create))
            .route("/api/sessions/{id}", get(state))
            .route("/api/sessions/{id}/events", get(events))
            .route("/api/sessions/{id}/cancel", post(cancel))
            .route("/ws/sessions/{id}", get(socket))
            .with_state(plain.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        (plain, url)
    }

    fn messages(&self) -> Vec<Value> {
        let mut messages: Vec<_> = (0..*self.lines.borrow()).map(message).collect();
        if *self.state.borrow() == "cancelled" {
            messages.push(json!({ "id": "evt-c", "sessionId": "s-1", "type": "cancelled", "payload": {}, "timestamp": "2026-01-01T00:00:00Z" }));
        }
        messages
    }
}

async fn create(State(plain): State<Arc<Plain>>, Json(body): Json<Value>) -> (StatusCode, Json<Value>) {
    plain.created.send_replace(body);
    let performing = plain.clone();
    tokio::spawn(async move {
        for count in 1..=LINES {
            performing.lines.send_replace(count);
            tokio::task::yield_now().await;
        }
        // A session with this prompt runs until it is cancelled.
        if performing.created.borrow()["prompt"] != "for ever" {
            performing.state.send_replace("done");
        }
    });
    (StatusCode::CREATED, Json(json!({ "id": "s-1", "state": "running" })))
}

async fn state(State(plain): State<Arc<Plain>>, Path(id): Path<String>) -> Json<Value> {
    Json(json!({ "id": id, "state": *plain.state.borrow() }))
}

async fn events(State(plain): State<Arc<Plain>>, Query(query): Query<Value>) -> Json<Value> {
    let number = |name: &str| query[name].as_str().and_then(|number| number.parse::<usize>().ok());
    let (offset, limit) = (number("offset").unwrap_or(0), number("limit").unwrap_or(10));
    Json(plain.messages().into_iter().skip(offset).take(limit).collect())
}

async fn cancel(State(plain): State<Arc<Plain>>) -> StatusCode {
    plain.state.send_replace("cancelled");
    StatusCode::OK
}

async fn socket(State(plain): State<Arc<Plain>>, upgrade: WebSocketUpgrade) -> Response {
    if plain.sockets {
        upgrade.on_upgrade(move |socket| tell(socket, plain))
    } else {
        StatusCode::NOT_FOUND.into_response()
    }
}

/// Sends everything from the start, wherever the client was.
async fn tell(mut socket: WebSocket, plain: Arc<Plain>) {
    let (mut sent, mut lines, mut state) = (0, plain.lines.subscribe(), plain.state.subscribe());
    loop {
        let ended = *state.borrow_and_update() != "running";
        lines.borrow_and_update();
        for message in plain.messages().into_iter().skip(sent) {
            if socket.send(Message::text(message.to_string())).await.is_err() {
                return;
            }
            sent += 1;
        }
        if ended {
            drop(socket.send(Message::Close(None)).await);
            return;
        }
        tokio::select! {
            _ = lines.changed() => {}
            _ = state.changed() => {}
        }
    }
}

#[tokio::test]
async fn a_server_that_only_knows_the_protocol() {
    for sockets in [true, false] {
        let (plain, url) = Plain::listen(sockets).await;
        let here = Rig::new();
        let session = start(&here, &url, "claude", "do it").await;
        let events = rest(&session, &mut session.follow()).await;
        let expected: Vec<_> = (1..LINES).map(|number| format!("line {number}")).collect();
        assert_eq!((said(&events), ended(&events)), (expected, EndReason::Completed), "{sockets}");
        let created = plain.created.borrow().clone();
        assert_eq!((&created["agentId"], &created["prompt"]), (&json!("claude"), &json!("do it")));
        assert!(created["projectId"].is_string());
    }
}

#[tokio::test]
async fn a_server_that_only_knows_the_protocol_is_cancelled() {
    for sockets in [true, false] {
        let (plain, url) = Plain::listen(sockets).await;
        let here = Rig::new();
        let session = start(&here, &url, "claude", "for ever").await;
        let mut follower = session.follow();
        let last = format!("line {}", LINES - 1);
        while !said(&follower.next().await.unwrap().unwrap().events().unwrap()).contains(&last) {}
        session.cancel().await.unwrap();
        assert_eq!(ended(&rest(&session, &mut follower).await), EndReason::Cancelled);
        assert_eq!(*plain.state.borrow(), "cancelled");
    }
}
