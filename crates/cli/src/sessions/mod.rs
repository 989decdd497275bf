//! `switchboard sessions`: all sessions of the data folder, from any terminal. What has ended is read from the log; what
//! lives is spoken with through the process that runs it.

mod about;
mod approve;
mod archive;
mod cancel;
mod delete;
mod follow;
mod found;
mod history;
mod interrupt;
mod list;
mod process;
mod prompt;
mod row;
mod show;
mod table;
mod there;

use std::{
    io::{self, Write as _},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, Subcommand};

use crate::failure::Failure;

pub use found::one_line;
pub use row::{age, clip};
pub use table::{cut, tilde};

/// List, follow, steer, archive and delete sessions
///
/// Works from any terminal for all sessions of the data folder, whichever process runs them. A session is named by its
/// id or the beginning of it, by the agent's own id, by `last`, or by N for the N-th newest.
#[derive(Args)]
pub struct Sessions {
    /// What to do
    #[command(subcommand)]
    command: Command,
    /// Where sessions are kept [default: the platform's data folder]
    #[arg(long, value_name = "DIR", global = true)]
    data: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    List(list::List),
    Show(show::Show),
    Follow(follow::Follow),
    Prompt(prompt::Prompt),
    Approve(approve::Approve),
    Cancel(cancel::Cancel),
    Interrupt(interrupt::Interrupt),
    Archive(archive::Archive),
    Delete(delete::Delete),
}

/// Runs the command.
pub fn run(args: Sessions) -> Result<ExitCode, Failure> {
    let data = args.data;
    match args.command {
        Command::List(args) => list::run(&args, data).map(|()| ExitCode::SUCCESS),
        Command::Show(args) => show::run(&args, data).map(|()| ExitCode::SUCCESS),
        Command::Follow(args) => follow::run(&args, data),
        Command::Prompt(args) => prompt::run(&args, data),
        Command::Approve(args) => approve::run(&args, data).map(|()| ExitCode::SUCCESS),
        Command::Cancel(args) => cancel::run(&args, data).map(|()| ExitCode::SUCCESS),
        Command::Interrupt(args) => interrupt::run(&args, data).map(|()| ExitCode::SUCCESS),
        Command::Archive(args) => archive::run(&args, data).map(|()| ExitCode::SUCCESS),
        Command::Delete(args) => delete::run(&args, data).map(|()| ExitCode::SUCCESS),
    }
}

/// Prints a message to standard error; a closed standard error is not an error.
pub fn say(text: &str) {
    drop(writeln!(io::stderr(), "{text}"));
}
