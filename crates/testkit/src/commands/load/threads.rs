//! `load threads`: many threads in one process, several of them running at once, and the delay that the harness adds to
//! a turn's first word, compared with the same agent read directly.

use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};
use clap::Args;
use serde_json::{Value, json};
use switchboard_dialects::{DialectSurface, default_dialect};
use switchboard_testkit::{
    fake,
    load::{
        FOLLOW_PROMPTS_SCRIPT, HarnessIncoming, HarnessLoadClient as CrowdClient, ProcessMemory, ServerStage,
        unix_nanos,
    },
};

use super::ServerProgramArgs;
use super::latency::delay_report;
use crate::commands::print_line;

/// Run a great many threads in one process, some at once, and measure when a turn's first word comes
#[derive(Args)]
pub struct LoadThreadsArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
    /// How many threads
    #[arg(long, default_value_t = 100)]
    threads: usize,
    /// How many of them run at once
    #[arg(long, default_value_t = 20)]
    running: usize,
    /// How many pieces each turn says
    #[arg(long, default_value_t = 500)]
    deltas: u64,
    /// How many turns are timed
    #[arg(long, default_value_t = 200)]
    turns: usize,
}

pub fn run(args: &LoadThreadsArgs) -> anyhow::Result<()> {
    let house = args.program.create_stage()?;
    let mut client = start_client(&house)?;
    check_immediate_turns(&mut client)?;
    let crowd = run_crowd(args, &mut client)?;
    let through = time_through_harness(args, &house, &mut client)?;
    client.close()?;
    let direct = time_direct(args, &house)?;
    let left = house.stage.leftover_processes_after(std::time::Duration::from_secs(5));
    ensure!(left.is_empty(), "left behind: {left:?}");
    print_line(
        &json!({ "crowd": crowd, "through": delay_report(through), "direct": delay_report(direct) }).to_string(),
    );
    Ok(())
}

fn start_client(house: &ServerStage) -> anyhow::Result<CrowdClient> {
    let mut command = house.stage.new_command(&house.program, &[default_dialect(DialectSurface::Harness).name]);
    command.arg("--data").arg(house.stage.data_dir());
    CrowdClient::start(command)
}

const HASTY_THREAD_COUNT: u64 = 30;

/// Checks that a thread can be used as soon as it is reported: its first turn may be the very next message.
fn check_immediate_turns(client: &mut CrowdClient) -> anyhow::Result<()> {
    for _ in 0..HASTY_THREAD_COUNT {
        let thread = client.open_thread("script")?;
        client.start_turn(&thread, "text hello")?;
        while !matches!(client.next_message()?, HarnessIncoming::Ended { .. }) {}
    }
    (client.ended, client.deltas) = (0, 0);
    Ok(())
}

/// Runs one turn in every thread. All running turns request an approval before one is answered.
fn run_crowd(args: &LoadThreadsArgs, client: &mut CrowdClient) -> anyhow::Result<Value> {
    let threads = (0..args.threads).map(|_| client.open_thread("script")).collect::<anyhow::Result<Vec<_>>>()?;
    let opened = ProcessMemory::read_for(client.pid())?;
    let prompt = format!("text hello\napprove touch x\nburst {}\ntext bye", args.deltas);
    let (began, mut waiting, mut asking) = (unix_nanos(), VecDeque::from(threads), Vec::new());
    while client.ended < args.threads as u64 {
        let at_once = waiting.len().min(args.running);
        for thread in waiting.drain(..at_once).collect::<Vec<_>>() {
            client.start_turn(&thread, &prompt)?;
        }
        let end = client.ended + at_once as u64;
        while client.ended < end {
            if let HarnessIncoming::Asked(id) = client.next_message()? {
                asking.push(id);
            }
            if asking.len() == at_once {
                asking.drain(..).try_for_each(|id| client.accept_request(&id))?;
            }
        }
    }
    let seconds = super::nanos_to_seconds(unix_nanos().saturating_sub(began));
    // The words `hello` and `bye` are one delta each.
    let wanted = args.threads as u64 * (args.deltas + 2);
    ensure!(client.deltas == wanted, "{} of {wanted} pieces came", client.deltas);
    let most = ProcessMemory::read_for(client.pid())?;
    Ok(json!({ "threads": args.threads, "running": args.running, "deltas": client.deltas, "seconds": seconds,
        "open_kb": opened.now, "after_kb": most.now }))
}

/// Time from the start of a turn to its first word, in a thread whose agent is a process.
fn time_through_harness(
    args: &LoadThreadsArgs,
    house: &ServerStage,
    client: &mut CrowdClient,
) -> anyhow::Result<Vec<u64>> {
    let thread = client.open_thread(house.agent)?;
    let mut times = Vec::new();
    for _ in 0..=args.turns {
        let began = unix_nanos();
        client.start_turn(&thread, TIMED_PROMPT)?;
        let first = loop {
            if let HarnessIncoming::Ended { first, .. } = client.next_message()? {
                break first.context("a turn without a word")?;
            }
        };
        times.push(first.saturating_sub(began));
    }
    // The first turn includes the agent's start.
    Ok(times.split_off(1))
}

/// Makes the agent write at once.
const TIMED_PROMPT: &str = "flood 3 1000";

/// The same agent without the harness.
#[expect(clippy::disallowed_methods, reason = "the floor is the fake itself, started and waited for")]
fn time_direct(args: &LoadThreadsArgs, house: &ServerStage) -> anyhow::Result<Vec<u64>> {
    let program = fake::write_fake_program(house.stage.root_dir(), "floor", FOLLOW_PROMPTS_SCRIPT)?;
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("no input")?;
    let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
    let mut times = Vec::new();
    for _ in 0..=args.turns {
        let began = unix_nanos();
        stdin.write_all(fake::prompt_line(TIMED_PROMPT).as_bytes())?;
        let mut first = None;
        for line in lines.by_ref() {
            let (at, line) = (unix_nanos(), line?);
            if line.contains("text_delta") {
                first.get_or_insert(at);
            }
            if line.contains(r#""type":"result""#) {
                break;
            }
        }
        times.push(first.context("a turn without a word")?.saturating_sub(began));
    }
    drop(stdin);
    child.wait()?;
    Ok(times.split_off(1))
}
