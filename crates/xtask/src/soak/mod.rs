//! `soak`: endless sessions, a crowd of them, a server that is killed again and again, a mountain of logs, and a page that
//! is watched for long. The test kit does most of it.

mod board;
mod logs;

use clap::{Args, Subcommand};

use crate::{
    load::{Build, cases},
    process::{fast_testkit, run as run_program},
};

/// Run endless sessions, a crowd of sessions, a server that is killed at random moments, a mountain of logs, and a page
/// that watches a busy session
///
/// Without a subcommand, all of it.
#[derive(Args)]
pub struct Soak {
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Subcommand)]
enum Part {
    Streams(Streams),
    Serve(Serve),
    Logs(logs::Logs),
    Board(board::Board),
}

/// Run endless sessions of all sources through all dialects, and check that memory stays flat
#[derive(Args)]
pub struct Streams {
    /// For how long
    #[arg(long, default_value_t = 5)]
    minutes: u64,
}

/// Open a crowd of sessions at a server; then kill it again and again, and check what is left
#[derive(Args)]
pub struct Serve {
    /// How many sessions are open at once, each with a client
    #[arg(long, default_value_t = 1_000)]
    sessions: u32,
    /// How many of them run a fake agent
    #[arg(long, default_value_t = 200)]
    agents: u32,
    /// How often the server is killed
    #[arg(long, default_value_t = 100)]
    kills: u32,
    /// How many sessions it has each time
    #[arg(long, default_value_t = 20)]
    sessions_a_kill: u32,
    /// Chance; the same seed does the same
    #[arg(long)]
    seed: Option<u64>,
}

/// Runs the command.
pub fn run(args: &Soak) -> anyhow::Result<()> {
    match &args.part {
        Some(Part::Streams(args)) => streams(args.minutes),
        Some(Part::Serve(args)) => serve(args),
        Some(Part::Logs(args)) => logs::run(args),
        Some(Part::Board(args)) => board::run(args),
        None => {
            streams(5)?;
            serve(&Serve { sessions: 1_000, agents: 200, kills: 100, sessions_a_kill: 20, seed: None })?;
            logs::run(&logs::Logs::default())?;
            board::run(&board::Board::default())
        }
    }
}

fn streams(minutes: u64) -> anyhow::Result<()> {
    run_program(&mut fast_testkit(&["soak", "--minutes", &minutes.to_string()])?)
}

fn serve(args: &Serve) -> anyhow::Result<()> {
    let [sessions, agents, kills, each] =
        [args.sessions, args.agents, args.kills, args.sessions_a_kill].map(|number| number.to_string());
    let seed = args.seed.map(|seed| seed.to_string());
    let mut crash = vec!["crash", "--kills", &kills, "--sessions", &each];
    crash.extend(seed.iter().flat_map(|seed| ["--seed", seed]));
    cases(Build::Release, &[&["crowd", "--sessions", &sessions, "--agents", &agents], &crash])
}
