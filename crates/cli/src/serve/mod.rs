//! `switchboard serve`: sessions for boards, bots and editors, over HTTP.

mod args;
mod browser;
mod end;
mod greeting;
mod keep;
mod start;

use std::process::ExitCode;

pub use args::Serve;

use crate::{failure::Failure, host};

/// Runs the command.
pub fn run(args: &Serve) -> Result<ExitCode, Failure> {
    let plan = start::Plan::new(args)?;
    host::allow_many_files();
    let runtime = host::server_runtime()?;
    let ended = runtime.block_on(async {
        let mut signals = end::Signals::listen()?;
        let running = start::start(plan).await?;
        signals.next().await;
        Ok(end::end(running, &mut signals).await)
    });
    // What still runs had its time.
    runtime.shutdown_timeout(end::LAST_MOMENT);
    ended
}
