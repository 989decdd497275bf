//! `live`: the real agents against scripted models, without a network.

use clap::Args;

use crate::{
    place::{Place, built},
    process::run as run_program,
    scenarios::Scenarios,
    steps::Outcome,
};

/// Run the real agents against scripted models, without a network
///
/// The agents are installed first, if they are not there yet. The name of a scenario is `AGENT SCENARIO`.
#[derive(Args)]
pub struct Live {
    #[command(flatten)]
    scenarios: Scenarios,
}

/// Runs the command.
pub fn run(args: &Live) -> anyhow::Result<()> {
    args.scenarios.command(scenarios)
}

/// All scenarios, as a step of testing, and those of `run` in both sandboxes. Some of them only wait, so there is always
/// another one.
pub fn all() -> anyhow::Result<Outcome> {
    match scenarios(&Scenarios::all(3))? {
        Outcome::Passed => {
            play(&Scenarios::only(" run ", 3), &["--sandbox", "read-only", "--sandbox", "workspace-write"])
        }
        not_run @ Outcome::NotRun(_) => Ok(not_run),
    }
}

fn scenarios(which: &Scenarios) -> anyhow::Result<Outcome> {
    play(which, &[])
}

fn play(which: &Scenarios, flags: &[&str]) -> anyhow::Result<Outcome> {
    let place = match Place::find() {
        Ok(place) => place,
        Err(why) => return Ok(Outcome::NotRun(why)),
    };
    let mut live = place.program("switchboard-live", &[])?;
    live.args(which.words()).args(flags).arg("--switchboard").arg(built("switchboard"));
    run_program(&mut live).map(|()| Outcome::Passed)
}
