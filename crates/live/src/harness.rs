//! A client of `switchboard harness` as an editor or a bot would implement it. It knows no agent: it follows the
//! capabilities and options that the harness reports.

use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchboard_event::SandboxMode;
use switchboard_testkit::rpc::RpcTestClient;

use crate::trial::LiveTrial;

/// A running harness.
pub struct HarnessTestClient {
    rpc: RpcTestClient,
    pub capabilities: Value,
    sandbox: Option<SandboxMode>,
}

pub struct CompletedHarnessTurn {
    pub turn: Value,
    /// All notifications during the turn.
    pub told: Vec<Value>,
}

#[derive(Clone, Copy)]
pub enum ApprovalReply {
    Accept,
    Decline,
}

impl HarnessTestClient {
    /// Starts a harness with the agent of the trial.
    pub fn open(trial: &LiveTrial<'_>) -> anyhow::Result<Self> {
        let mut command = trial.stage.new_command(trial.switchboard, &["harness", "--agent", trial.cli.name]);
        command.arg("--data").arg(trial.stage.data_dir());
        let mut rpc = RpcTestClient::start(command)?;
        let client = json!({ "name": "scenario", "version": "1.0.0" });
        let about = rpc.call("initialize", &json!({ "clientInfo": client }))?;
        rpc.send_message(&json!({ "method": "initialized", "params": {} }))?;
        Ok(Self { rpc, capabilities: about["capabilities"].clone(), sandbox: trial.sandbox })
    }

    pub fn has_capability(&self, what: &str) -> bool {
        self.capabilities[what] == true
    }

    pub fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.rpc.call(method, params)
    }

    /// Starts a thread in a directory with approvals for everything.
    pub fn start_thread(&mut self, folder: &Path) -> anyhow::Result<String> {
        let mut params = json!({ "cwd": folder, "approvalPolicy": "always" });
        if let Some(sandbox) = self.sandbox {
            params["sandbox"] = json!({ "type": sandbox });
        }
        let result = self.call("thread/start", &params)?;
        let id = result["thread"]["id"].as_str().context("a thread has an id")?.to_owned();
        self.rpc.wait_for("thread/started", |message| {
            message["method"] == "thread/started" && message["params"]["thread"]["id"] == id.as_str()
        })?;
        Ok(id)
    }

    /// Starts a turn and returns its id.
    pub fn start_turn(&mut self, thread: &str, text: &str, more: &Value) -> anyhow::Result<String> {
        let mut params = json!({ "threadId": thread, "input": [{ "type": "text", "text": text }] });
        for (key, value) in more.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        let result = self.call("turn/start", &params)?;
        ensure!(result["turn"]["status"] == "inProgress", "{result}");
        Ok(result["turn"]["id"].as_str().context("a turn has an id")?.to_owned())
    }

    /// Waits for a notification or request with this method.
    pub fn wait_for_method(&mut self, method: &str) -> anyhow::Result<Value> {
        Ok(self.rpc.wait_for(method, |message| message["method"] == method)?.body)
    }

    fn answer_request(&mut self, request: &Value, answer: ApprovalReply) -> anyhow::Result<()> {
        let decision = match answer {
            ApprovalReply::Accept => "accept",
            ApprovalReply::Decline => "decline",
        };
        self.rpc.send_message(&json!({ "id": request["id"], "result": { "decision": decision } }))
    }

    fn wait_for_turn_end(&mut self, turn: &str) -> anyhow::Result<CompletedHarnessTurn> {
        let wanted = |message: &Value| {
            message["method"] == "turn/completed" && message["params"]["turn"]["id"] == turn
                || message["method"].as_str().is_some_and(|method| method.ends_with("/requestApproval"))
        };
        let mut message = self.rpc.wait_for("turn/completed", wanted)?.body;
        ensure!(message["method"] == "turn/completed", "it asks: {message}");
        let told = self.rpc.take_unread().into_iter().map(|message| message.body).collect();
        let turn = CompletedHarnessTurn { turn: message["params"]["turn"].take(), told };
        turn.check_consistency()?;
        Ok(turn)
    }

    /// Runs a turn without approvals.
    pub fn run_turn(&mut self, thread: &str, text: &str, more: &Value) -> anyhow::Result<CompletedHarnessTurn> {
        let turn = self.start_turn(thread, text, more)?;
        let turn = self.wait_for_turn_end(&turn)?;
        ensure!(turn.turn["status"] == "completed", "{}", turn.turn);
        Ok(turn)
    }

    /// Runs a turn with one approval request of this method, and returns the request too.
    pub fn run_approval_turn(
        &mut self,
        thread: &str,
        text: &str,
        method: &str,
        answer: ApprovalReply,
    ) -> anyhow::Result<(Value, CompletedHarnessTurn)> {
        let turn = self.start_turn(thread, text, &json!({}))?;
        let request = self.wait_for_method(method)?;
        ensure!(request["params"]["turnId"] == turn.as_str() && request["params"]["itemId"].is_string(), "{request}");
        self.answer_request(&request, answer)?;
        Ok((request, self.wait_for_turn_end(&turn)?))
    }

    /// Closes the input and checks that the harness exits successfully.
    pub fn close(self) -> anyhow::Result<()> {
        let (status, _) = self.rpc.close()?;
        ensure!(status.success(), "the harness ended with {status}");
        Ok(())
    }
}

impl CompletedHarnessTurn {
    fn items_of_type(&self, kind: &str) -> Vec<&Value> {
        self.turn["items"].as_array().into_iter().flatten().filter(|item| item["type"] == kind).collect()
    }

    /// Returns the only item of a type.
    pub fn single_item(&self, kind: &str) -> anyhow::Result<&Value> {
        let items = self.items_of_type(kind);
        let [item] = items.as_slice() else { anyhow::bail!("not one {kind}: {}", self.turn) };
        Ok(item)
    }

    /// Returns all text of the agent's messages.
    pub fn agent_text(&self) -> String {
        self.items_of_type("agentMessage").iter().filter_map(|item| item["text"].as_str()).collect()
    }

    /// Returns the parameters of this turn's notifications with a method.
    fn notifications<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Value> {
        let told = self.told.iter().filter(move |message| message["method"] == method);
        told.map(|message| &message["params"]).filter(|params| params["turnId"] == self.turn["id"])
    }

    /// Checks that the deltas add up to the items of the turn, and that each item starts and completes once.
    fn check_consistency(&self) -> anyhow::Result<()> {
        let ids = |method: &str| {
            let mut ids: Vec<_> = self.notifications(method).map(|params| params["item"]["id"].to_string()).collect();
            ids.sort();
            ids
        };
        let (began, ended) = (ids("item/started"), ids("item/completed"));
        ensure!(began == ended, "items began {began:?} and ended {ended:?}");
        let mut listed: Vec<_> =
            self.turn["items"].as_array().into_iter().flatten().map(|item| item["id"].to_string()).collect();
        listed.sort();
        ensure!(listed == ended, "the turn has {listed:?}, and {ended:?} ended");
        for item in self.items_of_type("agentMessage") {
            let pieces = self.notifications("item/agentMessage/delta").filter(|params| params["itemId"] == item["id"]);
            let joined: String = pieces.filter_map(|params| params["delta"].as_str()).collect();
            ensure!(item["text"] == joined.as_str(), "the pieces are {joined:?}: {item}");
        }
        Ok(())
    }
}
