//! Several who follow and steer one session: over real connections, with an agent that does what the script says.
//! Whatever they are told is held against the schema.

mod alone;
mod limits;
mod queue;
mod together;

use std::{sync::LazyLock, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use jsonschema::Validator;
use serde_json::{Value, json};
use switchboard_dialects::{DialectSurface, default_dialect};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite::Message};

use crate::rig::Rig;

/// How long anything may take. Nothing does; but a test that hangs should say so.
const PATIENCE: Duration = Duration::from_secs(60);

static SCHEMA: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(&(default_dialect(DialectSurface::Consumers).schema)(&[])).unwrap());

/// A server that can be reached.
struct House {
    rig: Rig,
    address: String,
}

impl House {
    async fn open() -> Self {
        let rig = Rig::new();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let router = rig.service.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { rig, address }
    }

    /// A session that stays open, with the first prompt.
    async fn session(&self, script: &str) -> String {
        self.rig.start_with(json!({ "agentType": "script", "prompt": script, "stay": true })).await
    }

    async fn enter(&self, session: &str, query: &str) -> Someone {
        let stream = TcpStream::connect(&self.address).await.unwrap();
        let url = format!("ws://{}/ws/consumers/{session}?{query}", self.address);
        let socket = client_async(url, stream).await.unwrap().0;
        Someone { socket, heard: Vec::new() }
    }
}

/// A consumer.
struct Someone {
    socket: WebSocketStream<TcpStream>,
    /// All that it was told, history unpacked.
    heard: Vec<Value>,
}

impl Someone {
    /// The next message, as it comes.
    async fn next(&mut self) -> Value {
        let reading = async {
            loop {
                match self.socket.next().await {
                    Some(Ok(Message::Text(text))) => break serde_json::from_str::<Value>(&text).unwrap(),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    other => panic!("it was closed: {other:?}"),
                }
            }
        };
        let message = tokio::time::timeout(PATIENCE, reading).await;
        let message = message.unwrap_or_else(|_| panic!("nothing more came behind {:#?}", self.heard.last()));
        let errors: Vec<_> = SCHEMA.iter_errors(&message).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?} in {message:#}");
        match message["type"].as_str().unwrap() {
            "message_history" => self.heard.extend(message["messages"].as_array().unwrap().iter().cloned()),
            _ => self.heard.push(message.clone()),
        }
        message
    }

    /// Waits for a message.
    async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await;
            if wanted(&message) {
                return message;
            }
        }
    }

    /// Waits for a message of a type.
    async fn told(&mut self, kind: &str) -> Value {
        self.until(|message| message["type"] == kind).await
    }

    /// What it was told at any time, or else waits for it.
    async fn ever(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut seen = 0;
        loop {
            if let Some(found) = self.heard[seen..].iter().find(|message| wanted(message)) {
                return found.clone();
            }
            seen = self.heard.len();
            self.next().await;
        }
    }

    /// Waits until something is said, in the history or live.
    async fn says(&mut self, text: &str) {
        self.ever(|message| message["message"]["content"][0]["text"] == text).await;
    }

    async fn say(&mut self, message: Value) {
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    /// Says several things so that they arrive together.
    async fn say_together(&mut self, messages: &[Value]) {
        for message in messages {
            self.socket.feed(Message::text(message.to_string())).await.unwrap();
        }
        self.socket.flush().await.unwrap();
    }

    /// Says something that is refused, and gives the code.
    async fn refused(&mut self, message: Value) -> (String, String) {
        self.say(message).await;
        let error = self.told("error").await;
        (error["code"].as_str().unwrap().to_owned(), error["message"].as_str().unwrap().to_owned())
    }

    /// The numbers of what it was told of the session.
    fn numbers(&self) -> Vec<u64> {
        self.heard.iter().filter_map(|message| message["seq"].as_u64()).collect()
    }

    /// What it was told of the session.
    fn story(&self) -> Vec<Value> {
        self.heard.iter().filter(|message| message["seq"].is_u64()).cloned().collect()
    }

    /// Where among all that it was told something is.
    fn place(&self, wanted: impl Fn(&Value) -> bool) -> usize {
        self.heard.iter().position(wanted).unwrap_or_else(|| panic!("not in {:#?}", self.heard))
    }

    async fn leave(mut self) -> Vec<Value> {
        self.socket.close(None).await.unwrap();
        self.story()
    }
}

/// Each number once, without a gap.
fn dense(numbers: &[u64], first: u64) {
    let wanted: Vec<u64> = (first..).take(numbers.len()).collect();
    assert_eq!(numbers, wanted);
}
