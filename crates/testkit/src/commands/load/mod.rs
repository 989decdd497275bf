//! `load`: a server under load, one measurement a command. Each prints one line of JSON; `cargo xtask` starts them and
//! makes tables of it.

mod abuse;
mod crash;
mod crowd;
mod delays;
mod house;
mod peer;
mod readers;
mod returns;
mod schema;
mod stalled;
mod starts;
mod threads;

use clap::Subcommand;

/// Put a server under load and say how it fared, as JSON
#[derive(Subcommand)]
pub enum Load {
    Readers(readers::Readers),
    Delays(delays::Delays),
    Starts(starts::Starts),
    Returns(returns::Returns),
    Stalled(stalled::Stalled),
    Crowd(crowd::Crowd),
    Threads(threads::Threads),
    Crash(crash::Crash),
    Abuse(abuse::Abuse),
    Schema(schema::Schema),
    Peer(peer::Peer),
}

/// Runs the command.
pub fn run(args: &Load) -> anyhow::Result<()> {
    match args {
        Load::Readers(args) => readers::run(args),
        Load::Delays(args) => delays::run(args),
        Load::Starts(args) => starts::run(args),
        Load::Returns(args) => returns::run(args),
        Load::Stalled(args) => stalled::run(args),
        Load::Crowd(args) => crowd::run(args),
        Load::Threads(args) => threads::run(args),
        Load::Crash(args) => crash::run(args),
        Load::Abuse(args) => abuse::run(args),
        Load::Schema(args) => schema::run(args),
        Load::Peer(args) => peer::run(args),
    }
}
