//! `load crowd`: many concurrent sessions, each with a client. Some run a process, the others are built in. Memory is
//! read while all are open; then every client ends its session, and all must end well.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::{Value, json};
use switchboard_testkit::load::{
    BufferedSocket, FeedEnd, ProcessMemory, RunningServer, ServerStage, TestApiClient, WebSocketFeed, event_seq,
    free_port,
};

use super::{ServerProgramArgs, verbatim_dialect};
use crate::commands::print_line;

/// Open a great many sessions at once, each with a client
#[derive(Args)]
pub struct LoadCrowdArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
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

const READY_TIMEOUT: Duration = Duration::from_secs(240);

const CLIENT_BUFFER_BYTES: usize = 16 << 10;

const STARTER_THREADS: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum CrowdRole {
    /// A process that writes, then requests an approval, which the client grants.
    Agent,
    /// Requests an approval, which the client grants.
    Asks,
    /// Sleeps until it is cancelled.
    Sleeps,
}

#[derive(Default)]
struct CrowdProgress {
    ready: AtomicU32,
    failed: AtomicU32,
    go: AtomicBool,
}

pub fn run(args: &LoadCrowdArgs) -> anyhow::Result<()> {
    let house = args.program.create_stage()?;
    let served = house.start_server(free_port()?, &[])?;
    let (idle, progress, began) = (served.memory_usage()?, CrowdProgress::default(), Instant::now());
    let roles: Vec<_> = (0..args.sessions).map(|number| role_of(number, args.agents)).collect();
    let sessions = start_sessions(&house, &served.api, args, &roles)?;
    let started = began.elapsed();
    let (waiting, processes, events) = thread::scope(|scope| {
        let clients: Vec<_> = sessions
            .iter()
            .zip(&roles)
            .map(|(session, role)| {
                let client = CrowdClient { api: &served.api, session, role: *role, progress: &progress };
                thread::Builder::new().stack_size(256 << 10).spawn_scoped(scope, move || client.run())
            })
            .collect::<Result<_, _>>()?;
        let waiting = wait_until_ready(&served, &progress, args.sessions);
        progress.go.store(true, Ordering::Release);
        let results = clients.into_iter().map(|client| client.join().unwrap_or_else(|_| bail!("a client panicked")));
        let events = results.collect::<anyhow::Result<Vec<u64>>>()?.iter().sum::<u64>();
        let (waiting, processes) = waiting?;
        anyhow::Ok((waiting, processes, events))
    })
    .with_context(|| house.log_tail())?;
    check_sessions(&served.api, &sessions, &roles)?;
    let after = served.memory_usage()?;
    let each = waiting.now.saturating_sub(idle.now) * 1024 / u64::from(args.sessions.max(1));
    print_line(
        &json!({ "sessions": args.sessions, "agents": args.agents, "events_received": events,
        "started_seconds": started.as_secs_f64(), "seconds": began.elapsed().as_secs_f64(),
        "idle_kb": idle.now, "open_kb": waiting.now, "after_kb": after.now, "bytes_a_session": each,
        "processes": processes })
        .to_string(),
    );
    let stopped = served.stop()?;
    ensure!(stopped < Duration::from_secs(10), "the server took {stopped:?} to end");
    let left = house.stage.leftover_processes_after(Duration::from_secs(5));
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

fn role_of(number: u32, agents: u32) -> CrowdRole {
    match number {
        number if number < agents => CrowdRole::Agent,
        number if number % 2 == 0 => CrowdRole::Asks,
        _ => CrowdRole::Sleeps,
    }
}

/// Starts all sessions, several at a time.
fn start_sessions(
    house: &ServerStage,
    api: &TestApiClient,
    args: &LoadCrowdArgs,
    roles: &[CrowdRole],
) -> anyhow::Result<Vec<String>> {
    let one = |role: &CrowdRole| match role {
        CrowdRole::Agent => api.start_session(house.agent, &format!("flood {} 20\nask touch x\nsay Bye", args.deltas)),
        CrowdRole::Asks => api.start_session("script", "text hello\napprove touch x\ntext bye"),
        CrowdRole::Sleeps => api.start_session("script", "text hello\nsleep 3600"),
    };
    let share = roles.len().div_ceil(STARTER_THREADS).max(1);
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

/// Waits until all clients are ready. Returns memory and number of processes.
fn wait_until_ready(
    served: &RunningServer,
    progress: &CrowdProgress,
    sessions: u32,
) -> anyhow::Result<(ProcessMemory, usize)> {
    let began = Instant::now();
    loop {
        let (ready, failed) = (progress.ready.load(Ordering::Acquire), progress.failed.load(Ordering::Acquire));
        ensure!(failed == 0, "{failed} clients failed");
        if ready == sessions {
            break;
        }
        ensure!(began.elapsed() < READY_TIMEOUT, "only {ready} of {sessions} sessions are open");
        thread::sleep(Duration::from_millis(10));
    }
    let open = served.api.list_sessions()?.iter().filter(|view| view["state"] == "running").count();
    ensure!(open as u64 == u64::from(sessions), "{open} of {sessions} sessions are open");
    let processes = switchboard_testkit::stage::child_pids(i32::try_from(served.pid())?).len();
    Ok((served.memory_usage()?, processes))
}

/// Checks that every session ended as its client wanted.
fn check_sessions(api: &TestApiClient, sessions: &[String], roles: &[CrowdRole]) -> anyhow::Result<()> {
    for (session, role) in sessions.iter().zip(roles) {
        let view = api.wait_for_end(session, Duration::from_secs(30))?;
        let wanted = if *role == CrowdRole::Sleeps { "cancelled" } else { "done" };
        ensure!(view["state"] == wanted, "{session} should be {wanted}: {view}");
    }
    Ok(())
}

/// Follows one session and ends it.
struct CrowdClient<'a> {
    api: &'a TestApiClient,
    session: &'a str,
    role: CrowdRole,
    progress: &'a CrowdProgress,
}

impl CrowdClient<'_> {
    fn run(&self) -> anyhow::Result<u64> {
        let result = self.follow_session().with_context(|| format!("session {}", self.session));
        if result.is_err() {
            self.progress.failed.fetch_add(1, Ordering::AcqRel);
        }
        result
    }

    /// Returns the number of received events.
    fn follow_session(&self) -> anyhow::Result<u64> {
        let path = format!("/ws/sessions/{}?dialect={}", self.session, verbatim_dialect()?.name);
        let mut feed =
            WebSocketFeed::open(BufferedSocket::with_buffer(self.api.port, CLIENT_BUFFER_BYTES)?, self.api, &path)?;
        let (mut last, mut gaps, mut asked, mut waited) = (0, 0, None, false);
        loop {
            let mut refused = None;
            let end = feed.next(&mut |message| match event_seq(message.text) {
                Some(seq) => {
                    gaps += u64::from(seq != last + 1);
                    last = seq;
                    asked = opened_request(message.text).or(asked.take());
                }
                None => refused = refused_reply(message.text),
            })?;
            if let Some(refused) = refused {
                bail!("a command was refused: {refused}");
            }
            match end {
                None => {}
                Some(FeedEnd::Closed(Some(1000))) => break,
                Some(end) => bail!("the stream ended with {end:?}"),
            }
            let is_open = if self.role == CrowdRole::Sleeps { last > 3 } else { asked.is_some() };
            if is_open && !waited {
                waited = true;
                self.wait_for_start();
                feed.send_text(&self.ending_command(asked.as_deref()))?;
            }
        }
        ensure!(waited && gaps == 0, "{gaps} gaps, {last} events");
        Ok(last)
    }

    fn wait_for_start(&self) {
        self.progress.ready.fetch_add(1, Ordering::AcqRel);
        while !self.progress.go.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn ending_command(&self, request: Option<&str>) -> String {
        match self.role {
            CrowdRole::Sleeps => json!({ "type": "cancel" }),
            CrowdRole::Agent | CrowdRole::Asks => json!({ "type": "approval", "id": request, "decision": "accept" }),
        }
        .to_string()
    }
}

/// Returns the id of the request that an event opens.
fn opened_request(text: &[u8]) -> Option<String> {
    memchr::memmem::find(text, b"\"request.opened\"")?;
    let event: Value = serde_json::from_slice(text).ok()?;
    event["data"]["request"].as_str().map(str::to_owned)
}

/// Returns the reply to a command, unless it succeeded.
fn refused_reply(text: &[u8]) -> Option<String> {
    let reply: Value = serde_json::from_slice(text).unwrap_or_default();
    (reply["ok"] != true).then(|| reply.to_string())
}
