//! `load abuse`: clients that send malformed, too many, too slow or no bytes. None may get a 5xx or hang the server,
//! memory must stay constant, and a healthy client must be served throughout.

mod raw;

use std::{
    io,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use raw::{random_json, random_word};
use serde_json::json;
use switchboard_testkit::load::{
    BufferedSocket, FeedEnd, FeedReader, FeedTransport, ReaderBehavior, RunningServer, TestApiClient, WebSocketFeed,
    free_port, masked_frame,
};

use switchboard_testkit::random::SeededRng;

use super::{ServerProgramArgs, verbatim_dialect};
use crate::commands::print_line;

/// Send a server nonsense, too much and too slowly, and check that a healthy client does not notice
#[derive(Args)]
pub struct LoadAbuseArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
    /// How many bad requests
    #[arg(long, default_value_t = 1_000)]
    requests: u32,
    /// How many bad conversations over WebSocket
    #[arg(long, default_value_t = 1_000)]
    frames: u32,
    /// How many connections that are slow or idle
    #[arg(long, default_value_t = 2_000)]
    slow: u32,
    /// For how many seconds they are, each of four times
    #[arg(long, default_value_t = 10)]
    slow_for: u64,
    /// Chance; the same seed does the same
    #[arg(long)]
    seed: Option<u64>,
}

/// Every round must need as much memory as the one before.
const ABUSE_ROUNDS: u32 = 4;

/// Allowed memory growth between the second and the last round.
const MAX_MEMORY_GROWTH_KB: u64 = 24 << 10;

const MAX_HEALTHY_DELAY: Duration = Duration::from_secs(3);

/// Time within which a malformed request is answered or its connection closed.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

struct AbuseTargets {
    pub ended: String,
    /// A session that waits for an approval.
    pub open: String,
}

pub fn run(args: &LoadAbuseArgs) -> anyhow::Result<()> {
    // Any seed works: this one differs between runs.
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let house = args.program.create_stage()?;
    let served = house.start_server(free_port()?, &[])?;
    let (over, healthy) = (AtomicBool::new(false), HealthyClient::default());
    let result = thread::scope(|scope| {
        let beside = scope.spawn(|| healthy.run(&served.api, &over));
        let abused = abuse_server(&served, args, seed).with_context(|| format!("from seed {seed}"));
        over.store(true, Ordering::Release);
        let beside = beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        abused.and_then(|abused| beside.context("the healthy client").map(|()| abused))
    });
    let (first, last) = result.with_context(|| house.log_tail())?;
    let slowest = healthy.slowest_session();
    print_line(
        &json!({ "seed": seed, "requests": args.requests, "frames": args.frames, "slow": args.slow,
        "memory_first_kb": first, "memory_last_kb": last, "healthy": healthy.session_count(),
        "healthy_slowest_ms": slowest.as_millis() })
        .to_string(),
    );
    ensure!(last < first + MAX_MEMORY_GROWTH_KB, "memory grew from {first} to {last} kB");
    ensure!(slowest < MAX_HEALTHY_DELAY, "a healthy client had to wait {slowest:?}");
    let stopped = served.stop()?;
    ensure!(stopped < Duration::from_secs(10), "the server took {stopped:?} to end");
    Ok(())
}

/// Returns the memory after the second round and after the last.
fn abuse_server(served: &RunningServer, args: &LoadAbuseArgs, seed: u64) -> anyhow::Result<(u64, u64)> {
    let targets = start_targets(&served.api)?;
    let round = |rng: &mut SeededRng| -> anyhow::Result<u64> {
        (0..args.requests / ABUSE_ROUNDS).try_for_each(|number| {
            raw::send_malformed(&served.api, &targets, rng).with_context(|| format!("request {number}"))
        })?;
        (0..args.frames / ABUSE_ROUNDS).try_for_each(|number| {
            run_conversation(&served.api, &targets, rng).with_context(|| format!("conversation {number}"))
        })?;
        raw::run_slow_clients(&served.api, &targets, args.slow, Duration::from_secs(args.slow_for), rng)?;
        settled_memory_kb(served)
    };
    let mut rng = SeededRng::new(seed);
    let memory = (0..ABUSE_ROUNDS).map(|_| round(&mut rng)).collect::<anyhow::Result<Vec<_>>>()?;
    // The first round fills buffers and caches.
    Ok((memory.get(1).copied().unwrap_or_default(), memory.last().copied().unwrap_or_default()))
}

fn start_targets(api: &TestApiClient) -> anyhow::Result<AbuseTargets> {
    let ended = api.start_session("script", "text hello\nburst 200")?;
    api.wait_for_end(&ended, Duration::from_secs(20))?;
    Ok(AbuseTargets { ended, open: api.start_session("script", "text hello\napprove touch x")? })
}

/// Returns the memory once it no longer shrinks.
fn settled_memory_kb(served: &RunningServer) -> anyhow::Result<u64> {
    let (mut last, began) = (served.memory_usage()?.now, Instant::now());
    loop {
        thread::sleep(Duration::from_millis(300));
        let now = served.memory_usage()?.now;
        if now >= last || began.elapsed() > Duration::from_secs(5) {
            return Ok(now);
        }
        last = now;
    }
}

/// Returns whether the server closed the connection, which is a valid reaction.
fn is_connection_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
}

struct AbuseMessage {
    bytes: Vec<u8>,
    then: ExpectedReaction,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpectedReaction {
    /// The server closes the connection.
    Ends,
    /// The server replies.
    Reply,
    /// Nothing; the client disconnects.
    Leaves,
}

/// Uses an open session, so that the server has no other reason to close the connection.
fn run_conversation(api: &TestApiClient, targets: &AbuseTargets, rng: &mut SeededRng) -> anyhow::Result<()> {
    let said = random_message(rng);
    let shown = || format!("said: {:?}", String::from_utf8_lossy(said.bytes.get(..200).unwrap_or(&said.bytes)));
    let socket = BufferedSocket::with_buffer(api.port, 16 << 10)?;
    socket.tcp_stream().set_read_timeout(Some(ANSWER_TIMEOUT))?;
    let path = format!("/ws/sessions/{}?after=1000000", targets.open);
    let mut feed = WebSocketFeed::open(socket, api, &path).context("no WebSocket")?;
    match feed.inner_socket().write(&said.bytes) {
        Err(error) if is_connection_closed(&error) => return Ok(()),
        written => written.with_context(shown)?,
    }
    if said.then == ExpectedReaction::Leaves {
        return Ok(());
    }
    check_reaction(&mut feed, said.then).with_context(shown)
}

fn check_reaction(feed: &mut WebSocketFeed, then: ExpectedReaction) -> anyhow::Result<()> {
    loop {
        let mut is_reply = false;
        let end = feed.next(&mut |message| {
            is_reply |= [&b"\"type\":\"reply\""[..], b"\"type\":\"pong\""]
                .iter()
                .any(|kind| memchr::memmem::find(message.text, kind).is_some());
        });
        match (end, then) {
            (Ok(None), ExpectedReaction::Reply) if is_reply => return Ok(()),
            (Ok(None), _) => {}
            (Ok(Some(FeedEnd::Closed(Some(1011)))), _) => bail!("the server failed"),
            (Ok(Some(_)), ExpectedReaction::Ends) => return Ok(()),
            (Ok(Some(end)), _) => bail!("there was no reply, but {end:?}"),
            (Err(error), ExpectedReaction::Ends) if is_connection_closed(&error) => return Ok(()),
            (Err(error), _) => return Err(no_answer_error(error)),
        }
    }
}

fn no_answer_error(error: io::Error) -> anyhow::Error {
    anyhow::Error::from(error).context("no answer came")
}

fn random_message(rng: &mut SeededRng) -> AbuseMessage {
    let ends = |bytes: Vec<u8>| AbuseMessage { bytes, then: ExpectedReaction::Ends };
    match rng.next_below(15) {
        // Unmasked, reserved bits, unknown opcodes.
        0 => ends(vec![0x81, 2, b'{', b'}']),
        1 => ends(masked_frame(0xf1, b"{}")),
        2 => ends(masked_frame(0x83, b"{}")),
        3 => ends(masked_frame(0x8b, b"{}")),
        // Control frames that are too long or fragmented, a continuation without a beginning, a text within another
        // one.
        4 => ends(masked_frame(0x89, &[b'x'; 200])),
        5 => ends(masked_frame(0x09, b"x")),
        6 => ends(masked_frame(0x80, b"x")),
        7 => ends([masked_frame(0x01, b"a"), masked_frame(0x81, b"b")].concat()),
        // Impossible sizes, and text that is not UTF-8.
        8 => ends(vec![0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4]),
        9 => ends(vec![0x81, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4]),
        10 => ends(masked_frame(0x81, &[0xff, 0xfe, 0xc0])),
        11 => ends(masked_frame(0x88, &[0x03, 0xff, 0xff])),
        // Half a frame.
        12 => AbuseMessage { bytes: vec![0x81, 0xfe, 0x10, 0, 1, 2, 3, 4, b'x'], then: ExpectedReaction::Leaves },
        13 => AbuseMessage { bytes: masked_frame(0x82, random_json(rng).as_bytes()), then: ExpectedReaction::Reply },
        _ => AbuseMessage { bytes: masked_frame(0x81, random_command(rng).as_bytes()), then: ExpectedReaction::Reply },
    }
}

/// Returns an almost valid command. None may end the session for the other clients.
fn random_command(rng: &mut SeededRng) -> String {
    let kinds = ["ping", "approval", "prompt", "interupt", "", "reply", "session.ended"];
    let kind = rng.choose(&kinds).copied().unwrap_or_default();
    let (id, prompt) = (random_json(rng), random_json(rng));
    match rng.next_below(4) {
        0 => random_json(rng),
        1 => "{".repeat(rng.next_below(5_000)),
        // A valid prompt would start another turn; a number is invalid.
        2 => format!(r#"{{"type":"{kind}","id":{id},"decision":"{}","prompt":7}}"#, random_word(rng)),
        _ => format!(r#"{{"type":{prompt},"id":{id}}}"#),
    }
}

#[derive(Default)]
struct HealthyClient {
    served: AtomicU64,
    slowest: AtomicU64,
}

const SESSION_PAUSE: Duration = Duration::from_millis(50);

impl HealthyClient {
    fn session_count(&self) -> u64 {
        self.served.load(Ordering::Acquire)
    }

    fn slowest_session(&self) -> Duration {
        Duration::from_micros(self.slowest.load(Ordering::Acquire))
    }

    fn run(&self, api: &TestApiClient, over: &AtomicBool) -> anyhow::Result<()> {
        while !over.load(Ordering::Acquire) {
            let began = Instant::now();
            self.run_session(api)?;
            let time = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.slowest.fetch_max(time, Ordering::AcqRel);
            self.served.fetch_add(1, Ordering::AcqRel);
            thread::sleep(SESSION_PAUSE);
        }
        Ok(())
    }

    /// Runs, follows and deletes a session.
    fn run_session(&self, api: &TestApiClient) -> anyhow::Result<()> {
        let session = api.start_session("echo", "hello there")?;
        let wire = if self.session_count().is_multiple_of(2) { FeedTransport::Sse } else { FeedTransport::WebSocket };
        let reader = FeedReader {
            api,
            wire,
            session: &session,
            dialect: verbatim_dialect()?,
            manner: ReaderBehavior::default(),
        };
        let read = reader.run()?;
        ensure!(read.tally.gaps == 0 && read.tally.messages > 3, "{} events", read.tally.messages);
        ensure!(api.get("/api/health")?["status"] == "ok", "it is not well");
        api.call("DELETE", &format!("/api/sessions/{session}"), None)?;
        Ok(())
    }
}
