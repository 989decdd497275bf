//! `switchboard`: one protocol for every coding agent. Arguments, commands, exit codes.

mod args;
mod completions;
mod failure;
mod host;
mod schema;
mod translate;
#[cfg(test)]
mod view;

use std::{io::Write as _, process::ExitCode};

use args::{Args, Command};
use clap::Parser as _;

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Translate(args) => translate::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => completions::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to be done if not even the error can be told.
            drop(writeln!(std::io::stderr(), "error: {failure}"));
            ExitCode::from(failure.exit_code())
        }
    }
}
