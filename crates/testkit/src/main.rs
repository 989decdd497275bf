//! The test kit as a program, for `cargo xtask`: fuzzing, soaking, streams for benchmarks, and the scripted model.

mod commands;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "switchboard-testkit", about = "Fuzzing, soaking, streams for benchmarks, and the scripted model")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Fuzz(commands::fuzz::Fuzz),
    Soak(commands::soak::Soak),
    Stream(commands::stream::Stream),
    List(commands::list::List),
    Model(commands::model::Model),
    Stage(commands::stage::Stage),
}

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Fuzz(args) => commands::fuzz::run(&args),
        Command::Soak(args) => commands::soak::run(&args),
        Command::Stream(args) => commands::stream::run(&args),
        Command::List(args) => commands::list::run(&args),
        Command::Model(args) => commands::model::run(&args),
        Command::Stage(args) => commands::stage::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(io::stderr(), "error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
