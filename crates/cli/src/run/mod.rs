//! `switchboard run`: one agent, one task, here and now.

mod args;
mod here;
mod resume;

use std::{process::ExitCode, time::Duration};

use switchboard_dialects::Dialect;
use switchboard_engine::{RequestAudience, RunOutcome, StartRequest};
use switchboard_event::EndReason;

pub use args::{Run, approval, domain, image, sandbox, text, variable, words};

use crate::{
    data::{self, Data},
    dialects,
    failure::Failure,
    host,
    terminal::Terminal,
    watch::{self, Look, Signals, Writer},
};

/// For those who still read what the session said last.
const PARTING: Duration = Duration::from_millis(500);

/// Runs the command.
pub fn run(args: &Run) -> Result<ExitCode, Failure> {
    let dialect = dialects::chosen(args.json, args.dialect.as_deref())?;
    let terminal = Terminal::new();
    let mut request = args.request(audience(dialect, &terminal))?;
    let data = data::open(args.data.clone(), false)?;
    if let Some(what) = &args.resume {
        resume::find(what, &data, &mut request)?;
    }
    perform(&data, request, dialect, &args.look(), &terminal)
}

/// Who is there to be asked.
pub fn audience(dialect: Option<&Dialect>, terminal: &Terminal) -> RequestAudience {
    if dialect.is_none() && terminal.can_ask() { RequestAudience::Client } else { RequestAudience::None }
}

/// Runs a session here to its end, and shows it.
pub fn perform(
    data: &Data,
    request: StartRequest,
    dialect: Option<&Dialect>,
    look: &Look,
    terminal: &Terminal,
) -> Result<ExitCode, Failure> {
    host::runtime()?.block_on(async {
        let mut signals = Signals::listen()?;
        // Before the session is visible, so that every visible session can be reached.
        let private = data.door()?;
        data.adopt_orphans()?;
        let session = data.engine.start_session(request).await?;
        let mut follower = session.follow();
        let written = match dialect {
            Some(dialect) => watch::write(&mut follower, &session, Writer::new(dialect), &mut signals).await,
            None => watch::show(&mut follower, &session, look, terminal, &mut signals).await,
        };
        if written.is_err() {
            // The reader of our output is gone, so the session has no purpose.
            drop(session.cancel().await);
        }
        let outcome = session.wait_for_outcome().await;
        if let Some(private) = private {
            private.close(PARTING).await;
        }
        written?;
        ended(&outcome)
    })
}

/// How it ended, as an exit code.
fn ended(outcome: &RunOutcome) -> Result<ExitCode, Failure> {
    match &outcome.write_error {
        Some(error) => Err(Failure::Log(error.clone())),
        None => Ok(code(outcome.reason, || outcome.agent_started)),
    }
}

/// The exit code that the documentation promises, for an end and whether the agent had begun to work.
pub fn code(reason: Option<EndReason>, started: impl FnOnce() -> bool) -> ExitCode {
    ExitCode::from(match reason {
        Some(EndReason::Completed) => 0,
        Some(EndReason::Failed) if started() => 1,
        Some(EndReason::Failed) => 4,
        Some(EndReason::Timeout) => 124,
        Some(EndReason::Cancelled) => 130,
        None => 5,
    })
}
