//! A client of the harness. All messages are validated against the schemas.

use std::{sync::LazyLock, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use jsonschema::Validator;
use serde_json::{Value, json};
use switchboard_dialects::{CLIENT_SCHEMAS, DialectSurface, default_dialect};
use switchboard_serve::harness::{HarnessConnection, HarnessOptions, OutgoingLines};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite::Message};

use crate::rig::Rig;

/// Only reached by a test that hangs.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

static HEARD: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(&(default_dialect(DialectSurface::Harness).schema)(&[])).unwrap());
static SAID: LazyLock<Validator> = LazyLock::new(|| {
    let accepted = CLIENT_SCHEMAS
        .iter()
        .find(|accepted| accepted.name.starts_with(default_dialect(DialectSurface::Harness).name))
        .unwrap();
    jsonschema::validator_for(&(accepted.schema)()).unwrap()
});

/// The two transports.
#[derive(Clone, Copy, Debug)]
pub enum Wire {
    Lines,
    Socket,
}

/// Both, for tests that apply to either.
pub const WIRES: [Wire; 2] = [Wire::Lines, Wire::Socket];

enum Link {
    Lines(HarnessConnection, Box<OutgoingLines>),
    Socket(Box<WebSocketStream<TcpStream>>),
}

pub struct Client {
    link: Link,
    /// All received messages, in order.
    pub heard: Vec<Value>,
    next_id: u64,
}

impl Client {
    pub async fn new(rig: &Rig, wire: Wire, agent: Option<&str>) -> Self {
        let link = match wire {
            Wire::Lines => {
                let agent = agent.map(|name| switchboard_agents::find_agent(name).unwrap());
                let (connection, lines) =
                    HarnessConnection::new(rig.service.clone(), HarnessOptions { agent, ..HarnessOptions::default() });
                Link::Lines(connection, Box::new(lines))
            }
            Wire::Socket => {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                let router = rig.service.router();
                tokio::spawn(async move { axum::serve(listener, router).await });
                let query = agent.map(|name| format!("?agent={name}")).unwrap_or_default();
                let stream = TcpStream::connect(address).await.unwrap();
                let (socket, _) = client_async(format!("ws://{address}/ws/harness{query}"), stream).await.unwrap();
                Link::Socket(Box::new(socket))
            }
        };
        Self { link, heard: Vec::new(), next_id: 0 }
    }

    /// A client after `initialize`, with the agent `script`.
    pub async fn ready(rig: &Rig, wire: Wire) -> Self {
        let mut client = Self::new(rig, wire, Some("script")).await;
        client.initialize().await;
        client
    }

    pub async fn initialize(&mut self) -> Value {
        let answer = self.call("initialize", json!({"clientInfo": {"name": "test", "version": "1"}})).await;
        self.send(&json!({"method": "initialized", "params": {}})).await;
        answer["result"].clone()
    }

    /// Sends a valid message.
    pub async fn send(&mut self, message: &Value) {
        let errors: Vec<_> = SAID.iter_errors(message).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{message}: {errors:?}");
        self.raw(message.to_string().as_bytes()).await;
    }

    /// Sends any bytes.
    pub async fn raw(&mut self, line: &[u8]) {
        match &mut self.link {
            Link::Lines(connection, _) => connection.handle_line(line).await,
            Link::Socket(socket) => socket.send(Message::Binary(line.to_vec().into())).await.unwrap(),
        }
    }

    /// Sends a request, and returns the response.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.answer(id).await
    }

    /// Sends a request without waiting.
    pub async fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.raw(json!({"id": id, "method": method, "params": params}).to_string().as_bytes()).await;
        id
    }

    pub async fn answer(&mut self, id: u64) -> Value {
        self.wait(|message| message["id"] == id && message.get("method").is_none()).await
    }

    /// Sends a valid request, and returns the result.
    pub async fn get(&mut self, method: &str, params: Value) -> Value {
        let message = json!({"id": 1, "method": method, "params": params});
        assert!(SAID.is_valid(&message), "{message}");
        let answer = self.call(method, params).await;
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Sends a request, and returns the code of the error.
    pub async fn code(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.call(method, params).await;
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    /// Returns the first matching message of all.
    pub async fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(found) = self.heard.iter().find(|message| wanted(message)) {
            return found.clone();
        }
        loop {
            let message = self.hear().await;
            if wanted(&message) {
                return message;
            }
        }
    }

    pub async fn hear(&mut self) -> Value {
        let heard = tokio::time::timeout(TEST_TIMEOUT, self.next()).await;
        let text = heard.unwrap_or_else(|_| panic!("nothing more came after {:#?}", self.heard.last()));
        let message: Value = serde_json::from_slice(&text).unwrap();
        let errors: Vec<_> = HEARD.iter_errors(&message).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{message:#}: {errors:?}");
        self.heard.push(message.clone());
        message
    }

    async fn next(&mut self) -> Vec<u8> {
        match &mut self.link {
            Link::Lines(_, lines) => lines.next().await.expect("the connection ended").json.to_vec(),
            Link::Socket(socket) => loop {
                match socket.next().await.expect("the connection ended").unwrap() {
                    Message::Text(text) => return text.as_bytes().to_vec(),
                    other => assert!(matches!(other, Message::Ping(_)), "{other}"),
                }
            },
        }
    }

    /// Starts a thread, and returns its ID.
    pub async fn thread(&mut self, params: Value) -> String {
        let started = self.get("thread/start", params).await;
        let id = started["thread"]["id"].as_str().unwrap().to_owned();
        self.wait(|message| message["method"] == "thread/started" && message["params"]["thread"]["id"] == *id).await;
        id
    }

    /// Starts a turn, and returns its ID.
    pub async fn turn(&mut self, thread: &str, text: &str) -> String {
        self.turn_with(thread, json!({"input": [{"type": "text", "text": text}]})).await
    }

    pub async fn turn_with(&mut self, thread: &str, mut params: Value) -> String {
        params["threadId"] = json!(thread);
        let turn = self.get("turn/start", params).await["turn"].clone();
        assert_eq!((&turn["status"], &turn["items"]), (&json!("inProgress"), &json!([])));
        turn["id"].as_str().unwrap().to_owned()
    }

    /// Waits for the end of a turn, and returns the turn.
    pub async fn ended(&mut self, thread: &str, turn: &str) -> Value {
        let is_end = |message: &Value| {
            message["method"] == "turn/completed"
                && message["params"]["threadId"] == thread
                && message["params"]["turn"]["id"] == turn
                && message["params"]["_meta"]["replay"] != true
        };
        self.wait(is_end).await["params"]["turn"].clone()
    }

    /// Runs a whole turn.
    pub async fn perform(&mut self, thread: &str, text: &str) -> Value {
        let turn = self.turn(thread, text).await;
        self.ended(thread, &turn).await
    }

    /// Returns the request of the agent of a thread.
    pub async fn asked(&mut self, thread: &str) -> Value {
        let is_request = |message: &Value| {
            message.get("id").is_some() && message.get("method").is_some() && message["params"]["threadId"] == thread
        };
        self.wait(is_request).await
    }

    /// All messages of one method.
    pub fn all(&self, method: &str) -> Vec<Value> {
        self.heard
            .iter()
            .filter(|message| message["method"] == method)
            .map(|message| message["params"].clone())
            .collect()
    }

    /// The index of the first matching message.
    pub fn place(&self, wanted: impl Fn(&Value) -> bool) -> usize {
        self.heard.iter().position(wanted).expect("it was not heard")
    }
}
