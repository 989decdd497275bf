//! `live`: the real agents against scripted models, without a network.

use anyhow::bail;
use clap::Args;

use crate::{
    place::{Place, built},
    process::run as run_program,
    steps::Outcome,
};

/// Run the real agents against scripted models, without a network
///
/// The agents are installed first, if they are not there yet.
#[derive(Args)]
pub struct Live {
    /// Only those with this in `AGENT SCENARIO`
    #[arg(long, default_value = "")]
    only: String,
    /// How many at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

/// Runs the command.
pub fn run(args: &Live) -> anyhow::Result<()> {
    match scenarios(&args.only, args.jobs)? {
        Outcome::Passed => Ok(()),
        Outcome::NotRun(why) => bail!("NOT RUN: {why}"),
    }
}

/// All scenarios, as a step of testing.
pub fn all() -> anyhow::Result<Outcome> {
    scenarios("", 2)
}

fn scenarios(only: &str, jobs: usize) -> anyhow::Result<Outcome> {
    let place = match Place::find() {
        Ok(place) => place,
        Err(why) => return Ok(Outcome::NotRun(why)),
    };
    let mut live = place.program("switchboard-live", &["--only", only, "--jobs", &jobs.to_string()])?;
    run_program(live.arg("--switchboard").arg(built("switchboard"))).map(|()| Outcome::Passed)
}
