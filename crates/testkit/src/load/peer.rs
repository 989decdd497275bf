//! A similar server to compare with: `sandbox-agent`, which forwards the lines of an ACP agent as server-sent events.
//! The agent is the same fake with that protocol.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::client::{BufferedSocket, TestApiClient};
use super::feed::{FeedOrigin, FeedTransport, LoadFeed};
use super::reader::embedded_time;
use super::{RunningServer, free_port, unix_nanos};
use crate::{
    fake,
    stage::{AgentStage, StagePrograms},
};

/// An agent that needs no more than this one program.
const PEER_AGENT: &str = "pi";

/// Where the peer looks for agents in its home directory.
const PEER_AGENT_DIRECTORY: &str = ".local/share/sandbox-agent/bin/agent_processes";

/// The stream does not end with the turn, so this silence counts as its end.
const STREAM_IDLE_TIMEOUT: Duration = Duration::from_secs(3);

pub struct PeerServer {
    stage: AgentStage,
    program: PathBuf,
}

#[derive(Clone, Debug, Default)]
pub struct PeerFeedStats {
    pub messages: u64,
    /// Number of the agent's text pieces.
    pub pieces: u64,
    /// Number of skipped message ids.
    pub missing: u64,
    /// First timestamp of the agent.
    pub began: Option<u64>,
    /// Arrival of the last message.
    pub at: u64,
    /// Delay of each piece with a timestamp.
    pub delays: Vec<u64>,
}

impl PeerServer {
    pub fn new(program: &Path) -> anyhow::Result<Self> {
        let stage = AgentStage::new(&StagePrograms { clis: "/nowhere".into(), node: "/nowhere".into() })?;
        let folder = stage.home_dir().join(PEER_AGENT_DIRECTORY);
        fake::write_fake_program(&folder, &format!("{PEER_AGENT}-acp"), "speak acp\nopen\nobey\ndone\nwait")?;
        // The peer looks in its home directory only if this variable is unset.
        let mut stage = stage;
        stage.set_variable("XDG_DATA_HOME", None);
        let program = program.canonicalize().with_context(|| format!("there is no {}", program.display()))?;
        Ok(Self { stage, program })
    }

    pub fn start_server(&self) -> anyhow::Result<RunningServer> {
        let port = free_port()?;
        let args = ["server", "--no-token", "--no-telemetry", "--port", &port.to_string()];
        let mut command = self.stage.new_command(&self.program, &args);
        let log = fs::File::create(self.stage.root_dir().join("peer.log"))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let began = Instant::now();
        RunningServer::from_child(command.spawn()?, began, port, "/v1/health")
    }

    pub fn open_conversation(api: &TestApiClient, name: &str) -> anyhow::Result<()> {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        Self::call_method(api, &format!("{name}?agent={PEER_AGENT}"), 1, "initialize", &params)?;
        Self::call_method(api, name, 2, "session/new", &json!({ "cwd": "/", "mcpServers": [] }))
    }

    /// Sends a prompt and waits for the end of the turn.
    pub fn run_prompt(api: &TestApiClient, name: &str, text: &str) -> anyhow::Result<()> {
        let prompt = json!([{ "type": "text", "text": text }]);
        Self::call_method(api, name, 3, "session/prompt", &json!({ "sessionId": "fake-session", "prompt": prompt }))
    }

    fn call_method(api: &TestApiClient, name: &str, id: u32, method: &str, params: &Value) -> anyhow::Result<()> {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let response = api.call("POST", &format!("/v1/acp/{name}"), Some(&request))?;
        ensure!(response["result"].is_object(), "{method}: {response}");
        Ok(())
    }

    pub fn open_feed(api: &TestApiClient, name: &str) -> io::Result<LoadFeed> {
        let socket = BufferedSocket::connect(api.port)?;
        socket.tcp_stream().set_read_timeout(Some(STREAM_IDLE_TIMEOUT))?;
        LoadFeed::open_on(socket, api, FeedTransport::Sse, &format!("/v1/acp/{name}"), FeedOrigin::Start)
    }

    /// Reads until the stream goes silent.
    #[must_use]
    pub fn read_to_end(feed: &mut LoadFeed, timed: bool) -> PeerFeedStats {
        let (mut stats, mut last) = (PeerFeedStats::default(), 0);
        loop {
            let end = feed.next(&mut |message| {
                let at = unix_nanos();
                let id = message.id.unwrap_or(last + 1);
                stats.missing += id.abs_diff(last + 1);
                last = id;
                stats.messages += 1;
                stats.pieces += u64::from(memchr::memmem::find(message.text, b"agent_message_chunk").is_some());
                stats.at = at;
                if stats.began.is_none() || timed {
                    let said = embedded_time(message.text);
                    stats.began = stats.began.or(said);
                    stats.delays.extend(said.map(|said| at.saturating_sub(said)));
                }
            });
            if !matches!(end, Ok(None)) {
                return stats;
            }
        }
    }
}
