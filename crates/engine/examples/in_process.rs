//! Runs an agent in this process and prints its output: `in_process SWITCHBOARD AGENT "TASK"`, where the first argument
//! is the path of the `switchboard` program, which supervises the agent's process. Nothing is stored.

use std::{io::Write as _, sync::Arc};

use futures_util::StreamExt as _;
use switchboard_client::{AgentClient, AgentEventKind as Kind, SessionConfig};
use switchboard_engine::{Engine, HostEnvironment, InProcessTransport, this_process};
use switchboard_event::{Id, Timestamp};
use switchboard_store::{SqliteStore, StoreOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [program, agent, task] = words.as_slice() else {
        return Err("usage: in_process SWITCHBOARD AGENT TASK".into());
    };
    let directory = tempfile::tempdir()?;
    let store =
        SqliteStore::open(directory.path(), &StoreOptions { owner: Some(this_process()), ..StoreOptions::default() })?;
    let host = HostEnvironment {
        env: std::env::vars().collect(),
        home: std::env::home_dir().ok_or("no home directory")?,
        temp: directory.path().join("tmp"),
        program: program.into(),
        is_root: switchboard_engine::is_root(),
        now,
        new_id: || Id::from(uuid::Uuid::now_v7().to_string()),
        new_secret: || uuid::Uuid::new_v4().simple().to_string(),
    };
    let client = AgentClient::new(InProcessTransport::new(Engine::new(Arc::new(store), host))).for_agent(agent);
    let session = client.create_session(task, SessionConfig::default()).await?;
    let (mut events, mut out) = (session.events(), std::io::stdout());
    while let Some(event) = events.next().await {
        match event?.kind {
            Kind::TextChunk { content, channel: None, .. } => out.write_all(content.as_bytes())?,
            Kind::ToolStarted { tool_name, .. } => writeln!(out, "tool {tool_name}")?,
            Kind::ApprovalRequested(approval) => session.decline(&approval.id, None).await?,
            Kind::SessionEnded { reason, .. } => writeln!(out, "\n{reason:?}")?,
            _ => {}
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the engine is given a clock, and here it is")]
fn now() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond()).unwrap_or_default()
}
