//! Several consumers of one session, over real connections, with an agent that follows a script. All messages are
//! validated against the schema.

mod following;
mod limits;
mod queue;

use std::{sync::LazyLock, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use jsonschema::Validator;
use serde_json::{Value, json};
use switchboard_dialects::{DialectSurface, default_dialect};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite::Message};

use crate::rig::Rig;

/// Only reached by a test that hangs.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

static SCHEMA: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(&(default_dialect(DialectSurface::Consumers).schema)(&[])).unwrap());

/// A server with consumers.
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

    /// Starts a session that stays open, with a first prompt.
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

struct Someone {
    socket: WebSocketStream<TcpStream>,
    /// All received messages, with the history unpacked.
    heard: Vec<Value>,
}

impl Someone {
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
        let message = tokio::time::timeout(TEST_TIMEOUT, reading).await;
        let message = message.unwrap_or_else(|_| panic!("nothing more came behind {:#?}", self.heard.last()));
        let errors: Vec<_> = SCHEMA.iter_errors(&message).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?} in {message:#}");
        match message["type"].as_str().unwrap() {
            "message_history" => self.heard.extend(message["messages"].as_array().unwrap().iter().cloned()),
            _ => self.heard.push(message.clone()),
        }
        message
    }

    async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await;
            if wanted(&message) {
                return message;
            }
        }
    }

    async fn told(&mut self, kind: &str) -> Value {
        self.until(|message| message["type"] == kind).await
    }

    /// Returns a message received before, or else waits for it.
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

    /// Waits for a text, in the history or live.
    async fn says(&mut self, text: &str) {
        self.ever(|message| message["message"]["content"][0]["text"] == text).await;
    }

    async fn say(&mut self, message: Value) {
        self.socket.send(Message::text(message.to_string())).await.unwrap();
    }

    /// Sends several messages so that they arrive together.
    async fn say_together(&mut self, messages: &[Value]) {
        for message in messages {
            self.socket.feed(Message::text(message.to_string())).await.unwrap();
        }
        self.socket.flush().await.unwrap();
    }

    /// Sends a message that is refused; returns the code and the text.
    async fn refused(&mut self, message: Value) -> (String, String) {
        self.say(message).await;
        let error = self.told("error").await;
        (error["code"].as_str().unwrap().to_owned(), error["message"].as_str().unwrap().to_owned())
    }

    /// The sequence numbers of the received messages.
    fn numbers(&self) -> Vec<u64> {
        self.heard.iter().filter_map(|message| message["seq"].as_u64()).collect()
    }

    /// The received messages of the session.
    fn story(&self) -> Vec<Value> {
        self.heard.iter().filter(|message| message["seq"].is_u64()).cloned().collect()
    }

    /// The index of a received message.
    fn place(&self, wanted: impl Fn(&Value) -> bool) -> usize {
        self.heard.iter().position(wanted).unwrap_or_else(|| panic!("not in {:#?}", self.heard))
    }

    async fn leave(mut self) -> Vec<Value> {
        self.socket.close(None).await.unwrap();
        self.story()
    }
}

/// Checks that each number occurs once, without a gap.
fn dense(numbers: &[u64], first: u64) {
    let wanted: Vec<u64> = (first..).take(numbers.len()).collect();
    assert_eq!(numbers, wanted);
}
