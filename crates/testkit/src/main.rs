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
struct TestkitCli {
    #[command(subcommand)]
    command: TestkitCommand,
}

#[derive(Subcommand)]
enum TestkitCommand {
    Fuzz(commands::fuzz::FuzzArgs),
    Corpus(commands::print::CorpusArgs),
    Soak(commands::soak::StreamSoakArgs),
    Stream(commands::print::GenerateStreamArgs),
    List(commands::print::SourceListArgs),
    Recorded(commands::print::RecordedMessagesArgs),
    Model(commands::stage::ScriptedModelArgs),
    Stage(commands::stage::StageArgs),
    #[command(subcommand)]
    Load(commands::load::LoadCommand),
    Fake(commands::stage::FakeAgentArgs),
    #[command(hide = true)]
    FakeChild(commands::stage::FakeChildArgs),
}

fn main() -> ExitCode {
    let result = match TestkitCli::parse().command {
        TestkitCommand::Fuzz(args) => commands::fuzz::run(&args).map(to_success),
        TestkitCommand::Corpus(args) => commands::print::write_corpus(&args).map(to_success),
        TestkitCommand::Soak(args) => commands::soak::run(&args).map(to_success),
        TestkitCommand::Stream(args) => commands::print::write_stream(&args).map(to_success),
        TestkitCommand::List(args) => commands::print::list_sources(&args).map(to_success),
        TestkitCommand::Recorded(args) => commands::print::write_recorded_messages(&args).map(to_success),
        TestkitCommand::Model(args) => commands::stage::run_model(&args).map(to_success),
        TestkitCommand::Stage(args) => commands::stage::run_on_stage(&args).map(to_success),
        TestkitCommand::Load(args) => commands::load::run(&args).map(to_success),
        TestkitCommand::Fake(args) => commands::stage::run_fake(&args),
        TestkitCommand::FakeChild(args) => commands::stage::run_fake_child(&args).map(to_success),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            drop(writeln!(io::stderr(), "error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn to_success((): ()) -> ExitCode {
    ExitCode::SUCCESS
}
