//! The test kit as a program, for `cargo xtask`: fuzzing, soaking, streams for benchmarks, the scripted
//! model, and fake agents.

mod commands;

use std::{
    io::{self, Write as _},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "switchboard-testkit",
    about = "Fuzzing, soaking, streams for benchmarks, a scripted model, and fake agents"
)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Fuzz(commands::fuzz::Fuzz),
    Corpus(commands::corpus::Corpus),
    Soak(commands::soak::Soak),
    Stream(commands::stream::Stream),
    List(commands::list::List),
    Recorded(commands::recorded::Recorded),
    Model(commands::model::Model),
    Stage(commands::stage::Stage),
    #[command(subcommand)]
    Load(commands::load::Load),
    Fake(commands::fake::Fake),
    #[command(hide = true)]
    FakeChild(commands::fake::FakeChild),
}

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Fuzz(args) => commands::fuzz::run(&args).map(success),
        Command::Corpus(args) => commands::corpus::run(&args).map(success),
        Command::Soak(args) => commands::soak::run(&args).map(success),
        Command::Stream(args) => commands::stream::run(&args).map(success),
        Command::List(args) => commands::list::run(&args).map(success),
        Command::Recorded(args) => commands::recorded::run(&args).map(success),
        Command::Model(args) => commands::model::run(&args).map(success),
        Command::Stage(args) => commands::stage::run(&args).map(success),
        Command::Load(args) => commands::load::run(&args).map(success),
        Command::Fake(args) => commands::fake::run(&args),
        Command::FakeChild(args) => commands::fake::run_child(&args).map(success),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            drop(writeln!(io::stderr(), "error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn success((): ()) -> ExitCode {
    ExitCode::SUCCESS
}
