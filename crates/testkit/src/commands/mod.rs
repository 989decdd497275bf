//! The commands of the test kit.

pub mod load;
pub mod streams;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, io};

use anyhow::{Context as _, ensure};
use clap::Args;

use switchboard_testkit::fake::{parse_script, perform_script, run_child};
use switchboard_testkit::model::{RecordedModelRequest, ScriptedModel};
use switchboard_testkit::stage::{AgentStage, StagePrograms, is_isolated};

/// Prints a line. A closed output is not an error.
fn print_line(line: &str) {
    drop(writeln!(io::stdout(), "{line}"));
}

/// Run a program among the real agents, with a scripted model and without a network
#[derive(Args)]
pub struct StageArgs {
    /// The folder of the agents' programs
    #[arg(long)]
    clis: PathBuf,
    /// The folder of node
    #[arg(long)]
    node: PathBuf,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Runs the command and prints the requests to the model.
pub fn run_on_stage(args: &StageArgs) -> anyhow::Result<()> {
    ensure!(is_isolated(), "there is a way out of here, and agents would take it");
    let mut stage = AgentStage::new(&StagePrograms { clis: args.clis.clone(), node: args.node.clone() })?;
    // Our own programs are in the directory of this one.
    let here = std::env::current_exe()?.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let path = stage.environment().iter().find(|(name, _)| name == "PATH").map(|(_, path)| format!("{here}:{path}"));
    stage.set_variable("PATH", path.as_deref());
    let (program, rest) = args.command.split_first().context("no program")?;
    let rest: Vec<_> = rest.iter().map(String::as_str).collect();
    let status =
        stage.new_command(program.as_ref(), &rest).status().with_context(|| format!("cannot start {program}"))?;
    print_line(&format!("── {status}"));
    stage.scripted_model().all_requests().iter().for_each(|request| print_line(&describe_request(request)));
    stage.leftover_processes().iter().for_each(|left| print_line(&format!("left behind: {left:?}")));
    Ok(())
}

fn describe_request(request: &RecordedModelRequest) -> String {
    let kind = request.side.as_ref().map(|side| format!(" beside the conversation ({side:?})")).unwrap_or_default();
    let answer = request.answer.as_ref().map_or("an error".to_owned(), |answer| format!("{:?}", answer.joined_text()));
    let gone = if request.abandoned { ", which was not heard to the end" } else { "" };
    format!("── {} {}{kind}, step {}: {:?} → {answer}{gone}", request.api, request.model, request.step, request.prompt)
}

/// Run the scripted model until it is stopped, and say what it is asked
#[derive(Args)]
pub struct ScriptedModelArgs {
    /// The port of loopback to listen on; any free one if it is 0
    #[arg(long, default_value_t = 0)]
    port: u16,
}

pub fn run_model(args: &ScriptedModelArgs) -> anyhow::Result<()> {
    let model =
        ScriptedModel::start_on_port(args.port).with_context(|| format!("cannot listen on port {}", args.port))?;
    print_line(&model.base_url());
    let mut seen = 0;
    loop {
        let Some(request) = model.wait_for_nth(seen) else { continue };
        seen += 1;
        print_line(&describe_request(&request));
    }
}

/// Play an agent that behaves as a script says
#[derive(Args)]
pub struct FakeAgentArgs {
    /// The script
    script: PathBuf,
    /// What the agent is started with
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// A child of a fake agent, which does nothing
#[derive(Args)]
pub struct FakeChildArgs {
    /// How it does nothing
    words: Vec<String>,
}

pub fn run_fake(args: &FakeAgentArgs) -> anyhow::Result<ExitCode> {
    let script = fs::read_to_string(&args.script).with_context(|| format!("cannot read {}", args.script.display()))?;
    perform_script(&parse_script(&script)?, &args.args)
}

pub fn run_fake_child(args: &FakeChildArgs) -> anyhow::Result<()> {
    run_child(&args.words)
}
