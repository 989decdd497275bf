//! `stage`: any program among the real agents, to try things by hand.

use anyhow::bail;
use clap::Args;

use crate::{place::AgentEnvironment, process::run_program};

/// Run a program among the real agents, with a scripted model and without a network
///
/// Its working directory is an empty project, its home has the configuration that each agent needs. The end says what
/// the model was asked. What it answers is written in the prompt: crates/testkit/src/model/script.rs.
#[derive(Args)]
pub struct StageTask {
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

pub fn run_on_stage(args: &StageTask) -> anyhow::Result<()> {
    match AgentEnvironment::find() {
        Ok(place) => run_program(place.command_for("switchboard-testkit", &["stage"])?.arg("--").args(&args.command)),
        Err(why) => bail!("NOT RUN: {why}"),
    }
}
