//! `load threads`: a great many threads in one process, some of them running at once; and how much later than the agent's
//! own the first word of a turn comes, beside the same agent read directly.

use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};
use clap::Args;
use serde_json::{Value, json};
use switchboard_dialects::{Surface, usual};
use switchboard_testkit::{
    fake,
    load::{Came, House, Memory, OBEDIENT, Threads as Client, now},
};

use super::{delays::shown, house::Program};
use crate::commands::say;

/// Run a great many threads in one process, some at once, and measure when a turn's first word comes
#[derive(Args)]
pub struct Threads {
    #[command(flatten)]
    program: Program,
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

/// Runs the command.
pub fn run(args: &Threads) -> anyhow::Result<()> {
    let house = args.program.house()?;
    let mut client = start(&house)?;
    hasty(&mut client)?;
    let crowd = crowd(args, &mut client)?;
    let through = through(args, &house, &mut client)?;
    client.close()?;
    let direct = direct(args, &house)?;
    let left = house.stage.left_behind_after(std::time::Duration::from_secs(5));
    ensure!(left.is_empty(), "left behind: {left:?}");
    say(&json!({ "crowd": crowd, "through": shown(through), "direct": shown(direct) }).to_string());
    Ok(())
}

fn start(house: &House) -> anyhow::Result<Client> {
    let mut command = house.stage.command(&house.program, &[usual(Surface::Harness).name]);
    command.arg("--data").arg(house.stage.data());
    Client::start(command)
}

/// How many threads a hasty client opens.
const HASTY: u64 = 30;

/// A thread that was told can be used: its first turn may be the very next thing that is said.
fn hasty(client: &mut Client) -> anyhow::Result<()> {
    for _ in 0..HASTY {
        let thread = client.open("script")?;
        client.begin(&thread, "text hello")?;
        while !matches!(client.hear()?, Came::Ended { .. }) {}
    }
    (client.ended, client.deltas) = (0, 0);
    Ok(())
}

/// Every thread has one turn. So many run at once: all of them ask before one is answered.
fn crowd(args: &Threads, client: &mut Client) -> anyhow::Result<Value> {
    let threads = (0..args.threads).map(|_| client.open("script")).collect::<anyhow::Result<Vec<_>>>()?;
    let opened = Memory::of(client.pid())?;
    let prompt = format!("text hello\napprove touch x\nburst {}\ntext bye", args.deltas);
    let (began, mut waiting, mut asking) = (now(), VecDeque::from(threads), Vec::new());
    while client.ended < args.threads as u64 {
        let at_once = waiting.len().min(args.running);
        for thread in waiting.drain(..at_once).collect::<Vec<_>>() {
            client.begin(&thread, &prompt)?;
        }
        let end = client.ended + at_once as u64;
        while client.ended < end {
            if let Came::Asked(id) = client.hear()? {
                asking.push(id);
            }
            if asking.len() == at_once {
                asking.drain(..).try_for_each(|id| client.accept(&id))?;
            }
        }
    }
    let seconds = super::house::seconds(now().saturating_sub(began));
    // A word is a piece: `hello`, and `bye`.
    let wanted = args.threads as u64 * (args.deltas + 2);
    ensure!(client.deltas == wanted, "{} of {wanted} pieces came", client.deltas);
    let most = Memory::of(client.pid())?;
    Ok(json!({ "threads": args.threads, "running": args.running, "deltas": client.deltas, "seconds": seconds,
        "open_kb": opened.now, "after_kb": most.now }))
}

/// From the start of a turn to its first word, in a thread whose agent is a process.
fn through(args: &Threads, house: &House, client: &mut Client) -> anyhow::Result<Vec<u64>> {
    let thread = client.open(house.agent)?;
    let mut times = Vec::new();
    for _ in 0..=args.turns {
        let began = now();
        client.begin(&thread, PROMPT)?;
        let first = loop {
            if let Came::Ended { first, .. } = client.hear()? {
                break first.context("a turn without a word")?;
            }
        };
        times.push(first.saturating_sub(began));
    }
    // The first turn waits for the agent's start.
    Ok(times.split_off(1))
}

/// What the agent is told: to say something at once.
const PROMPT: &str = "flood 3 1000";

/// The same agent, spoken to directly.
#[expect(clippy::disallowed_methods, reason = "the floor is the fake itself, started and waited for")]
fn direct(args: &Threads, house: &House) -> anyhow::Result<Vec<u64>> {
    let program = fake::program(house.stage.root(), "floor", OBEDIENT)?;
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("no input")?;
    let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
    let mut times = Vec::new();
    for _ in 0..=args.turns {
        let began = now();
        stdin.write_all(fake::prompt_line(PROMPT).as_bytes())?;
        let mut first = None;
        for line in lines.by_ref() {
            let (at, line) = (now(), line?);
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
