//! A client of the harness protocol on a program's standard streams: any number of threads, whose turns are counted and
//! checked.

use std::{collections::BTreeMap, process::Command};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::rpc::{ReceivedMessage, RpcTestClient};

pub struct HarnessLoadClient {
    rpc: RpcTestClient,
    turns: BTreeMap<String, HarnessTurnState>,
    /// Number of completed and checked turns.
    pub ended: u64,
    /// Number of text deltas.
    pub deltas: u64,
}

#[derive(Default)]
struct HarnessTurnState {
    /// The texts so far, by item.
    texts: BTreeMap<String, String>,
    began: Vec<String>,
    ended: Vec<String>,
    /// Arrival of the first text delta.
    first: Option<u64>,
}

pub enum HarnessIncoming {
    /// An approval request, by its id.
    Asked(Value),
    Ended {
        thread: String,
        /// Arrival of its first text delta.
        first: Option<u64>,
    },
    /// Anything else.
    Other,
}

impl HarnessLoadClient {
    /// Starts a program and initializes the connection.
    pub fn start(command: Command) -> anyhow::Result<Self> {
        let mut rpc = RpcTestClient::start(command)?;
        rpc.call("initialize", &json!({ "clientInfo": { "name": "load", "version": "1.0.0" } }))?;
        rpc.send_message(&json!({ "method": "initialized", "params": {} }))?;
        Ok(Self { rpc, turns: BTreeMap::new(), ended: 0, deltas: 0 })
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.rpc.pid()
    }

    /// Opens a thread with approvals for everything.
    pub fn open_thread(&mut self, agent: &str) -> anyhow::Result<String> {
        let opened = self.rpc.call("thread/start", &json!({ "agent": agent, "approvalPolicy": "always" }))?;
        Ok(opened["thread"]["id"].as_str().context("a thread has an id")?.to_owned())
    }

    /// Starts a turn without waiting.
    pub fn start_turn(&mut self, thread: &str, text: &str) -> anyhow::Result<()> {
        let input = json!([{ "type": "text", "text": text }]);
        self.rpc.send_request("turn/start", &json!({ "threadId": thread, "input": input }))?;
        self.turns.insert(thread.to_owned(), HarnessTurnState::default());
        Ok(())
    }

    /// Accepts an approval request.
    pub fn accept_request(&mut self, id: &Value) -> anyhow::Result<()> {
        self.rpc.send_message(&json!({ "id": id, "result": { "decision": "accept" } }))
    }

    /// Reads the next message. Fails on an error response or an inconsistent turn.
    pub fn next_message(&mut self) -> anyhow::Result<HarnessIncoming> {
        let ReceivedMessage { at, body } = self.rpc.next_message()?;
        ensure!(body.get("error").is_none(), "refused: {body}");
        let (method, params) = (body["method"].as_str().unwrap_or_default(), &body["params"]);
        let thread = params["threadId"].as_str().unwrap_or_default();
        if method.ends_with("/requestApproval") {
            return Ok(HarnessIncoming::Asked(body["id"].clone()));
        }
        let Some(turn) = self.turns.get_mut(thread) else { return Ok(HarnessIncoming::Other) };
        match method {
            "item/started" => turn.began.push(params["item"]["id"].to_string()),
            "item/completed" => turn.ended.push(params["item"]["id"].to_string()),
            "item/agentMessage/delta" => {
                self.deltas += 1;
                turn.first.get_or_insert(at);
                let text = turn.texts.entry(params["itemId"].to_string()).or_default();
                text.push_str(params["delta"].as_str().unwrap_or_default());
            }
            "turn/completed" => return self.finish_turn(thread.to_owned(), &params["turn"].clone()),
            _ => {}
        }
        Ok(HarnessIncoming::Other)
    }

    fn finish_turn(&mut self, thread: String, completed: &Value) -> anyhow::Result<HarnessIncoming> {
        let turn = self.turns.remove(&thread).context("a turn ended that did not begin")?;
        ensure!(completed["status"] == "completed", "{completed}");
        let first = turn.first;
        turn.check_completed(completed)?;
        self.ended += 1;
        Ok(HarnessIncoming::Ended { thread, first })
    }

    /// Closes the input and checks that the program exits successfully.
    pub fn close(self) -> anyhow::Result<()> {
        let (status, _) = self.rpc.close()?;
        ensure!(status.success(), "it ended with {status}");
        Ok(())
    }
}

impl HarnessTurnState {
    /// Checks that the deltas add up to the completed turn.
    fn check_completed(mut self, completed: &Value) -> anyhow::Result<()> {
        let items: Vec<&Value> = completed["items"].as_array().into_iter().flatten().collect();
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
