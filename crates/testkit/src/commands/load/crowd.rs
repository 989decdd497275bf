//! `load crowd`: a great many sessions open at once, each with a client. Some are processes; all others are built in.
//! When all are open and wait, memory is read; then every client ends its session, and all must end well.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::{Value, json};
use switchboard_testkit::load::{Api, End, House, Memory, Served, Socket, WebSocket, free_port, seq};

use super::house::{Program, verbatim};
use crate::commands::say;

/// Open a great many sessions at once, each with a client
#[derive(Args)]
pub struct Crowd {
    #[command(flatten)]
    program: Program,
    /// How many sessions
    #[arg(long, default_value_t = 1_000)]
    sessions: u32,
    /// How many of them run a process
    #[arg(long, default_value_t = 200)]
    agents: u32,
    /// How many deltas each process writes before it asks for something
    #[arg(long, default_value_t = 50)]
    deltas: u32,
}

/// How long it may take until all are there.
const PATIENCE: Duration = Duration::from_secs(240);

/// So much is read at once by each client.
const BUFFER: usize = 16 << 10;

/// So many sessions are started at the same time.
const STARTERS: usize = 8;

/// What a session does, and how its client ends it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A process that writes, then asks for something; the client says yes.
    Agent,
    /// It asks for something, and the client says yes.
    Asks,
    /// It sleeps, and is cancelled.
    Sleeps,
}

/// How far the clients are.
#[derive(Default)]
struct Progress {
    ready: AtomicU32,
    failed: AtomicU32,
    go: AtomicBool,
}

/// Runs the command.
pub fn run(args: &Crowd) -> anyhow::Result<()> {
    let house = args.program.house()?;
    let served = house.serve(free_port()?, &[])?;
    let (idle, progress, began) = (served.memory()?, Progress::default(), Instant::now());
    let roles: Vec<_> = (0..args.sessions).map(|number| role(number, args.agents)).collect();
    let sessions = start(&house, &served.api, args, &roles)?;
    let started = began.elapsed();
    let (waiting, processes, events) = thread::scope(|scope| {
        let clients: Vec<_> = sessions
            .iter()
            .zip(&roles)
            .map(|(session, role)| {
                let client = Client { api: &served.api, session, role: *role, progress: &progress };
                thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, move || client.run())
            })
            .collect::<Result<_, _>>()?;
        let waiting = until_ready(&served, &progress, args.sessions);
        progress.go.store(true, Ordering::Release);
        let results = clients.into_iter().map(|client| client.join().unwrap_or_else(|_| bail!("a client panicked")));
        let events = results.collect::<anyhow::Result<Vec<u64>>>()?.iter().sum::<u64>();
        let (waiting, processes) = waiting?;
        anyhow::Ok((waiting, processes, events))
    })
    .with_context(|| house.complaints())?;
    check(&served.api, &sessions, &roles)?;
    let after = served.memory()?;
    let each = waiting.now.saturating_sub(idle.now) * 1024 / u64::from(args.sessions.max(1));
    say(&json!({ "sessions": args.sessions, "agents": args.agents, "events_received": events,
        "started_seconds": started.as_secs_f64(), "seconds": began.elapsed().as_secs_f64(),
        "idle_kb": idle.now, "open_kb": waiting.now, "after_kb": after.now, "bytes_a_session": each,
        "processes": processes })
    .to_string());
    let stopped = served.stop()?;
    ensure!(stopped < Duration::from_secs(10), "the server took {stopped:?} to end");
    let left = house.stage.left_behind_after(Duration::from_secs(5));
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

fn role(number: u32, agents: u32) -> Role {
    match number {
        number if number < agents => Role::Agent,
        number if number % 2 == 0 => Role::Asks,
        _ => Role::Sleeps,
    }
}

/// Starts all sessions, some at a time.
fn start(house: &House, api: &Api, args: &Crowd, roles: &[Role]) -> anyhow::Result<Vec<String>> {
    let one = |role: &Role| match role {
        Role::Agent => api.start(house.agent, &format!("flood {} 20\nask touch x\nsay Bye", args.deltas)),
        Role::Asks => api.start("script", "text hello\napprove touch x\ntext bye"),
        Role::Sleeps => api.start("script", "text hello\nsleep 3600"),
    };
    let share = roles.len().div_ceil(STARTERS).max(1);
    thread::scope(|scope| {
        let starters: Vec<_> = roles
            .chunks(share)
            .map(|roles| scope.spawn(move || roles.iter().map(one).collect::<anyhow::Result<Vec<_>>>()))
            .collect();
        let started =
            starters.into_iter().map(|starter| starter.join().unwrap_or_else(|_| bail!("a starter panicked")));
        Ok(started.collect::<anyhow::Result<Vec<_>>>()?.concat())
    })
}

/// Waits until all clients wait, and reads the memory and the number of processes then.
fn until_ready(served: &Served, progress: &Progress, sessions: u32) -> anyhow::Result<(Memory, usize)> {
    let began = Instant::now();
    loop {
        let (ready, failed) = (progress.ready.load(Ordering::Acquire), progress.failed.load(Ordering::Acquire));
        ensure!(failed == 0, "{failed} clients failed");
        if ready == sessions {
            break;
        }
        ensure!(began.elapsed() < PATIENCE, "only {ready} of {sessions} sessions are open");
        thread::sleep(Duration::from_millis(10));
    }
    let open = served.api.sessions()?.iter().filter(|view| view["state"] == "running").count();
    ensure!(open as u64 == u64::from(sessions), "{open} of {sessions} sessions are open");
    let processes = switchboard_testkit::stage::children(i32::try_from(served.pid())?).len();
    Ok((served.memory()?, processes))
}

/// Every session ended as its client wanted.
fn check(api: &Api, sessions: &[String], roles: &[Role]) -> anyhow::Result<()> {
    for (session, role) in sessions.iter().zip(roles) {
        let view = api.ended(session, Duration::from_secs(30))?;
        let wanted = if *role == Role::Sleeps { "cancelled" } else { "done" };
        ensure!(view["state"] == wanted, "{session} should be {wanted}: {view}");
    }
    Ok(())
}

/// Who follows one session and ends it.
struct Client<'a> {
    api: &'a Api,
    session: &'a str,
    role: Role,
    progress: &'a Progress,
}

impl Client<'_> {
    fn run(&self) -> anyhow::Result<u64> {
        let result = self.follow().with_context(|| format!("session {}", self.session));
        if result.is_err() {
            self.progress.failed.fetch_add(1, Ordering::AcqRel);
        }
        result
    }

    /// Gives the number of events that came.
    fn follow(&self) -> anyhow::Result<u64> {
        let path = format!("/ws/sessions/{}?dialect={}", self.session, verbatim()?.name);
        let mut feed = WebSocket::open(Socket::with_buffer(self.api.port, BUFFER)?, self.api, &path)?;
        let (mut last, mut gaps, mut asked, mut waited) = (0, 0, None, false);
        loop {
            let mut refused = None;
            let end = feed.next(&mut |message| match seq(message.text) {
                Some(seq) => {
                    gaps += u64::from(seq != last + 1);
                    last = seq;
                    asked = request(message.text).or(asked.take());
                }
                None => refused = refusal(message.text),
            })?;
            if let Some(refused) = refused {
                bail!("a command was refused: {refused}");
            }
            match end {
                None => {}
                Some(End::Closed(Some(1000))) => break,
                Some(end) => bail!("the stream ended with {end:?}"),
            }
            let is_open = if self.role == Role::Sleeps { last > 3 } else { asked.is_some() };
            if is_open && !waited {
                waited = true;
                self.wait();
                feed.send(&self.command(asked.as_deref()))?;
            }
        }
        ensure!(waited && gaps == 0, "{gaps} gaps, {last} events");
        Ok(last)
    }

    fn wait(&self) {
        self.progress.ready.fetch_add(1, Ordering::AcqRel);
        while !self.progress.go.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn command(&self, request: Option<&str>) -> String {
        match self.role {
            Role::Sleeps => json!({ "type": "cancel" }),
            Role::Agent | Role::Asks => json!({ "type": "approval", "id": request, "decision": "accept" }),
        }
        .to_string()
    }
}

/// The request that an event opens.
fn request(text: &[u8]) -> Option<String> {
    memchr::memmem::find(text, b"\"request.opened\"")?;
    let event: Value = serde_json::from_slice(text).ok()?;
    event["data"]["request"].as_str().map(str::to_owned)
}

/// What a command was answered, unless it was obeyed.
fn refusal(text: &[u8]) -> Option<String> {
    let reply: Value = serde_json::from_slice(text).unwrap_or_default();
    (reply["ok"] != true).then(|| reply.to_string())
}
