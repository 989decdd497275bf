//! `live`: the real agents against scripted models, without a network.

use clap::Args;

use crate::{
    clis::CliVersions,
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

/// What is run with earlier versions of the agents, too.
const EARLIER: &[&str] = &[" run ", " session ", " approval by a client"];

/// All scenarios, as a step of testing, and those of `run` in both sandboxes. Some of them only wait, so there is always
/// another one.
pub fn all() -> anyhow::Result<Outcome> {
    match scenarios(&Scenarios::all(3))? {
        Outcome::Passed => {
            let sandboxes = ["--sandbox", "read-only", "--sandbox", "workspace-write"];
            play(&Scenarios::only(" run ", 3), CliVersions::Newest, &sandboxes)
        }
        not_run @ Outcome::NotRun(_) => Ok(not_run),
    }
}

/// A few scenarios with earlier versions of the agents, as a step of testing.
pub fn earlier() -> anyhow::Result<Outcome> {
    for name in EARLIER {
        if let not_run @ Outcome::NotRun(_) = play(&Scenarios::only(name, 3), CliVersions::Earlier, &["--installed"])? {
            return Ok(not_run);
        }
    }
    Ok(Outcome::Passed)
}

fn scenarios(which: &Scenarios) -> anyhow::Result<Outcome> {
    play(which, CliVersions::Newest, &[])
}

fn play(which: &Scenarios, versions: CliVersions, flags: &[&str]) -> anyhow::Result<Outcome> {
    let place = match Place::with_clis(versions) {
        Ok(place) => place,
        Err(why) => return Ok(Outcome::NotRun(why)),
    };
    let mut live = place.program("switchboard-live", &[])?;
    live.args(which.words()).args(flags).arg("--switchboard").arg(built("switchboard"));
    run_program(&mut live).map(|()| Outcome::Passed)
}
