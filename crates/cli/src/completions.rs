//! `switchboard completions`: completion scripts for shells.

use std::io;

use clap::CommandFactory as _;

use crate::{
    args::{Args, Completions},
    failure::Failure,
};

/// Runs the command.
pub fn run(args: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "switchboard", &mut script);
    io::Write::write_all(&mut io::stdout().lock(), &script).map_err(Failure::Output)
}
