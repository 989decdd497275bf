//! Another server of the same kind, to be measured beside ours: `sandbox-agent`, which passes the lines of an ACP agent
//! on as server-sent events. The agent is the same fake, speaking that protocol.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::{
    api::Api,
    clock::now,
    feed::{Feed, From, Wire},
    house::{Served, free_port},
    socket::Socket,
    tally::stamp,
};
use crate::{
    fake,
    stage::{Programs, Stage},
};

/// An agent that it starts without asking for more than this one program.
const AGENT: &str = "pi";

/// Where it looks for agents, below its home.
const AGENTS: &str = ".local/share/sandbox-agent/bin/agent_processes";

/// Its stream does not end with the turn: so long without a word is the end.
const QUIET: Duration = Duration::from_secs(3);

/// A place for the peer.
pub struct Peer {
    stage: Stage,
    program: PathBuf,
}

/// What a reader of the peer has heard.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// How many messages.
    pub messages: u64,
    /// How many of the agent's pieces were among them.
    pub pieces: u64,
    /// How many numbers were left out.
    pub missing: u64,
    /// The time that the agent said first.
    pub began: Option<u64>,
    /// When the last message came.
    pub at: u64,
    /// How long each piece took, if the agent says when it was written.
    pub delays: Vec<u64>,
}

impl Peer {
    /// A place for it.
    pub fn new(program: &Path) -> anyhow::Result<Self> {
        let stage = Stage::new(&Programs { clis: "/nowhere".into(), node: "/nowhere".into() })?;
        let folder = stage.home().join(AGENTS);
        fake::program(&folder, &format!("{AGENT}-acp"), "speak acp\nopen\nobey\ndone\nwait")?;
        // Its home is where it finds agents only as long as nobody says otherwise.
        let mut stage = stage;
        stage.set("XDG_DATA_HOME", None);
        let program = program.canonicalize().with_context(|| format!("there is no {}", program.display()))?;
        Ok(Self { stage, program })
    }

    /// Starts it.
    pub fn serve(&self) -> anyhow::Result<Served> {
        let port = free_port()?;
        let args = ["server", "--no-token", "--no-telemetry", "--port", &port.to_string()];
        let mut command = self.stage.command(&self.program, &args);
        let log = fs::File::create(self.stage.root().join("peer.log"))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let began = Instant::now();
        Served::other(command.spawn()?, began, port, "/v1/health")
    }

    /// Begins a conversation.
    pub fn begin(api: &Api, name: &str) -> anyhow::Result<()> {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        Self::call(api, &format!("{name}?agent={AGENT}"), 1, "initialize", &params)?;
        Self::call(api, name, 2, "session/new", &json!({ "cwd": "/", "mcpServers": [] }))
    }

    /// Says something to the agent, and waits until its turn is over.
    pub fn prompt(api: &Api, name: &str, text: &str) -> anyhow::Result<()> {
        let prompt = json!([{ "type": "text", "text": text }]);
        Self::call(api, name, 3, "session/prompt", &json!({ "sessionId": "fake-session", "prompt": prompt }))
    }

    fn call(api: &Api, name: &str, id: u32, method: &str, params: &Value) -> anyhow::Result<()> {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let response = api.call("POST", &format!("/v1/acp/{name}"), Some(&request))?;
        ensure!(response["result"].is_object(), "{method}: {response}");
        Ok(())
    }

    /// Follows a conversation.
    pub fn follow(api: &Api, name: &str) -> io::Result<Feed> {
        let socket = Socket::connect(api.port)?;
        socket.stream().set_read_timeout(Some(QUIET))?;
        Feed::on(socket, api, Wire::Sse, &format!("/v1/acp/{name}"), From::Start)
    }

    /// Reads until nothing more comes.
    #[must_use]
    pub fn hear(feed: &mut Feed, timed: bool) -> Heard {
        let (mut heard, mut last) = (Heard::default(), 0);
        loop {
            let end = feed.next(&mut |message| {
                let at = now();
                let id = message.id.unwrap_or(last + 1);
                heard.missing += id.abs_diff(last + 1);
                last = id;
                heard.messages += 1;
                heard.pieces += u64::from(memchr::memmem::find(message.text, b"agent_message_chunk").is_some());
                heard.at = at;
                if heard.began.is_none() || timed {
                    let said = stamp(message.text);
                    heard.began = heard.began.or(said);
                    heard.delays.extend(said.map(|said| at.saturating_sub(said)));
                }
            });
            if !matches!(end, Ok(None)) {
                return heard;
            }
        }
    }
}
