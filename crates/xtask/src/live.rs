//! `live` and `stage`: the real agents against scripted models, without a network.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;

use crate::{
    clis,
    isolation::Isolation,
    process::{build_folder, cargo, is_there, output, program, run as run_program},
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

/// Run a program among the real agents, with a scripted model and without a network
///
/// Its working directory is an empty project, its home has the configuration that each agent needs. The end says what
/// the model was asked. What it answers is written in the prompt: crates/testkit/src/model/script.rs.
#[derive(Args)]
pub struct Stage {
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
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

/// Runs the command.
pub fn stage(args: &Stage) -> anyhow::Result<()> {
    let place = match Place::find() {
        Ok(place) => place,
        Err(why) => bail!("NOT RUN: {why}"),
    };
    run_program(&mut cargo(&["build", "--quiet", "--package", "switchboard-testkit", "--package", "switchboard-cli"]))?;
    let (clis, node) = (place.clis.to_string_lossy(), place.node.to_string_lossy());
    let words: Vec<_> = args.command.iter().map(String::as_str).collect();
    let args = [&["stage", "--clis", &clis, "--node", &node, "--"], words.as_slice()].concat();
    run_program(&mut place.isolation.program(&built("switchboard-testkit"), &args))
}

fn scenarios(only: &str, jobs: usize) -> anyhow::Result<Outcome> {
    let place = match Place::find() {
        Ok(place) => place,
        Err(why) => return Ok(Outcome::NotRun(why)),
    };
    run_program(&mut cargo(&["build", "--quiet", "--package", "switchboard-live", "--package", "switchboard-cli"]))?;
    let (switchboard, jobs) = (built("switchboard"), jobs.to_string());
    let [switchboard, clis, node] = [&switchboard, &place.clis, &place.node].map(|path| path.to_string_lossy());
    let args = ["--switchboard", &switchboard, "--clis", &clis, "--node", &node, "--only", only, "--jobs", &jobs];
    run_program(&mut place.isolation.program(&built("switchboard-live"), &args)).map(|()| Outcome::Passed)
}

/// What the real agents need.
struct Place {
    isolation: Isolation,
    clis: PathBuf,
    node: PathBuf,
}

impl Place {
    /// All of it; or what is missing.
    fn find() -> Result<Self, String> {
        let isolation = Isolation::find()?;
        if !is_there(&mut program("node", &["--version"])) {
            return Err("node is not installed".to_owned());
        }
        let node =
            output(&mut program("node", &["--print", "process.execPath"])).map_err(|error| format!("{error:#}"))?;
        let node = Path::new(node.trim()).parent().unwrap_or(Path::new("/usr/bin")).to_owned();
        let clis = clis::folder().map_err(|error| format!("the agents are not there: {error:#}"))?;
        Ok(Self { isolation, clis, node })
    }
}

fn built(name: &str) -> PathBuf {
    build_folder().join("debug").join(name)
}
