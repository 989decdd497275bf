//! `switchboard serve` on the stage, and clients that talk with it over WebSocket.

use std::{process::Stdio, time::Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;
use switchboard_testkit::load::{Api, Served, Socket, WebSocket, free_port};

use crate::trial::Trial;

/// Starts a server with the sessions of the stage.
pub fn serve(trial: &Trial<'_>) -> anyhow::Result<Served> {
    let (port, data) = (free_port()?, trial.stage.data());
    let (listen, data) = (format!("127.0.0.1:{port}"), data.to_string_lossy().into_owned());
    let mut command = trial.stage.command(trial.switchboard, &["serve", "--listen", &listen, "--data", &data]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut served = Served::other(child, Instant::now(), port, "/api/health")?;
    let token = trial.switchboard(&["token", "--data", &data], "")?;
    ensure!(token.code == Some(0), "no token: {}", token.shown());
    token.stdout.trim().clone_into(&mut served.api.token);
    Ok(served)
}

/// Somebody on a WebSocket.
pub struct Client {
    socket: WebSocket,
    /// All that it was told, in order; what came in lists one by one.
    pub heard: Vec<Value>,
}

impl Client {
    /// Connects.
    pub fn connect(api: &Api, path: &str) -> anyhow::Result<Self> {
        let socket = WebSocket::open(Socket::connect(api.port)?, api, path).with_context(|| path.to_owned())?;
        Ok(Self { socket, heard: Vec::new() })
    }

    /// Says something.
    pub fn say(&mut self, message: &Value) -> anyhow::Result<()> {
        Ok(self.socket.send(&message.to_string())?)
    }

    /// What it was told at any time, or else waits for it.
    pub fn ever(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        let mut seen = 0;
        loop {
            if let Some(found) = self.heard.iter().skip(seen).find(|message| wanted(message)) {
                return Ok(found.clone());
            }
            seen = self.heard.len();
            self.hear().with_context(|| format!("never: {what}; the last was {:?}", self.heard.last()))?;
        }
    }

    /// Waits for a message.
    fn hear(&mut self) -> anyhow::Result<()> {
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
