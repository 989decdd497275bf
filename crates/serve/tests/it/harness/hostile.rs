//! Random bytes and random sequences of calls: the connection stays open, and every error is the right one.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::client::{Client, Wire};
use crate::rig::Rig;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Random bytes, and lines that are almost messages.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let bytes = vec(any::<u8>().prop_filter("a line has no end in it", |byte| *byte != b'\n'), 0..64);
    let pieces = select(vec![
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"id\"",
        "\"method\"",
        "\"result\"",
        "\"params\"",
        "\"error\"",
        "1",
        "null",
        "\"thread/list\"",
        "\"x\"",
        "\"initialize\"",
        " ",
        "\\",
        "\u{0}",
        "é",
    ]);
    prop_oneof![bytes, vec(pieces, 0..12).prop_map(|pieces| pieces.concat().into_bytes())]
}

/// The allowed error codes of a line.
fn allowed(line: &[u8]) -> &'static [i64] {
    let Ok(value) = serde_json::from_slice::<Value>(line.trim_ascii()) else { return &[-32700, -32600] };
    let is_request = value["method"].is_string() && (value["id"].is_string() || value["id"].is_number());
    if is_request { &[-32600, -32601, -32602] } else { &[-32600] }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_refused_and_nothing_else_breaks(lines in vec(line(), 1..12)) {
        runtime().block_on(async {
            let rig = Rig::new();
            let mut client = Client::ready(&rig, Wire::Lines).await;
            for line in &lines {
                client.heard.clear();
                client.raw(line).await;
                // A message before the response to this is about the line.
                let probe = client.ask("thread/list", json!({"limit": 1})).await;
                while !client.heard.last().is_some_and(|message| message["id"] == probe) {
                    client.hear().await;
                }
                for message in &client.heard[..client.heard.len() - 1] {
                    let is_result = message.get("result").is_some();
                    let code = message["error"]["code"].as_i64();
                    prop_assert!(is_result || code.is_some_and(|code| allowed(line).contains(&code)), "{line:?}: {message}");
                }
            }
            let thread = client.thread(json!({})).await;
            prop_assert_eq!(&client.perform(&thread, "text here").await["status"], "completed");
            Ok(())
        })?;
    }
}

/// A call of a client that knows the protocol but does not consider its earlier calls.
#[derive(Clone, Copy, Debug)]
enum Step {
    Initialize,
    Start,
    Resume(usize),
    Turn(usize, &'static str),
    Interrupt(usize),
    Archive(usize),
    Set(Option<usize>, &'static str),
    List(&'static str),
    Answer(&'static str),
}

fn step() -> impl Strategy<Value = Step> {
    let thread = 0..4_usize;
    let script = select(vec!["text a", "approve touch x", "sleep 60", "fail no", "crash", "ask Why? | A", "burst 300"]);
    prop_oneof![
        1 => Just(Step::Initialize),
        3 => Just(Step::Start),
        1 => thread.clone().prop_map(Step::Resume),
        6 => (thread.clone(), script).prop_map(|(thread, script)| Step::Turn(thread, script)),
        3 => thread.clone().prop_map(Step::Interrupt),
        1 => thread.clone().prop_map(Step::Archive),
        2 => (proptest::option::of(thread), select(vec!["calm", "brisk", "none"])).prop_map(|(at, value)| Step::Set(at, value)),
        2 => select(vec!["thread/list", "model/list", "config/list", "config/read"]).prop_map(Step::List),
        4 => select(vec!["accept", "decline", "cancel", "perhaps"]).prop_map(Step::Answer),
    ]
}

/// A client with its own model of the state, which checks every response against it.
struct Player {
    client: Client,
    initialized: bool,
    threads: Vec<String>,
}

impl Player {
    fn thread(&self, place: usize) -> String {
        self.threads.get(place).cloned().unwrap_or_else(|| "nope".to_owned())
    }

    async fn play(&mut self, step: Step) -> Result<(), TestCaseError> {
        let (method, params) = match step {
            Step::Initialize => ("initialize", json!({"clientInfo": {"name": "p", "version": "1"}})),
            Step::Start => ("thread/start", json!({"approvalPolicy": "always"})),
            Step::Resume(place) => ("thread/resume", json!({"threadId": self.thread(place)})),
            Step::Turn(place, script) => {
                ("turn/start", json!({"threadId": self.thread(place), "input": [{"type": "text", "text": script}]}))
            }
            Step::Interrupt(place) => {
                let thread = self.thread(place);
                let turn = self.last_turn(&thread);
                ("turn/interrupt", json!({"threadId": thread, "turnId": turn}))
            }
            Step::Archive(place) => ("thread/archive", json!({"threadId": self.thread(place)})),
            Step::Set(None, value) => ("config/set", json!({"id": "pace", "value": value})),
            Step::Set(Some(place), value) => {
                ("config/set", json!({"threadId": self.thread(place), "id": "pace", "value": value}))
            }
            Step::List(method) => (method, json!({})),
            Step::Answer(decision) => return self.respond(decision).await,
        };
        let answer = self.client.call(method, params.clone()).await;
        let code = answer["error"]["code"].as_i64();
        prop_assert!(self.expects(step, code), "{step:?} {params} was answered {answer}");
        if code.is_none() {
            match step {
                Step::Initialize => self.initialized = true,
                Step::Start => self.threads.push(answer["result"]["thread"]["id"].as_str().unwrap().to_owned()),
                _ => {}
            }
        }
        Ok(())
    }

    /// Responds to the latest request, whether or not it is still open.
    async fn respond(&mut self, decision: &str) -> Result<(), TestCaseError> {
        let asked = self
            .client
            .heard
            .iter()
            .rev()
            .find(|message| message.get("id").is_some() && message.get("method").is_some());
        if let Some(id) = asked.map(|message| message["id"].clone()) {
            self.client.raw(json!({"id": id, "result": {"decision": decision}}).to_string().as_bytes()).await;
        }
        Ok(())
    }

    fn last_turn(&self, thread: &str) -> Value {
        let turns = self.client.all("turn/started");
        let last = turns.iter().rev().find(|params| params["threadId"] == thread);
        last.map_or(json!("turn_1"), |params| params["turn"]["id"].clone())
    }

    /// Returns whether a response is plausible, as far as the client knows.
    fn expects(&self, step: Step, code: Option<i64>) -> bool {
        let known = |place: usize| place < self.threads.len();
        match (step, code) {
            (Step::Initialize, code) => code == self.initialized.then_some(-32600),
            (_, code) if !self.initialized => code == Some(-32000),
            (Step::Start | Step::List(_), code) => code.is_none(),
            (Step::Resume(at) | Step::Archive(at) | Step::Turn(at, _) | Step::Interrupt(at), code) if !known(at) => {
                code == Some(-32001)
            }
            (Step::Set(Some(at), _), code) if !known(at) => code == Some(-32001),
            (Step::Resume(_) | Step::Archive(_), code) => code.is_none(),
            (Step::Turn(..), code) => matches!(code, None | Some(-32002)),
            (Step::Interrupt(_), code) => matches!(code, None | Some(-32003)),
            (Step::Set(_, value), code) => code == (value == "none").then_some(-32602),
            (Step::Answer(_), _) => true,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_calls_is_answered_and_the_harness_lives(steps in vec(step(), 1..30)) {
        runtime().block_on(async {
            let rig = Rig::new();
            let client = Client::new(&rig, Wire::Lines, Some("script")).await;
            let mut player = Player { client, initialized: false, threads: Vec::new() };
            for step in steps {
                player.play(step).await?;
            }
            if !player.initialized {
                player.play(Step::Initialize).await?;
            }
            let thread = player.client.thread(json!({})).await;
            prop_assert_eq!(&player.client.perform(&thread, "text alive").await["status"], "completed");
            Ok(())
        })?;
    }
}
