//! A client of the two-way protocol on a program's standard input and output: any number of threads, each with turns of
//! which it counts what comes and checks that it is whole.

use std::{collections::BTreeMap, process::Command};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::rpc::{Message, Rpc};

/// A client with its program.
pub struct Threads {
    rpc: Rpc,
    turns: BTreeMap<String, Turn>,
    /// How many turns ended, and were whole.
    pub ended: u64,
    /// How many pieces of text came.
    pub deltas: u64,
}

/// A turn that runs.
#[derive(Default)]
struct Turn {
    /// The texts so far, by item.
    texts: BTreeMap<String, String>,
    began: Vec<String>,
    ended: Vec<String>,
    /// When the first piece of text came.
    first: Option<u64>,
}

/// What came that somebody may want to do something about.
pub enum Came {
    /// The agent of a thread asks: what the answer is to carry.
    Asked(Value),
    /// The turn of a thread has ended.
    Ended {
        /// The thread.
        thread: String,
        /// When its first piece of text came.
        first: Option<u64>,
    },
    /// Anything else.
    Other,
}

impl Threads {
    /// Starts a program, and makes itself known.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn start(command: Command) -> anyhow::Result<Self> {
        let mut rpc = Rpc::start(command)?;
        rpc.call("initialize", &json!({ "clientInfo": { "name": "load", "version": "1.0.0" } }))?;
        rpc.send(&json!({ "method": "initialized", "params": {} }))?;
        Ok(Self { rpc, turns: BTreeMap::new(), ended: 0, deltas: 0 })
    }

    /// The number of the program's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.rpc.pid()
    }

    /// Opens a thread; everything is asked.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(&mut self, agent: &str) -> anyhow::Result<String> {
        let opened = self.rpc.call("thread/start", &json!({ "agent": agent, "approvalPolicy": "always" }))?;
        Ok(opened["thread"]["id"].as_str().context("a thread has an id")?.to_owned())
    }

    /// Begins a turn, and waits for nothing.
    ///
    /// # Errors
    /// If nobody reads any more.
    pub fn begin(&mut self, thread: &str, text: &str) -> anyhow::Result<()> {
        let input = json!([{ "type": "text", "text": text }]);
        self.rpc.request("turn/start", &json!({ "threadId": thread, "input": input }))?;
        self.turns.insert(thread.to_owned(), Turn::default());
        Ok(())
    }

    /// Says yes to what is asked.
    ///
    /// # Errors
    /// If nobody reads any more.
    pub fn accept(&mut self, id: &Value) -> anyhow::Result<()> {
        self.rpc.send(&json!({ "id": id, "result": { "decision": "accept" } }))
    }

    /// Hears the next message.
    ///
    /// # Errors
    /// If none comes, something is refused, or a turn was not whole.
    pub fn hear(&mut self) -> anyhow::Result<Came> {
        let Message { at, body } = self.rpc.message()?;
        ensure!(body.get("error").is_none(), "refused: {body}");
        let (method, params) = (body["method"].as_str().unwrap_or_default(), &body["params"]);
        let thread = params["threadId"].as_str().unwrap_or_default();
        if method.ends_with("/requestApproval") {
            return Ok(Came::Asked(body["id"].clone()));
        }
        let Some(turn) = self.turns.get_mut(thread) else { return Ok(Came::Other) };
        match method {
            "item/started" => turn.began.push(params["item"]["id"].to_string()),
            "item/completed" => turn.ended.push(params["item"]["id"].to_string()),
            "item/agentMessage/delta" => {
                self.deltas += 1;
                turn.first.get_or_insert(at);
                let text = turn.texts.entry(params["itemId"].to_string()).or_default();
                text.push_str(params["delta"].as_str().unwrap_or_default());
            }
            "turn/completed" => return self.end(thread.to_owned(), &params["turn"].clone()),
            _ => {}
        }
        Ok(Came::Other)
    }

    fn end(&mut self, thread: String, told: &Value) -> anyhow::Result<Came> {
        let turn = self.turns.remove(&thread).context("a turn ended that did not begin")?;
        ensure!(told["status"] == "completed", "{told}");
        let first = turn.first;
        turn.check(told)?;
        self.ended += 1;
        Ok(Came::Ended { thread, first })
    }

    /// No more is said: the program ends well.
    ///
    /// # Errors
    /// If it does not.
    pub fn close(self) -> anyhow::Result<()> {
        let (status, _) = self.rpc.close()?;
        ensure!(status.success(), "it ended with {status}");
        Ok(())
    }
}

impl Turn {
    /// What came in pieces is what the turn says at its end.
    fn check(mut self, told: &Value) -> anyhow::Result<()> {
        let items: Vec<&Value> = told["items"].as_array().into_iter().flatten().collect();
        let mut listed: Vec<_> = items.iter().map(|item| item["id"].to_string()).collect();
        [&mut self.began, &mut self.ended, &mut listed].into_iter().for_each(|ids| ids.sort());
        ensure!(self.began == self.ended && self.ended == listed, "{:?}, {:?}, {listed:?}", self.began, self.ended);
        for item in items.iter().filter(|item| item["type"] == "agentMessage") {
            let joined = self.texts.get(&item["id"].to_string()).map(String::as_str).unwrap_or_default();
            ensure!(item["text"] == joined, "of a text came {} bytes: {item}", joined.len());
        }
        Ok(())
    }
}
