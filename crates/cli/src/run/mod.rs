//! `switchboard run`: one agent, one task, here and now.

mod args;
mod here;

use std::process::ExitCode;

use switchboard_engine::{Audience, Engine, Outcome};
use switchboard_event::EndReason;
use switchboard_store::Filter;

pub use args::Run;

use crate::{
    data, dialects,
    failure::Failure,
    host,
    terminal::Terminal,
    watch::{self, Signals},
};

/// Runs the command.
pub fn run(args: &Run) -> Result<ExitCode, Failure> {
    let dialect = dialects::chosen(args.json, args.dialect.as_deref())?;
    let terminal = Terminal::new();
    let audience = if dialect.is_none() && terminal.can_ask() { Audience::Client } else { Audience::Nobody };
    let mut request = args.request(audience)?;
    let engine = data::engine(args.data.clone())?;
    request.resume = args.resume.as_deref().map(|what| find(&engine, what)).transpose()?;
    host::runtime()?.block_on(async {
        let mut signals = Signals::new().map_err(|cause| Failure::Machine(format!("cannot hear signals: {cause}")))?;
        let session = engine.start(request).await?;
        let mut follower = session.follow();
        let written = match dialect {
            Some(dialect) => watch::write(&mut follower, &session, watch::Writer::new(dialect), &mut signals).await,
            None => watch::show(&mut follower, &session, args.look(), &terminal, &mut signals).await,
        };
        if written.is_err() {
            // Whoever read us is gone, and nobody else wants this.
            drop(session.cancel().await);
        }
        let outcome = session.outcome().await;
        written?;
        ended(&outcome)
    })
}

/// The session that is meant.
fn find(engine: &Engine, what: &str) -> Result<switchboard_event::Id, Failure> {
    Ok(engine.log().find(what, &Filter::default())?.id)
}

/// The exit code that the documentation promises.
fn ended(outcome: &Outcome) -> Result<ExitCode, Failure> {
    if let Some(error) = &outcome.unwritten {
        return Err(Failure::Log(error.clone()));
    }
    Ok(ExitCode::from(match outcome.reason {
        Some(EndReason::Completed) => 0,
        Some(EndReason::Failed) if outcome.started => 1,
        Some(EndReason::Failed) => 4,
        Some(EndReason::Timeout) => 124,
        Some(EndReason::Cancelled) => 130,
        None => 5,
    }))
}
