//! A client of `switchboard harness`, as an editor or a bot would write it. It knows no agent: what it does follows from
//! what the harness says about itself and about what can be chosen.

use std::path::Path;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchboard_testkit::rpc::Rpc;

use crate::trial::Trial;

/// A harness that runs.
pub struct Harness {
    rpc: Rpc,
    /// What it says it can do.
    pub capabilities: Value,
}

/// A turn that is over.
pub struct Turn {
    /// The turn: its status, its items.
    pub turn: Value,
    /// All notifications that came while it ran.
    pub told: Vec<Value>,
}

/// What a client says to whatever it is asked.
#[derive(Clone, Copy)]
pub enum Answer {
    Accept,
    Decline,
}

impl Harness {
    /// Starts one, with the agent of the trial.
    pub fn open(trial: &Trial<'_>) -> anyhow::Result<Self> {
        let mut command = trial.stage.command(trial.switchboard, &["harness", "--agent", trial.cli.name]);
        command.arg("--data").arg(trial.stage.data());
        let mut rpc = Rpc::start(command)?;
        let client = json!({ "name": "scenario", "version": "1.0.0" });
        let about = rpc.call("initialize", &json!({ "clientInfo": client }))?;
        rpc.send(&json!({ "method": "initialized", "params": {} }))?;
        Ok(Self { rpc, capabilities: about["capabilities"].clone() })
    }

    /// It says that it can do this.
    pub fn can(&self, what: &str) -> bool {
        self.capabilities[what] == true
    }

    /// Calls a method.
    pub fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.rpc.call(method, params)
    }

    /// A new thread in a folder; everything is asked.
    pub fn thread(&mut self, folder: &Path) -> anyhow::Result<String> {
        let result = self.call("thread/start", &json!({ "cwd": folder, "approvalPolicy": "always" }))?;
        let id = result["thread"]["id"].as_str().context("a thread has an id")?.to_owned();
        self.rpc.wait("thread/started", |message| {
            message["method"] == "thread/started" && message["params"]["thread"]["id"] == id.as_str()
        })?;
        Ok(id)
    }

    /// Begins a turn; gives its id.
    pub fn begin(&mut self, thread: &str, text: &str, more: &Value) -> anyhow::Result<String> {
        let mut params = json!({ "threadId": thread, "input": [{ "type": "text", "text": text }] });
        for (key, value) in more.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        let result = self.call("turn/start", &params)?;
        ensure!(result["turn"]["status"] == "inProgress", "{result}");
        Ok(result["turn"]["id"].as_str().context("a turn has an id")?.to_owned())
    }

    /// Waits for a notification or a request by its method.
    pub fn wait(&mut self, method: &str) -> anyhow::Result<Value> {
        Ok(self.rpc.wait(method, |message| message["method"] == method)?.body)
    }

    /// Answers a request of the agent.
    pub fn answer(&mut self, request: &Value, answer: Answer) -> anyhow::Result<()> {
        let decision = match answer {
            Answer::Accept => "accept",
            Answer::Decline => "decline",
        };
        self.rpc.send(&json!({ "id": request["id"], "result": { "decision": decision } }))
    }

    /// Waits for the end of a turn.
    pub fn end(&mut self, turn: &str) -> anyhow::Result<Turn> {
        let wanted = |message: &Value| {
            message["method"] == "turn/completed" && message["params"]["turn"]["id"] == turn
                || message["method"].as_str().is_some_and(|method| method.ends_with("/requestApproval"))
        };
        let mut message = self.rpc.wait("turn/completed", wanted)?.body;
        ensure!(message["method"] == "turn/completed", "it asks: {message}");
        let told = self.rpc.unheard().into_iter().map(|message| message.body).collect();
        let turn = Turn { turn: message["params"]["turn"].take(), told };
        turn.is_whole()?;
        Ok(turn)
    }

    /// A whole turn in which nothing is asked.
    pub fn turn(&mut self, thread: &str, text: &str, more: &Value) -> anyhow::Result<Turn> {
        let turn = self.begin(thread, text, more)?;
        let turn = self.end(&turn)?;
        ensure!(turn.turn["status"] == "completed", "{}", turn.turn);
        Ok(turn)
    }

    /// A whole turn in which one thing is asked, by this method. Gives what was asked, too.
    pub fn asked(&mut self, thread: &str, text: &str, method: &str, answer: Answer) -> anyhow::Result<(Value, Turn)> {
        let turn = self.begin(thread, text, &json!({}))?;
        let request = self.wait(method)?;
        ensure!(request["params"]["turnId"] == turn.as_str() && request["params"]["itemId"].is_string(), "{request}");
        self.answer(&request, answer)?;
        Ok((request, self.end(&turn)?))
    }

    /// No more is said: it ends well.
    pub fn close(self) -> anyhow::Result<()> {
        let (status, _) = self.rpc.close()?;
        ensure!(status.success(), "the harness ended with {status}");
        Ok(())
    }
}

impl Turn {
    /// Its items of a type.
    pub fn items(&self, kind: &str) -> Vec<&Value> {
        self.turn["items"].as_array().into_iter().flatten().filter(|item| item["type"] == kind).collect()
    }

    /// The only item of a type.
    pub fn item(&self, kind: &str) -> anyhow::Result<&Value> {
        let items = self.items(kind);
        let [item] = items.as_slice() else { anyhow::bail!("not one {kind}: {}", self.turn) };
        Ok(item)
    }

    /// All that the agent said.
    pub fn text(&self) -> String {
        self.items("agentMessage").iter().filter_map(|item| item["text"].as_str()).collect()
    }

    /// The parameters of what was told by a method about this turn.
    fn told<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Value> {
        let told = self.told.iter().filter(move |message| message["method"] == method);
        told.map(|message| &message["params"]).filter(|params| params["turnId"] == self.turn["id"])
    }

    /// What the client put together from the pieces is what the turn says; each item began once and ended once.
    fn is_whole(&self) -> anyhow::Result<()> {
        let ids = |method: &str| {
            let mut ids: Vec<_> = self.told(method).map(|params| params["item"]["id"].to_string()).collect();
            ids.sort();
            ids
        };
        let (began, ended) = (ids("item/started"), ids("item/completed"));
        ensure!(began == ended, "items began {began:?} and ended {ended:?}");
        let mut listed: Vec<_> =
            self.turn["items"].as_array().into_iter().flatten().map(|item| item["id"].to_string()).collect();
        listed.sort();
        ensure!(listed == ended, "the turn has {listed:?}, and {ended:?} ended");
        for item in self.items("agentMessage") {
            let pieces = self.told("item/agentMessage/delta").filter(|params| params["itemId"] == item["id"]);
            let joined: String = pieces.filter_map(|params| params["delta"].as_str()).collect();
            ensure!(item["text"] == joined.as_str(), "the pieces are {joined:?}: {item}");
        }
        Ok(())
    }
}
