//! `load stalled`: clients that ask for a long session and read nothing of it, in several rounds, and the memory that
//! the server takes for them.

use std::{
    io::Write as _,
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use anyhow::ensure;
use clap::Args;
use serde_json::json;
use switchboard_dialects::DIALECTS;
use switchboard_testkit::load::{Api, Served, free_port};

use super::house::Program;
use crate::commands::say;

/// Have many readers of a long session that read nothing
#[derive(Args)]
pub struct Stalled {
    #[command(flatten)]
    program: Program,
    /// How many deltas the session has
    #[arg(long, default_value_t = 2_000_000)]
    deltas: u64,
    /// How many clients there are in each round
    #[arg(long, default_value_t = 200)]
    readers: usize,
    /// How many rounds there are
    #[arg(long, default_value_t = 3)]
    rounds: u32,
}

/// The memory must not change by more than this, in kilobytes, within [`SETTLING`].
const STEADY_KB: u64 = 512;

/// How long the memory is watched, and how long it may take to become steady.
const SETTLING: Duration = Duration::from_secs(2);
const TIMEOUT: Duration = Duration::from_secs(300);

/// The headers that turn a request into a WebSocket.
const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// Runs the command.
pub fn run(args: &Stalled) -> anyhow::Result<()> {
    let house = args.program.house()?;
    let served = house.serve(free_port()?, &[])?;
    let session = served.api.start(house.agent, &format!("burst {}", args.deltas))?;
    served.api.ended(&session, Duration::from_secs(600))?;
    served.stop()?;
    // A server that has done nothing else yet.
    let served = house.serve(free_port()?, &["--rate-limit", "0"])?;
    let before = settled(&served)?;
    let mut added = Vec::new();
    for _ in 0..args.rounds {
        let clients: Vec<_> =
            (0..args.readers).map(|number| stalled(&served.api, &session, number)).collect::<anyhow::Result<_>>()?;
        added.push(settled(&served)?.saturating_sub(before));
        drop(clients);
    }
    let peak = served.memory()?.peak.saturating_sub(before);
    say(&json!({ "readers": args.readers, "deltas": args.deltas, "before_kb": before, "added_kb": added,
        "added_peak_kb": peak })
    .to_string());
    served.stop()?;
    Ok(())
}

/// A client that asks and reads nothing: over both wires, in every dialect.
fn stalled(api: &Api, session: &str, number: usize) -> anyhow::Result<TcpStream> {
    let dialect = DIALECTS.get(number / 2 % DIALECTS.len()).map_or("", |dialect| dialect.name);
    let head = match number % 2 {
        0 => api.head("GET", &format!("/api/sessions/{session}/stream?dialect={dialect}"), ""),
        _ => api.head("GET", &format!("/ws/sessions/{session}?dialect={dialect}"), UPGRADE),
    };
    let mut stream = TcpStream::connect(("127.0.0.1", api.port))?;
    stream.write_all(head.as_bytes())?;
    Ok(stream)
}

/// The memory of a server in kilobytes, once it does not change any more.
fn settled(served: &Served) -> anyhow::Result<u64> {
    let (began, mut last) = (Instant::now(), 0);
    loop {
        thread::sleep(SETTLING);
        let now = served.memory()?.now;
        if now.abs_diff(last) <= STEADY_KB {
            return Ok(now);
        }
        ensure!(began.elapsed() < TIMEOUT, "the memory of the server still changes: {last} kB, then {now} kB");
        last = now;
    }
}
