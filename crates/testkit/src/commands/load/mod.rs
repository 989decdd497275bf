//! `load`: a server under load, one measurement per command. Each prints one line of JSON; `cargo xtask` starts them
//! and makes tables from it.

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
pub enum LoadCommand {
    Readers(readers::LoadReadersArgs),
    Delays(delays::LoadDelaysArgs),
    Starts(starts::LoadStartsArgs),
    Returns(returns::LoadReturnsArgs),
    Stalled(stalled::LoadStalledArgs),
    Crowd(crowd::LoadCrowdArgs),
    Threads(threads::LoadThreadsArgs),
    Crash(crash::LoadCrashArgs),
    Abuse(abuse::LoadAbuseArgs),
    Schema(schema::LoadSchemaArgs),
    Peer(peer::LoadPeerArgs),
}

pub fn run(args: &LoadCommand) -> anyhow::Result<()> {
    match args {
        LoadCommand::Readers(args) => readers::run(args),
        LoadCommand::Delays(args) => delays::run_delays(args),
        LoadCommand::Starts(args) => starts::run_starts(args),
        LoadCommand::Returns(args) => returns::run_returns(args),
        LoadCommand::Stalled(args) => stalled::run(args),
        LoadCommand::Crowd(args) => crowd::run(args),
        LoadCommand::Threads(args) => threads::run(args),
        LoadCommand::Crash(args) => crash::run(args),
        LoadCommand::Abuse(args) => abuse::run(args),
        LoadCommand::Schema(args) => schema::run(args),
        LoadCommand::Peer(args) => peer::run(args),
    }
}
