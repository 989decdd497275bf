//! `live`: the real agents against scripted models, without a network.

use clap::Args;

use crate::process::{ScenarioSelection, TestStepOutcome, run_program};
use crate::tools::{AgentEnvironment, CliVersions, debug_program};

/// Run the real agents against scripted models, without a network
///
/// The agents are installed first, if they are not there yet. The name of a scenario is `AGENT SCENARIO`.
#[derive(Args)]
pub struct LiveTask {
    #[command(flatten)]
    scenarios: ScenarioSelection,
    /// Run sessions in this sandbox, read-only or workspace-write; repeatable
    #[arg(long, value_name = "MODE")]
    sandbox: Vec<String>,
}

pub fn run(args: &LiveTask) -> anyhow::Result<()> {
    let flags: Vec<_> = args.sandbox.iter().flat_map(|mode| ["--sandbox", mode]).collect();
    args.scenarios.run_or_fail(|which| run_scenarios(which, CliVersions::Newest, &flags))
}

/// Scenarios that also run with earlier versions of the agents.
const EARLIER_VERSION_SCENARIOS: &[&str] = &[" run ", " session ", " approval by a client"];

/// Some scenarios only wait, so another one can use the processor meanwhile.
const PARALLEL_JOBS: usize = 3;

/// Runs all scenarios without a sandbox, as a step of `test`.
pub fn run_all() -> anyhow::Result<TestStepOutcome> {
    run_scenarios(&ScenarioSelection::all_with_jobs(PARALLEL_JOBS), CliVersions::Newest, &[])
}

/// Runs all scenarios confined, as a step of `test`: each in one sandbox, those about confinement in both. All of them in
/// both take too long for every change; `cargo xtask live --sandbox read-only --sandbox workspace-write` runs them.
pub fn run_confined() -> anyhow::Result<TestStepOutcome> {
    let sandboxes = ["--sandbox", "read-only", "--sandbox", "workspace-write", "--alternate"];
    run_scenarios(&ScenarioSelection::all_with_jobs(PARALLEL_JOBS), CliVersions::Newest, &sandboxes)
}

/// Runs some scenarios with earlier versions of the agents, as a step of `test`.
pub fn run_earlier_versions() -> anyhow::Result<TestStepOutcome> {
    for name in EARLIER_VERSION_SCENARIOS {
        if let not_run @ TestStepOutcome::NotRun(_) =
            run_scenarios(&ScenarioSelection::matching(name, PARALLEL_JOBS), CliVersions::Earlier, &["--installed"])?
        {
            return Ok(not_run);
        }
    }
    Ok(TestStepOutcome::Passed)
}

fn run_scenarios(which: &ScenarioSelection, versions: CliVersions, flags: &[&str]) -> anyhow::Result<TestStepOutcome> {
    let place = match AgentEnvironment::with_clis(versions) {
        Ok(place) => place,
        Err(why) => return Ok(TestStepOutcome::NotRun(why)),
    };
    let mut live = place.command_for("switchboard-live", &[])?;
    live.args(which.to_args()).args(flags).arg("--switchboard").arg(debug_program("switchboard"));
    run_program(&mut live).map(|()| TestStepOutcome::Passed)
}
