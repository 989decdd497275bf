//! `switchboard harness` over pipes: its messages, its end, and what other commands see of its threads.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::binary::{run, start};

const PATIENCE: Duration = Duration::from_secs(60);

struct HarnessProcess {
    child: Child,
    input: Option<ChildStdin>,
    heard: Receiver<Value>,
    folder: TempDir,
    ids: u64,
}

impl HarnessProcess {
    /// Starts a harness and completes the handshake.
    fn start() -> Self {
        let mut harness = Self::silent();
        harness.call("initialize", json!({"clientInfo": {"name": "test", "version": "1"}}));
        harness.say(&json!({"method": "initialized"}));
        harness
    }

    fn silent() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut child = start(&["harness", "--agent", "script", "--data", folder.path().to_str().unwrap()]);
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let (tell, heard) = channel();
        thread::spawn(move || {
            // A line that is not a message makes the test fail.
            for line in output.lines().map_while(Result::ok) {
                let Ok(message) = serde_json::from_str::<Value>(&line) else { return };
                if tell.send(message).is_err() {
                    return;
                }
            }
        });
        Self { child, input, heard, folder, ids: 0 }
    }

    fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    fn say(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    fn call(&mut self, method: &str, params: impl Into<Value>) -> Value {
        let params: Value = params.into();
        self.ids += 1;
        let id = self.ids;
        self.say(&json!({"id": id, "method": method, "params": params}));
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    fn wait(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.heard.recv_timeout(PATIENCE).expect("it never came");
            if wanted(&message) {
                return message;
            }
        }
    }

    fn thread(&mut self) -> String {
        let started = self.call("thread/start", json!({}));
        started["result"]["thread"]["id"].as_str().unwrap().to_owned()
    }

    fn turn(&mut self, thread: &str, text: &str) -> Value {
        let input = json!([{"type": "text", "text": text}]);
        self.call("turn/start", json!({"threadId": thread, "input": input}))["result"]["turn"]["id"].clone()
    }

    fn sessions(&self, args: &[&str]) -> String {
        let args = [&["sessions"], args, &["--data", self.folder.path().to_str().unwrap()]].concat();
        let ran = run(&args, b"");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stdout
    }

    /// Returns the exit code and the final state of a session.
    fn end(mut self, thread: &str) -> (Option<i32>, Value) {
        let code = self.child.wait().unwrap().code();
        let listed = self.sessions(&["list", "--all", "--json"]);
        let sessions = listed.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        (code, sessions.into_iter().find(|session| session["id"] == thread).unwrap())
    }
}

#[test]
fn at_the_end_of_the_input_turns_are_stopped_and_agents_end() {
    let mut harness = HarnessProcess::start();
    let (busy, idle) = (harness.thread(), harness.thread());
    let turn = harness.turn(&busy, "text begun\nsleep 600");
    harness.wait(|message| message["params"]["delta"] == "begun");
    harness.input = None;
    // A client that still reads receives the end of the session.
    let ended = harness.wait(|message| message["method"] == "turn/completed");
    assert_eq!((&ended["params"]["turn"]["id"], &ended["params"]["turn"]["status"]), (&turn, &json!("interrupted")));
    let (code, session) = harness.end(&idle);
    assert_eq!((code, &session["state"]), (Some(0), &json!("done")));
}

#[test]
fn signals_end_it_like_the_end_of_the_input() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut harness = HarnessProcess::start();
        let thread = harness.thread();
        harness.turn(&thread, "sleep 600");
        kill_process(Pid::from_child(&harness.child), signal).unwrap();
        let (code, session) = harness.end(&thread);
        assert_eq!((code, session["state"] != "running"), (Some(0), true), "{signal:?}");
    }
}

#[test]
fn a_reader_that_leaves_ends_it_too() {
    let mut harness = HarnessProcess::start();
    let thread = harness.thread();
    let (_, nobody) = channel();
    // The reading thread ends with its next message and closes the pipe.
    drop(std::mem::replace(&mut harness.heard, nobody));
    // The harness notices the closed pipe with its first answer and then accepts no more requests.
    while harness.input.as_mut().unwrap().write_all(b"{\"id\":1,\"method\":\"thread/list\"}\n").is_ok() {}
    assert_eq!(harness.end(&thread).0, Some(0));
}

#[test]
fn what_was_asked_before_the_input_ended_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let input = concat!(
        r#"{"id":1,"method":"initialize","params":{"clientInfo":{"name":"t","version":"1"}}}"#,
        "\n\n",
        r#"{"id":2,"method":"model/list"}"#,
        "\nnonsense\n",
        r#"{"id":3,"method":"thread/list"}"#,
    );
    let args = ["harness", "--agent", "script", "--data", folder.path().to_str().unwrap()];
    let said = run(&args, input.as_bytes()).ok();
    let messages: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(messages.len(), 4, "{said}");
    let answer = |id: Value| messages.iter().find(|message| message["id"] == id).unwrap();
    assert_eq!(answer(json!(1))["result"]["agentInfo"]["name"], "script");
    assert!(answer(json!(2))["result"]["data"].is_array() && answer(json!(3))["result"]["data"].is_array());
    assert_eq!(answer(Value::Null)["error"]["code"], -32700);
}

#[test]
fn any_bytes_are_refused_and_it_goes_on() {
    let mut harness = HarnessProcess::start();
    harness.raw(b"\xff\xfe\x00{\n\"\n[1,2]\n\r\n");
    harness.raw(&[b'x'; 1 << 20]);
    harness.raw(b"\n");
    let codes: Vec<_> = (0..4)
        .map(|_| harness.wait(|message| message.get("error").is_some())["error"]["code"].as_i64().unwrap())
        .collect();
    assert_eq!(codes, [-32700, -32700, -32600, -32700]);
    let thread = harness.thread();
    harness.turn(&thread, "text still here");
    let ended = harness.wait(|message| message["method"] == "turn/completed");
    assert_eq!(ended["params"]["turn"]["status"], "completed");
}

#[test]
fn its_threads_are_sessions_that_other_terminals_steer() {
    let mut harness = HarnessProcess::start();
    let thread = harness.thread();
    harness.turn(&thread, "approve touch x");
    harness.wait(|message| message["method"] == "item/commandExecution/requestApproval");
    assert!(harness.sessions(&["list"]).contains("needs you"));
    harness.sessions(&["approve", &thread]);
    let resolved = harness.wait(|message| message["method"] == "switchboard/requestResolved");
    assert_eq!(resolved["params"]["outcome"], "allowed");
    harness.wait(|message| message["method"] == "turn/completed");
    // A prompt from another terminal is a turn like any other.
    harness.sessions(&["prompt", &thread, "text from elsewhere"]);
    let started = harness.wait(|message| message["method"] == "turn/started");
    assert_eq!(started["params"]["turn"]["id"], "turn_2");
}

#[test]
fn an_agent_that_is_not_known_is_said_at_once() {
    let said = run(&["harness", "--agent", "nobody"], b"").fails(2);
    assert!(said.contains("no agent named `nobody`"), "{said}");
}
