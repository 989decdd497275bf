//! `switchboard harness`: threads and turns for a program that speaks JSON lines over our standard input and output.

mod args;
mod pipes;

use std::{process::ExitCode, time::Duration};

use futures_util::{
    FutureExt as _,
    future::{FusedFuture as _, join_all},
};
use switchboard_agents::{Agent, AgentCommand, find_agent};
use switchboard_engine::{Engine, SessionHandle, StartError};
use switchboard_serve::harness::{Connection, Purpose};
use tokio::{sync::mpsc, time::timeout};

pub use args::Harness;

use crate::{
    data::{self, Bounds, Data},
    failure::Failure,
    host,
    watch::Signals,
};
use pipes::Heard;

/// For what was asked before the input ended.
const ANSWERING: Duration = Duration::from_secs(2);

/// For agents to stop their turns and to end by themselves.
const CLOSING: Duration = Duration::from_secs(3);

/// For those that do not.
const STOPPING: Duration = Duration::from_secs(3);

/// For the client to read what it was told last, and for others who follow a session.
const PARTING: Duration = Duration::from_millis(500);

/// Runs the command.
pub fn run(args: &Harness) -> Result<ExitCode, Failure> {
    let agent = args.agent.as_deref().map(known).transpose()?;
    let command = args.command()?;
    let data = data::open(args.data.clone(), false)?;
    host::allow_many_files();
    let runtime = host::server_runtime()?;
    let purpose = Purpose { agent, command, ..Purpose::default() };
    let ended = runtime.block_on(serve(args, &data, purpose));
    // A thread that reads standard input never returns.
    runtime.shutdown_background();
    ended.map(|()| ExitCode::SUCCESS)
}

fn known(name: &str) -> Result<&'static Agent, Failure> {
    find_agent(name).ok_or_else(|| StartError::UnknownAgent(name.to_owned()).into())
}

async fn serve(args: &Harness, data: &Data, purpose: Purpose) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    // Before there are sessions, so that every visible session can be reached.
    let private = data.door()?;
    data.adopt_orphans()?;
    let service = data.service(args.folder()?, Bounds { limits: args.timeouts.limits(), ..Bounds::default() })?;
    let (connection, lines) = Connection::new(service, purpose);
    let (heard, written) = (pipes::read(), pipes::write(lines).fuse());
    tokio::pin!(written);
    tokio::select! {
        () = listen(heard, &connection) => drop(timeout(ANSWERING, connection.settled()).await),
        _ = signals.next() => {}
        // The client has closed our output.
        () = &mut written => {}
    }
    tokio::select! {
        () = end(&data.engine) => connection.finish(PARTING).await,
        // Who insists need not wait.
        _ = signals.next() => {}
    }
    drop(connection);
    if !written.is_terminated() {
        drop(timeout(PARTING, written).await);
    }
    if let Some(private) = private {
        private.close(PARTING).await;
    }
    Ok(())
}

/// Takes what the client says, until it says no more.
async fn listen(mut heard: mpsc::Receiver<Heard>, connection: &Connection) {
    while let Some(heard) = heard.recv().await {
        match heard {
            Heard::Line(line) => connection.hear(&line).await,
            Heard::TooLong => connection.hear_too_much().await,
        }
    }
}

/// Stops what is running, and ends the agents.
async fn end(engine: &Engine) {
    let sessions = engine.sessions();
    let closed = join_all(sessions.iter().map(close));
    drop(timeout(CLOSING, closed).await);
    engine.stop_all_sessions(STOPPING).await;
}

async fn close(session: &SessionHandle) {
    // One that has ended by itself is as good.
    drop(session.interrupt().await);
    drop(session.send_command(AgentCommand::Close).await);
    session.wait_for_outcome().await;
}
