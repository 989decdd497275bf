//! `load crash`: the server is killed at random moments. Everything that a client had received must be in the log,
//! sequence numbers must be dense, no process may be left, and every session must have ended when the server is back.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::json;
use switchboard_testkit::load::{
    FeedEnd, FeedOrigin, FeedTally, FeedTransport, LoadFeed, RunningServer, ServerStage, TestApiClient, free_port,
};

use switchboard_testkit::random::SeededRng;

use super::{ServerProgramArgs, verbatim_dialect};
use crate::commands::print_line;

/// Kill the server at random moments under load, and check what is left
#[derive(Args)]
pub struct LoadCrashArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
    /// How often
    #[arg(long, default_value_t = 100)]
    kills: u32,
    /// How many sessions each time
    #[arg(long, default_value_t = 20)]
    sessions: u32,
    /// The latest moment of a kill, in milliseconds after the load begins
    #[arg(long, default_value_t = 1_500)]
    within: u32,
    /// Chance; the same seed does the same
    #[arg(long)]
    seed: Option<u64>,
}

const PROCESS_EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Totals of all kills.
#[derive(Default)]
struct CrashFindings {
    sessions: u64,
    received: u64,
    cut_off: u64,
    slowest_end: Duration,
    slowest_start: Duration,
}

pub fn run(args: &LoadCrashArgs) -> anyhow::Result<()> {
    // Any seed works: this one differs between runs.
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let (house, mut rng, mut found) = (args.program.create_stage()?, SeededRng::new(seed), CrashFindings::default());
    let mut served = house.start_server(free_port()?, &[])?;
    for kill in 0..args.kills {
        served = kill_once(&house, served, args, &mut rng, &mut found)
            .with_context(|| format!("kill {kill} from seed {seed}\n{}", house.log_tail()))?;
    }
    let memory = served.memory_usage()?;
    print_line(
        &json!({ "kills": args.kills, "seed": seed, "sessions": found.sessions, "events_received": found.received,
        "sessions_cut_off": found.cut_off, "slowest_end_ms": found.slowest_end.as_millis(),
        "slowest_start_ms": found.slowest_start.as_millis(), "memory_kb": memory.now })
        .to_string(),
    );
    served.stop()?;
    Ok(())
}

/// Kills the server once and checks the remains. Returns the next server.
fn kill_once(
    house: &ServerStage,
    served: RunningServer,
    args: &LoadCrashArgs,
    rng: &mut SeededRng,
    found: &mut CrashFindings,
) -> anyhow::Result<RunningServer> {
    let moment = Duration::from_millis(rng.next_below(args.within as usize) as u64);
    let plans: Vec<_> = (0..args.sessions).map(|_| CrashClientPlan::random(house, rng)).collect();
    let (api, over) = (served.api.clone(), AtomicBool::new(false));
    let seen = thread::scope(|scope| {
        let clients: Vec<_> = plans.iter().map(|plan| scope.spawn(|| plan.follow_until_killed(&api, &over))).collect();
        thread::sleep(moment);
        over.store(true, Ordering::Release);
        let killed = served.kill();
        let seen: Vec<_> = clients.into_iter().filter_map(|client| client.join().ok()).collect();
        killed.map(|()| seen)
    })?;
    let began = Instant::now();
    let left = house.stage.leftover_processes_after(PROCESS_EXIT_TIMEOUT);
    ensure!(left.is_empty(), "left behind: {left:?}");
    found.slowest_end = found.slowest_end.max(began.elapsed());
    let served = house.start_server(free_port()?, &[])?;
    found.slowest_start = found.slowest_start.max(served.ready);
    let seen: Vec<ReceivedEvents> =
        seen.into_iter().collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect();
    seen.iter().try_for_each(|seen| seen.check_log(&served.api))?;
    let views = served.api.list_sessions()?;
    let open: Vec<_> = views.iter().filter(|view| view["state"] == "running").map(|view| view["id"].clone()).collect();
    ensure!(open.is_empty(), "sessions that run although nobody runs them: {open:?}");
    found.cut_off = views.iter().filter(|view| view["state"] == "failed").count() as u64;
    found.sessions += seen.len() as u64;
    found.received += seen.iter().map(|seen| seen.tally.messages).sum::<u64>();
    Ok(served)
}

/// The agent and prompt of a session, and its transport.
struct CrashClientPlan {
    agent: &'static str,
    prompt: &'static str,
    wire: FeedTransport,
}

/// Events that a client had received when the server was killed.
struct ReceivedEvents {
    session: String,
    tally: FeedTally,
}

impl CrashClientPlan {
    fn random(house: &ServerStage, rng: &mut SeededRng) -> Self {
        let fake = ["burst 20000", "flood 1000 500", "child setsid stubborn\nflood 1000 500", "say Hello\nhang"];
        let built_in = ["burst 20000", "text hello\napprove touch x", "text hello\nsleep 60", "text hello"];
        let wire = if rng.once_in(2) { FeedTransport::Sse } else { FeedTransport::WebSocket };
        let (agent, prompts) = if rng.once_in(2) { (house.agent, fake) } else { ("script", built_in) };
        Self { agent, prompt: rng.choose(&prompts).copied().unwrap_or_default(), wire }
    }

    /// Starts a session and follows it until the server is gone. Returns `None` if the server was gone before. Nothing
    /// may fail while the server runs.
    fn follow_until_killed(&self, api: &TestApiClient, over: &AtomicBool) -> anyhow::Result<Option<ReceivedEvents>> {
        let mut seen = None;
        match self.try_follow(api, &mut seen) {
            Err(error) if !over.load(Ordering::Acquire) => Err(error.context("before the server was killed")),
            _ => Ok(seen),
        }
    }

    fn try_follow(&self, api: &TestApiClient, seen: &mut Option<ReceivedEvents>) -> anyhow::Result<()> {
        let session = api.start_session(self.agent, self.prompt)?;
        let tally = &mut seen.insert(ReceivedEvents { session, tally: FeedTally::default() });
        let mut feed = LoadFeed::open(api, self.wire, &tally.session, verbatim_dialect()?.name, FeedOrigin::Start)?;
        loop {
            match feed.next(&mut |message| tally.tally.hash_message(message.text))? {
                None => {}
                Some(FeedEnd::Closed(None | Some(1000))) => return Ok(()),
                Some(end) => bail!("the stream ended with {end:?}"),
            }
        }
    }
}

impl ReceivedEvents {
    /// Checks that the log is complete and begins with the received events.
    fn check_log(&self, api: &TestApiClient) -> anyhow::Result<()> {
        let mut feed =
            LoadFeed::open(api, FeedTransport::WebSocket, &self.session, verbatim_dialect()?.name, FeedOrigin::Start)?;
        let (mut log, mut dense) = (FeedTally::default(), FeedTally::default());
        let mut same = self.tally.messages == 0;
        let end = loop {
            let end = feed.next(&mut |message| {
                dense.count_event(message.text);
                log.hash_message(message.text);
                same |= log.messages == self.tally.messages && log.hash == self.tally.hash;
            })?;
            if let Some(end) = end {
                break end;
            }
        };
        let Self { session, tally } = self;
        ensure!(end == FeedEnd::Closed(Some(1000)), "{session}: the stream of an ended session ended with {end:?}");
        ensure!(dense.gaps == 0, "{session}: {} gaps in the log", dense.gaps);
        ensure!(log.messages >= tally.messages, "{session}: {} events received, {} kept", tally.messages, log.messages);
        ensure!(same, "{session}: the first {} events are not those that were received", tally.messages);
        Ok(())
    }
}
