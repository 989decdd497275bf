//! `switchboard`: one protocol for every coding agent. Arguments, commands, exit codes.

mod acp;
mod agents;
mod args;
mod completions;
mod data;
mod data_directory;
mod diagnostics;
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
mod short_ids;
mod terminal;
mod timeouts;
mod token;
mod translate;
mod view;
mod watch;

use std::{io::Write as _, process::ExitCode};

use args::{Args, Command};
use clap::Parser as _;
use view::clean;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(code) = switchboard_engine::supervise::run_hidden_mode(std::env::args_os().skip(1)) {
        return code;
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return tell_usage(&error),
    };
    let result = args.diagnostics.install().and_then(|()| match args.command {
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
    });
    match result {
        Ok(code) => code,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to be done if not even the error can be told.
            drop(writeln!(std::io::stderr(), "error: {}", clean::Flow::whole(&failure.to_string())));
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Says what is wrong with the arguments, or gives the help that was asked for. An error repeats arguments, which must
/// not reach the terminal as they are.
fn tell_usage(error: &clap::Error) -> ExitCode {
    let is_harmless = |argument: std::ffi::OsString| {
        let text = argument.to_string_lossy();
        clean::exact(&text) == text
    };
    // Nothing is left to be done if not even the error can be told.
    if std::env::args_os().skip(1).all(is_harmless) {
        drop(error.print());
    } else {
        drop(write!(std::io::stderr(), "{}", clean::Flow::whole(&error.to_string())));
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
