//! `switchboard serve` on the stage, and its WebSocket clients.

use std::{process::Stdio, time::Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use switchboard_testkit::load::{BufferedSocket, RunningServer, TestApiClient, WebSocketFeed, free_port};

use crate::trial::LiveTrial;

/// Starts a server with the sessions of the stage.
pub fn start_server(trial: &LiveTrial<'_>) -> anyhow::Result<RunningServer> {
    let (port, data) = (free_port()?, trial.stage.data_dir());
    let (listen, data) = (format!("127.0.0.1:{port}"), data.to_string_lossy().into_owned());
    let mut command = trial.stage.new_command(trial.switchboard, &["serve", "--listen", &listen, "--data", &data]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut served = RunningServer::from_child(child, Instant::now(), port, "/api/health")?;
    let token = trial.run_switchboard(&["token", "--data", &data], "")?;
    ensure!(token.code == Some(0), "no token: {}", token.describe_output());
    token.stdout.trim().clone_into(&mut served.api.token);
    Ok(served)
}

/// A consumer on a WebSocket.
pub struct ConsumerClient {
    socket: WebSocketFeed,
    /// All messages in order, with lists flattened.
    pub heard: Vec<Value>,
}

impl ConsumerClient {
    pub fn connect(api: &TestApiClient, path: &str) -> anyhow::Result<Self> {
        let socket =
            WebSocketFeed::open(BufferedSocket::connect(api.port)?, api, path).with_context(|| path.to_owned())?;
        Ok(Self { socket, heard: Vec::new() })
    }

    pub fn send_json(&mut self, message: &Value) -> anyhow::Result<()> {
        Ok(self.socket.send_text(&message.to_string())?)
    }

    /// Returns the first matching message, received or still to come.
    pub fn wait_for_message(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        let mut seen = 0;
        loop {
            if let Some(found) = self.heard.iter().skip(seen).find(|message| wanted(message)) {
                return Ok(found.clone());
            }
            seen = self.heard.len();
            self.receive_next().with_context(|| format!("never: {what}; the last was {:?}", self.heard.last()))?;
        }
    }

    fn receive_next(&mut self) -> anyhow::Result<()> {
        let heard = &mut self.heard;
        let mut see = |text: &[u8]| {
            let message: Value = serde_json::from_slice(text).unwrap_or_default();
            match message["messages"].as_array() {
                Some(several) => heard.extend(several.iter().cloned()),
                None => heard.push(message),
            }
        };
        match self.socket.next(&mut |message| see(message.text))? {
            None => Ok(()),
            Some(end) => bail!("it was closed: {end:?}"),
        }
    }
}
