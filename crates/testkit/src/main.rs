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
    Fuzz(commands::streams::FuzzArgs),
    Corpus(commands::streams::CorpusArgs),
    Soak(commands::streams::StreamSoakArgs),
    Stream(commands::streams::GenerateStreamArgs),
    List(commands::streams::SourceListArgs),
    Recorded(commands::streams::RecordedMessagesArgs),
    Model(commands::ScriptedModelArgs),
    Stage(commands::StageArgs),
    #[command(subcommand)]
    Load(commands::load::LoadCommand),
    Fake(commands::FakeAgentArgs),
    #[command(hide = true)]
    FakeChild(commands::FakeChildArgs),
}

fn main() -> ExitCode {
    let result = match TestkitCli::parse().command {
        TestkitCommand::Fuzz(args) => commands::streams::run_fuzz(&args).map(to_success),
        TestkitCommand::Corpus(args) => commands::streams::write_corpus(&args).map(to_success),
        TestkitCommand::Soak(args) => commands::streams::run_soak(&args).map(to_success),
        TestkitCommand::Stream(args) => commands::streams::write_stream(&args).map(to_success),
        TestkitCommand::List(args) => commands::streams::list_sources(&args).map(to_success),
        TestkitCommand::Recorded(args) => commands::streams::write_recorded_messages(&args).map(to_success),
        TestkitCommand::Model(args) => commands::run_model(&args).map(to_success),
        TestkitCommand::Stage(args) => commands::run_on_stage(&args).map(to_success),
        TestkitCommand::Load(args) => commands::load::run(&args).map(to_success),
        TestkitCommand::Fake(args) => commands::run_fake(&args),
        TestkitCommand::FakeChild(args) => commands::run_fake_child(&args).map(to_success),
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
