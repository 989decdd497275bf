//! `switchboard`: one protocol for every coding agent. Arguments, commands, exit codes.

mod acp;
mod agents;
mod args;
mod completions;
mod data;
mod dialects;
mod doctor;
mod failure;
mod harness;
mod host;
mod input;
mod logs;
mod mcp;
mod offered;
mod run;
mod schema;
mod serve;
mod sessions;
mod terminal;
mod timeouts;
mod token;
mod translate;
mod view;
mod watch;

use std::{io::Write as _, process::ExitCode};

use args::{Args, Command};
use clap::Parser as _;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(code) = switchboard_engine::supervise::hidden_mode(std::env::args_os().skip(1)) {
        return code;
    }
    let result = match Args::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Harness(args) => harness::run(&args),
        Command::Acp(args) => acp::run(&args),
        Command::Sessions(args) => sessions::run(args),
        Command::Logs(args) => logs::run(&args),
        Command::Mcp(args) => mcp::run(*args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Agents(args) => agents::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Translate(args) => translate::run(&args),
        Command::Schema(args) => schema::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Token(args) => token::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Completions(args) => completions::run(&args).map(|()| ExitCode::SUCCESS),
    };
    match result {
        Ok(code) => code,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to be done if not even the error can be told.
            drop(writeln!(std::io::stderr(), "error: {failure}"));
            ExitCode::from(failure.exit_code())
        }
    }
}
