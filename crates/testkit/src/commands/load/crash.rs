//! `load crash`: the server is killed at random moments while it works. What any client had received must be in the
//! log, numbers must be dense, no process may be left, and every session must have ended when the server is back.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use serde_json::json;
use switchboard_testkit::{
    dice::Dice,
    load::{Api, End, Feed, From, House, Served, Tally, Wire, free_port},
};

use super::house::{Program, verbatim};
use crate::commands::say;

/// Kill the server at random moments under load, and check what is left
#[derive(Args)]
pub struct Crash {
    #[command(flatten)]
    program: Program,
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

/// How long processes may live on.
const DYING: Duration = Duration::from_secs(5);

/// What was found, of all kills.
#[derive(Default)]
struct Found {
    sessions: u64,
    received: u64,
    cut_off: u64,
    slowest_end: Duration,
    slowest_start: Duration,
}

/// Runs the command.
pub fn run(args: &Crash) -> anyhow::Result<()> {
    // Any seed will do: this one differs from run to run.
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let (house, mut dice, mut found) = (args.program.house()?, Dice::new(seed), Found::default());
    let mut served = house.serve(free_port()?, &[])?;
    for kill in 0..args.kills {
        served = one(&house, served, args, &mut dice, &mut found)
            .with_context(|| format!("kill {kill} from seed {seed}\n{}", house.complaints()))?;
    }
    let memory = served.memory()?;
    say(&json!({ "kills": args.kills, "seed": seed, "sessions": found.sessions, "events_received": found.received,
        "sessions_cut_off": found.cut_off, "slowest_end_ms": found.slowest_end.as_millis(),
        "slowest_start_ms": found.slowest_start.as_millis(), "memory_kb": memory.now })
    .to_string());
    served.stop()?;
    Ok(())
}

/// One kill, and a look at what is left. Gives the next server.
fn one(house: &House, served: Served, args: &Crash, dice: &mut Dice, found: &mut Found) -> anyhow::Result<Served> {
    let moment = Duration::from_millis(dice.below(args.within as usize) as u64);
    let plans: Vec<_> = (0..args.sessions).map(|_| Plan::of(house, dice)).collect();
    let (api, over) = (served.api.clone(), AtomicBool::new(false));
    let seen = thread::scope(|scope| {
        let clients: Vec<_> = plans.iter().map(|plan| scope.spawn(|| plan.follow(&api, &over))).collect();
        thread::sleep(moment);
        over.store(true, Ordering::Release);
        let killed = served.kill();
        let seen: Vec<_> = clients.into_iter().filter_map(|client| client.join().ok()).collect();
        killed.map(|()| seen)
    })?;
    let began = Instant::now();
    let left = house.stage.left_behind_after(DYING);
    ensure!(left.is_empty(), "left behind: {left:?}");
    found.slowest_end = found.slowest_end.max(began.elapsed());
    let served = house.serve(free_port()?, &[])?;
    found.slowest_start = found.slowest_start.max(served.ready);
    let seen: Vec<Seen> = seen.into_iter().collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect();
    seen.iter().try_for_each(|seen| seen.check(&served.api))?;
    let views = served.api.sessions()?;
    let open: Vec<_> = views.iter().filter(|view| view["state"] == "running").map(|view| view["id"].clone()).collect();
    ensure!(open.is_empty(), "sessions that run although nobody runs them: {open:?}");
    found.cut_off = views.iter().filter(|view| view["state"] == "failed").count() as u64;
    found.sessions += seen.len() as u64;
    found.received += seen.iter().map(|seen| seen.tally.messages).sum::<u64>();
    Ok(served)
}

/// What a session does and how it is followed.
struct Plan {
    agent: &'static str,
    prompt: &'static str,
    wire: Wire,
}

/// What a client had received when the server went.
struct Seen {
    session: String,
    tally: Tally,
}

impl Plan {
    fn of(house: &House, dice: &mut Dice) -> Self {
        let fake = ["burst 20000", "flood 1000 500", "child setsid stubborn\nflood 1000 500", "say Hello\nhang"];
        let built_in = ["burst 20000", "text hello\napprove touch x", "text hello\nsleep 60", "text hello"];
        let wire = if dice.once_in(2) { Wire::Sse } else { Wire::WebSocket };
        let (agent, prompts) = if dice.once_in(2) { (house.agent, fake) } else { ("script", built_in) };
        Self { agent, prompt: dice.pick(&prompts).copied().unwrap_or_default(), wire }
    }

    /// Starts the session and follows it until the server is gone. Nothing, if it was gone before. As long as it is
    /// there, nothing may fail.
    fn follow(&self, api: &Api, over: &AtomicBool) -> anyhow::Result<Option<Seen>> {
        let mut seen = None;
        match self.try_follow(api, &mut seen) {
            Err(error) if !over.load(Ordering::Acquire) => Err(error.context("before the server was killed")),
            _ => Ok(seen),
        }
    }

    fn try_follow(&self, api: &Api, seen: &mut Option<Seen>) -> anyhow::Result<()> {
        let session = api.start(self.agent, self.prompt)?;
        let tally = &mut seen.insert(Seen { session, tally: Tally::default() });
        let mut feed = Feed::open(api, self.wire, &tally.session, verbatim()?.name, From::Start)?;
        loop {
            match feed.next(&mut |message| tally.tally.hash(message.text))? {
                None => {}
                Some(End::Closed(None | Some(1000))) => return Ok(()),
                Some(end) => bail!("the stream ended with {end:?}"),
            }
        }
    }
}

impl Seen {
    /// All that the client has received is in the log, as it was, and the log is whole.
    fn check(&self, api: &Api) -> anyhow::Result<()> {
        let mut feed = Feed::open(api, Wire::WebSocket, &self.session, verbatim()?.name, From::Start)?;
        let (mut log, mut dense) = (Tally::default(), Tally::default());
        let mut same = self.tally.messages == 0;
        let end = loop {
            let end = feed.next(&mut |message| {
                dense.event(message.text);
                log.hash(message.text);
                same |= log.messages == self.tally.messages && log.hash == self.tally.hash;
            })?;
            if let Some(end) = end {
                break end;
            }
        };
        let Self { session, tally } = self;
        ensure!(end == End::Closed(Some(1000)), "{session}: the stream of an ended session ended with {end:?}");
        ensure!(dense.gaps == 0, "{session}: {} gaps in the log", dense.gaps);
        ensure!(log.messages >= tally.messages, "{session}: {} events received, {} kept", tally.messages, log.messages);
        ensure!(same, "{session}: the first {} events are not those that were received", tally.messages);
        Ok(())
    }
}
