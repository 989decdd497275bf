//! `stage`: any program on the stage, to try things by hand.

use std::path::PathBuf;

use anyhow::{Context as _, ensure};
use clap::Args;
use switchboard_testkit::{
    model::Request,
    stage::{Programs, Stage as Place, isolated},
};

use super::say;

/// Run a program among the real agents, with a scripted model and without a network
#[derive(Args)]
pub struct Stage {
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

/// Runs the command, and says what the model was asked.
pub fn run(args: &Stage) -> anyhow::Result<()> {
    ensure!(isolated(), "there is a way out of here, and agents would take it");
    let mut stage = Place::new(&Programs { clis: args.clis.clone(), node: args.node.clone() })?;
    // Our own programs are beside this one.
    let here = std::env::current_exe()?.parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let path = stage.environment().iter().find(|(name, _)| name == "PATH").map(|(_, path)| format!("{here}:{path}"));
    stage.set("PATH", path.as_deref());
    let (program, rest) = args.command.split_first().context("no program")?;
    let rest: Vec<_> = rest.iter().map(String::as_str).collect();
    let status = stage.command(program.as_ref(), &rest).status().with_context(|| format!("cannot start {program}"))?;
    say(&format!("── {status}"));
    stage.model().requests().iter().for_each(|request| say(&line(request)));
    stage.left_behind().iter().for_each(|left| say(&format!("left behind: {left:?}")));
    Ok(())
}

/// A request in a line.
pub fn line(request: &Request) -> String {
    let kind = request.side.as_ref().map(|side| format!(" beside the conversation ({side:?})")).unwrap_or_default();
    let answer = request.answer.as_ref().map_or("an error".to_owned(), |answer| format!("{:?}", answer.words()));
    let gone = if request.abandoned { ", which was not heard to the end" } else { "" };
    format!("── {} {}{kind}, step {}: {:?} → {answer}{gone}", request.api, request.model, request.step, request.prompt)
}
