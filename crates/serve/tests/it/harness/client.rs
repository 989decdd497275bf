//! A client of the harness. All that it says and all that it hears is held against the schemas.

use std::{sync::LazyLock, time::Duration};

use futures_util::{SinkExt as _, StreamExt as _};
use jsonschema::Validator;
use serde_json::{Value, json};
use switchboard_dialects::{CLIENT_SCHEMAS, DialectSurface, default_dialect};
use switchboard_serve::harness::{Connection, Lines, Purpose};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite::Message};

use crate::rig::Rig;

/// How long anything may take. Nothing does; but a test that hangs should say so.
const PATIENCE: Duration = Duration::from_secs(60);

static HEARD: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::validator_for(&(default_dialect(DialectSurface::Harness).schema)(&[])).unwrap());
static SAID: LazyLock<Validator> = LazyLock::new(|| {
    let accepted = CLIENT_SCHEMAS
        .iter()
        .find(|accepted| accepted.name.starts_with(default_dialect(DialectSurface::Harness).name))
        .unwrap();
    jsonschema::validator_for(&(accepted.schema)()).unwrap()
});

/// The two wires.
#[derive(Clone, Copy, Debug)]
pub enum Wire {
    Lines,
    Socket,
}

/// Both, for what must hold on either.
pub const WIRES: [Wire; 2] = [Wire::Lines, Wire::Socket];

enum Link {
    Lines(Connection, Box<Lines>),
    Socket(Box<WebSocketStream<TcpStream>>),
}

pub struct Client {
    link: Link,
    /// All that was heard, in order.
    pub heard: Vec<Value>,
    /// How much of it was waited for.
    next_id: u64,
}

impl Client {
    /// A client that has said nothing yet.
    pub async fn new(rig: &Rig, wire: Wire, agent: Option<&str>) -> Self {
        let link = match wire {
            Wire::Lines => {
                let agent = agent.map(|name| switchboard_agents::find_agent(name).unwrap());
                let (connection, lines) = Connection::new(rig.service.clone(), Purpose { agent, ..Purpose::default() });
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

    /// One that has shaken hands, for threads of the script.
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

    /// Says something that the schema has.
    pub async fn send(&mut self, message: &Value) {
        let errors: Vec<_> = SAID.iter_errors(message).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{message}: {errors:?}");
        self.raw(message.to_string().as_bytes()).await;
    }

    /// Says anything.
    pub async fn raw(&mut self, line: &[u8]) {
        match &mut self.link {
            Link::Lines(connection, _) => connection.hear(line).await,
            Link::Socket(socket) => socket.send(Message::Binary(line.to_vec().into())).await.unwrap(),
        }
    }

    /// Asks for something, and gives the answer.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.answer(id).await
    }

    /// Asks for something, and goes on.
    pub async fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.raw(json!({"id": id, "method": method, "params": params}).to_string().as_bytes()).await;
        id
    }

    pub async fn answer(&mut self, id: u64) -> Value {
        self.wait(|message| message["id"] == id && message.get("method").is_none()).await
    }

    /// The result of a request that the schema has.
    pub async fn get(&mut self, method: &str, params: Value) -> Value {
        let message = json!({"id": 1, "method": method, "params": params});
        assert!(SAID.is_valid(&message), "{message}");
        let answer = self.call(method, params).await;
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The number of the error of a request.
    pub async fn code(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.call(method, params).await;
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {answer}"))
    }

    /// The first message of all that is as wanted.
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

    /// The next message.
    pub async fn hear(&mut self) -> Value {
        let heard = tokio::time::timeout(PATIENCE, self.next()).await;
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

    /// Begins a thread, and gives its id.
    pub async fn thread(&mut self, params: Value) -> String {
        let started = self.get("thread/start", params).await;
        let id = started["thread"]["id"].as_str().unwrap().to_owned();
        self.wait(|message| message["method"] == "thread/started" && message["params"]["thread"]["id"] == *id).await;
        id
    }

    /// Begins a turn, and gives its id.
    pub async fn turn(&mut self, thread: &str, text: &str) -> String {
        self.turn_with(thread, json!({"input": [{"type": "text", "text": text}]})).await
    }

    pub async fn turn_with(&mut self, thread: &str, mut params: Value) -> String {
        params["threadId"] = json!(thread);
        let turn = self.get("turn/start", params).await["turn"].clone();
        assert_eq!((&turn["status"], &turn["items"]), (&json!("inProgress"), &json!([])));
        turn["id"].as_str().unwrap().to_owned()
    }

    /// The turn of a thread once it has ended.
    pub async fn ended(&mut self, thread: &str, turn: &str) -> Value {
        let is_end = |message: &Value| {
            message["method"] == "turn/completed"
                && message["params"]["threadId"] == thread
                && message["params"]["turn"]["id"] == turn
                && message["params"]["_meta"]["replay"] != true
        };
        self.wait(is_end).await["params"]["turn"].clone()
    }

    /// A whole turn.
    pub async fn perform(&mut self, thread: &str, text: &str) -> Value {
        let turn = self.turn(thread, text).await;
        self.ended(thread, &turn).await
    }

    /// What the agent of a thread asks.
    pub async fn asked(&mut self, thread: &str) -> Value {
        let is_request = |message: &Value| {
            message.get("id").is_some() && message.get("method").is_some() && message["params"]["threadId"] == thread
        };
        self.wait(is_request).await
    }

    /// All of one method.
    pub fn all(&self, method: &str) -> Vec<Value> {
        self.heard
            .iter()
            .filter(|message| message["method"] == method)
            .map(|message| message["params"].clone())
            .collect()
    }

    /// The place of the first message that is as wanted.
    pub fn place(&self, wanted: impl Fn(&Value) -> bool) -> usize {
        self.heard.iter().position(wanted).expect("it was not heard")
    }
}
