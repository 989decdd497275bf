//! `switchboard logs`: what agents did on this machine, read from what they left on disk.

mod columns;
mod doctor;
mod export;
mod filter;
mod list;
mod place;
mod prices;
mod progress;
mod scan;
mod search;
mod show;
mod times;
mod usage;
mod watch;

use std::process::ExitCode;

use clap::{Args, Subcommand};

pub use place::Place;

use crate::failure::Failure;

/// Read, search, account for and watch what agents did on this machine
///
/// Reads the session logs that agents leave on disk, those of Switchboard included. The first command builds an index;
/// later ones read only what is new.
#[derive(Args)]
pub struct Logs {
    /// What to do
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    place: Place,
}

#[derive(Subcommand)]
enum Command {
    Scan(scan::Scan),
    List(Box<list::List>),
    Show(show::Show),
    Search(Box<search::Search>),
    Export(Box<export::Export>),
    Doctor(doctor::Doctor),
    Usage(Box<usage::Usage>),
    Watch(watch::Watch),
}

/// Runs the command.
pub fn run(args: &Logs) -> Result<ExitCode, Failure> {
    match &args.command {
        Command::Scan(scan) => scan::run(scan, &args.place).map(|()| ExitCode::SUCCESS),
        Command::List(list) => list::run(list, &args.place).map(|()| ExitCode::SUCCESS),
        Command::Show(show) => show::run(show, &args.place).map(|()| ExitCode::SUCCESS),
        Command::Doctor(doctor) => doctor::run(doctor, &args.place),
        Command::Export(export) => export::run(export, &args.place).map(|()| ExitCode::SUCCESS),
        Command::Search(search) => search::run(search, &args.place).map(|()| ExitCode::SUCCESS),
        Command::Usage(usage) => usage::run(usage, &args.place).map(|()| ExitCode::SUCCESS),
        Command::Watch(watch) => watch::run(watch, &args.place),
    }
}
