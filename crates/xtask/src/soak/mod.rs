//! `soak`: endless sessions, many concurrent ones, a server that is killed repeatedly, large logs, and a page that
//! watches for minutes. The test kit does most of it.

mod board;
mod logs;

use clap::{Args, Subcommand};

use crate::{
    load::{BuildProfile, run_cases},
    process::{fast_testkit_command, run_program},
};

/// Run endless sessions, a crowd of sessions, a server that is killed at random moments, a mountain of logs, and a page
/// that watches a busy session
///
/// Without a subcommand, all of it.
#[derive(Args)]
pub struct SoakTask {
    #[command(subcommand)]
    part: Option<SoakPart>,
}

#[derive(Subcommand)]
enum SoakPart {
    Streams(StreamSoak),
    Serve(ServerSoak),
    Logs(logs::LogsSoak),
    Board(board::BoardSoak),
}

/// Run endless sessions of all sources through all dialects, and check that memory stays flat
#[derive(Args)]
pub struct StreamSoak {
    /// For how long
    #[arg(long, default_value_t = 5)]
    minutes: u64,
}

/// Open a crowd of sessions at a server; then kill it again and again, and check what is left
#[derive(Args)]
pub struct ServerSoak {
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

pub fn run(args: &SoakTask) -> anyhow::Result<()> {
    match &args.part {
        Some(SoakPart::Streams(args)) => soak_streams(args.minutes),
        Some(SoakPart::Serve(args)) => soak_server(args),
        Some(SoakPart::Logs(args)) => logs::run(args),
        Some(SoakPart::Board(args)) => board::soak_board(args),
        None => {
            soak_streams(5)?;
            soak_server(&ServerSoak { sessions: 1_000, agents: 200, kills: 100, sessions_a_kill: 20, seed: None })?;
            logs::run(&logs::LogsSoak::default())?;
            board::soak_board(&board::BoardSoak::default())
        }
    }
}

fn soak_streams(minutes: u64) -> anyhow::Result<()> {
    run_program(&mut fast_testkit_command(&["soak", "--minutes", &minutes.to_string()])?)
}

fn soak_server(args: &ServerSoak) -> anyhow::Result<()> {
    let [sessions, agents, kills, each] =
        [args.sessions, args.agents, args.kills, args.sessions_a_kill].map(|number| number.to_string());
    let seed = args.seed.map(|seed| seed.to_string());
    let mut crash = vec!["crash", "--kills", &kills, "--sessions", &each];
    crash.extend(seed.iter().flat_map(|seed| ["--seed", seed]));
    run_cases(BuildProfile::Release, &[&["crowd", "--sessions", &sessions, "--agents", &agents], &crash])
}
