//! `switchboard`: one protocol for every coding agent. Arguments, commands, exit codes.

mod acp;
mod agents;
mod args;
mod cluster;
mod data;
mod diagnostics;
mod doctor;
mod failure;
mod harness;
mod host;
mod logs;
mod mcp;
mod nodes;
mod remote;
mod run;
mod schema;
mod serve;
mod sessions;
mod short_ids;
mod signals;
mod terminal;
mod token;
mod translate;
mod view;
mod watch;

use std::{io::Write as _, process::ExitCode};

use args::{CliArgs, CliCommand};
use clap::Parser as _;
use view::sanitize::{TextSanitizer, reveal_hidden};

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(code) = switchboard_engine::supervise::run_hidden_mode(std::env::args_os().skip(1)) {
        return code;
    }
    let args = match CliArgs::try_parse() {
        Ok(args) => args,
        Err(error) => return tell_usage(&error),
    };
    let result = args.diagnostics.install().and_then(|()| match args.command {
        CliCommand::Run(args) => run::run(&args),
        CliCommand::Serve(args) => serve::run(&args),
        CliCommand::Harness(args) => harness::run(&args),
        CliCommand::Acp(args) => acp::run(&args),
        CliCommand::Sessions(args) => sessions::run(args),
        CliCommand::Nodes(args) => nodes::run(&args).map(|()| ExitCode::SUCCESS),
        CliCommand::Logs(args) => logs::run(&args),
        CliCommand::Mcp(args) => mcp::run(*args),
        CliCommand::Doctor(args) => doctor::run(&args),
        CliCommand::Agents(args) => agents::run(&args).map(|()| ExitCode::SUCCESS),
        CliCommand::Translate(args) => translate::run(&args),
        CliCommand::Schema(args) => schema::run(&args).map(|()| ExitCode::SUCCESS),
        CliCommand::Token(args) => token::run(&args).map(|()| ExitCode::SUCCESS),
        CliCommand::Completions(args) => args::print_completions(&args).map(|()| ExitCode::SUCCESS),
    });
    match result {
        Ok(code) => code,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // There is no way to report that standard error is closed.
            drop(writeln!(std::io::stderr(), "error: {}", TextSanitizer::whole(&failure.to_string())));
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Prints a usage error or the requested help. An error repeats arguments, which must not reach the terminal
/// unsanitized.
fn tell_usage(error: &clap::Error) -> ExitCode {
    let is_harmless = |argument: std::ffi::OsString| {
        let text = argument.to_string_lossy();
        reveal_hidden(&text) == text
    };
    // There is no way to report that standard error is closed.
    if std::env::args_os().skip(1).all(is_harmless) {
        drop(error.print());
    } else {
        drop(write!(std::io::stderr(), "{}", TextSanitizer::whole(&error.to_string())));
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
