//! Streams: printed for benchmarks, fuzzed, and played without end.

use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use parking_lot::Mutex;
use serde_json::json;
use switchboard_agents::{RecordSource, SOURCES};
use switchboard_dialects::{DIALECTS, MessageBuffer, Projection, find_dialect};
use switchboard_event::Event;

use super::print_line;
use switchboard_testkit::corpus::CorpusOptions;
use switchboard_testkit::ledger::{IdReuse, InvariantViolation, SessionInvariants};
use switchboard_testkit::mutate::{RecordingVocabulary, mutate_stream, shrink_stream};
use switchboard_testkit::random::SeededRng;
use switchboard_testkit::recording::{Recording, StreamPlayer, load_recordings};
use switchboard_testkit::stream_checker::{StreamChecker, expected_records};
use switchboard_testkit::{corpus, generate, parallel, recording, repository_root};

/// Write a long stream of one source, made of its recordings
#[derive(Args)]
pub struct GenerateStreamArgs {
    /// The source
    source: String,
    /// How many megabytes
    #[arg(long, default_value_t = 64)]
    size: u64,
    /// Only of recordings with this in their name
    #[arg(long, default_value = "")]
    recording: String,
    /// One line of that size instead of many lines
    #[arg(long)]
    one_line: bool,
}

pub fn write_stream(args: &GenerateStreamArgs) -> anyhow::Result<()> {
    let source = switchboard_agents::find_source(&args.source).with_context(|| format!("no source {}", args.source))?;
    let mut recordings = load_recordings()?;
    recordings.retain(|recording| recording.name.contains(&args.recording));
    let stream = generate::EndlessStream::new(source, &recordings);
    let mut stream = stream.with_context(|| format!("there are no such recordings of {}", args.source))?;
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let size = args.size * 1_000_000;
    if args.one_line {
        out.write_all(&stream.long_line(usize::try_from(size)?))?;
    } else {
        stream.write(size, &mut out)?;
    }
    Ok(out.flush()?)
}

/// Print the sources that have recordings, and the dialects, as JSON
#[derive(Args)]
pub struct SourceListArgs {}

pub fn list_sources(_: &SourceListArgs) -> anyhow::Result<()> {
    let mut sources: Vec<_> = load_recordings()?.iter().map(|recording| recording.source.name).collect();
    sources.dedup();
    let dialects: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name).collect();
    print_line(&json!({ "sources": sources, "dialects": dialects }).to_string());
    Ok(())
}

/// Write all messages that the recordings become in a dialect, one a line
#[derive(Args)]
pub struct RecordedMessagesArgs {
    /// The dialect
    dialect: String,
}

pub fn write_recorded_messages(args: &RecordedMessagesArgs) -> anyhow::Result<()> {
    let dialect = find_dialect(&args.dialect).with_context(|| format!("no dialect {}", args.dialect))?;
    let recorded = parallel::map(&load_recordings()?, |recording| {
        let events = recording::stream_events(recording.source, &recording.bytes);
        recording::project_messages(&mut *(dialect.projection)(), &events)
    });
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    for message in recorded.iter().flatten() {
        out.write_all(message)?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

/// Write logs of agents with a known truth: the home `home` and `truth.json`
#[derive(Args)]
pub struct CorpusArgs {
    /// Where to
    folder: PathBuf,
    /// How many megabytes
    #[arg(long, default_value_t = 500)]
    size: u64,
    /// About how many files
    #[arg(long, default_value_t = 300)]
    files: usize,
    /// How many different words
    #[arg(long, default_value_t = 1_100_000)]
    words: usize,
    /// Chance; the same seed writes the same corpus
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn write_corpus(args: &CorpusArgs) -> anyhow::Result<()> {
    let CorpusArgs { folder, size, files, words, seed } = args;
    let truth = corpus::write_corpus(
        folder,
        &CorpusOptions { seed: *seed, bytes: size * 1_000_000, files: *files, words: *words },
    )?;
    print_line(&format!(
        "corpus: {} MB in {} files, {} replies, {} tokens",
        truth.bytes / 1_000_000,
        truth.files,
        truth.all.replies,
        truth.all.total_tokens()
    ));
    Ok(())
}

/// Spoil recordings in random ways and check that everything still holds
#[derive(Args)]
pub struct FuzzArgs {
    /// For how long
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Where to begin; the same seed tries the same streams
    #[arg(long)]
    seed: Option<u64>,
    /// Only this source
    #[arg(long)]
    source: Option<String>,
    /// Only this stream, as it is
    #[arg(long, requires = "source")]
    input: Option<PathBuf>,
}

pub fn run_fuzz(args: &FuzzArgs) -> anyhow::Result<()> {
    let target = FuzzTarget::new(args.source.as_deref())?;
    if let Some(input) = &args.input {
        let bytes = fs::read(input).with_context(|| format!("cannot read {}", input.display()))?;
        let source = target.sources.first().context("no source")?;
        return Ok(target.check_stream(source, &bytes, &mut SeededRng::new(0), true)?);
    }
    // Any seed will do: this one differs from run to run.
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let (tried, failure) = target.run(seed, Duration::from_secs(args.seconds));
    match failure {
        None => {
            print_line(&format!("fuzz: {tried} streams from seed {seed}, nothing broke"));
            Ok(())
        }
        Some(failure) => target.report_failure(seed, &failure),
    }
}

struct FuzzTarget {
    checker: StreamChecker,
    sources: Vec<&'static RecordSource>,
    recordings: Vec<Recording>,
    words: RecordingVocabulary,
}

/// A stream that violates an invariant.
struct FuzzFailure {
    case: u64,
    source: &'static RecordSource,
    stream: Vec<u8>,
    broken: InvariantViolation,
}

impl FuzzTarget {
    fn new(source: Option<&str>) -> anyhow::Result<Self> {
        let all = SOURCES.iter().copied().flatten();
        let sources: Vec<_> = all.filter(|s| source.is_none_or(|name| s.name == name)).collect();
        if sources.is_empty() {
            bail!("no source {}", source.unwrap_or_default());
        }
        let recordings = load_recordings()?;
        let words = RecordingVocabulary::from_recordings(&recordings);
        Ok(Self { checker: StreamChecker::new()?, sources, recordings, words })
    }

    /// Tries streams on all cores until the time is over or a check fails. Returns their number.
    fn run(&self, seed: u64, time: Duration) -> (u64, Option<FuzzFailure>) {
        let end = Instant::now() + time;
        let (next, stop, failure) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::new(None));
        let worker = || {
            while Instant::now() < end && !stop.load(Ordering::Relaxed) {
                if let Err(found) = self.try_stream(seed, next.fetch_add(1, Ordering::Relaxed)) {
                    stop.store(true, Ordering::Relaxed);
                    *failure.lock() = Some(found);
                }
            }
        };
        thread::scope(|scope| (0..parallel::core_count()).for_each(|_| drop(scope.spawn(worker))));
        (next.into_inner(), failure.into_inner())
    }

    /// Tries one stream, mostly with its own source and sometimes with another.
    fn try_stream(&self, seed: u64, case: u64) -> Result<(), FuzzFailure> {
        let mut rng = SeededRng::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(case));
        let Some(recording) = rng.choose(&self.recordings) else { return Ok(()) };
        let stranger = rng.choose(&self.sources).copied().unwrap_or(recording.source);
        let mine = self.sources.iter().any(|source| source.name == recording.source.name);
        let source = if mine && !rng.once_in(8) { recording.source } else { stranger };
        let stream = mutate_stream(&recording.bytes, &self.words, &mut rng);
        let and_again = rng.once_in(4);
        let checked = self.check_stream(source, &stream, &mut rng, and_again);
        checked.map_err(|broken| FuzzFailure { case, source, stream, broken })
    }

    fn check_stream(
        &self,
        source: &RecordSource,
        stream: &[u8],
        rng: &mut SeededRng,
        and_again: bool,
    ) -> Result<(), InvariantViolation> {
        self.checker.check_stream(source, stream, IdReuse::AfterEnd)?;
        if and_again { self.checker.check_replay(source, stream, rng) } else { Ok(()) }
    }

    /// Saves the shortest stream that still fails, and prints how to reproduce it.
    fn report_failure(&self, seed: u64, failure: &FuzzFailure) -> anyhow::Result<()> {
        let FuzzFailure { case, source, stream, broken } = failure;
        let fails = |stream: &[u8]| {
            let again = self.check_stream(source, stream, &mut SeededRng::new(0), true);
            again.is_err_and(|again| again.rule == broken.rule)
        };
        let short = shrink_stream(stream, fails);
        let folder = repository_root().join("target/fuzz");
        fs::create_dir_all(&folder)?;
        let file = folder.join(format!("{}-{seed}-{case}.jsonl", source.name.replace(':', "-")));
        fs::write(&file, short)?;
        let file = file.canonicalize()?;
        print_line(&format!("fuzz: {} from seed {seed}, case {case}\n  {broken}", source.name));
        print_line(&format!("  the stream: {}", file.display()));
        print_line(&format!("  again: cargo xtask fuzz --source {} --input {}", source.name, file.display()));
        bail!("a rule is broken: {}", broken.rule)
    }
}

/// Allowed memory growth between the first round and the end.
const MAX_MEMORY_GROWTH_BYTES: u64 = 48 << 20;

const BYTES_PER_ROUND: u64 = 4_000_000;

/// Run endless sessions of all sources through all dialects, and check that memory stays flat
#[derive(Args)]
pub struct StreamSoakArgs {
    /// For how long
    #[arg(long, default_value_t = 5)]
    minutes: u64,
}

pub fn run_soak(args: &StreamSoakArgs) -> anyhow::Result<()> {
    let end = Instant::now() + Duration::from_secs(args.minutes * 60);
    let target = FuzzTarget::new(None)?;
    let recordings = load_recordings()?;
    let endless = |source| Some(EndlessSession::new(source, generate::EndlessStream::new(source, &recordings)?));
    let mut sessions: Vec<_> = SOURCES.iter().copied().flatten().filter_map(endless).collect();
    let (mut round, mut at_first) = (0, None);
    while Instant::now() < end {
        for session in &mut sessions {
            session.run_round().with_context(|| format!("{} in round {round}", session.source.name))?;
        }
        if let (_, Some(failure)) = target.run(round, Duration::from_secs(2)) {
            return target.report_failure(round, &failure);
        }
        let (now, megabytes) =
            (own_memory_bytes()?, sessions.iter().map(|session| session.bytes).sum::<u64>() / 1_000_000);
        let first = *at_first.get_or_insert(now);
        print_line(&format!("soak: round {round}, {megabytes} MB read, {} MB of memory", now >> 20));
        ensure!(now < first + MAX_MEMORY_GROWTH_BYTES, "memory grew from {} MB to {} MB", first >> 20, now >> 20);
        round += 1;
    }
    sessions.into_iter().try_for_each(EndlessSession::finish)?;
    print_line(&format!("soak: {round} rounds, nothing broke"));
    Ok(())
}

struct EndlessSession {
    source: &'static RecordSource,
    stream: generate::EndlessStream,
    player: StreamPlayer,
    ledger: SessionInvariants,
    projections: Vec<Box<dyn Projection>>,
    bytes: u64,
}

impl EndlessSession {
    fn new(source: &'static RecordSource, stream: generate::EndlessStream) -> Self {
        let projections = DIALECTS.iter().map(|dialect| (dialect.projection)()).collect();
        let (player, ledger) = (StreamPlayer::new(source), SessionInvariants::new(IdReuse::AfterEnd));
        Self { source, stream, player, ledger, projections, bytes: 0 }
    }

    fn run_round(&mut self) -> anyhow::Result<()> {
        let mut piece = Vec::new();
        self.bytes += self.stream.write(BYTES_PER_ROUND, &mut piece)?;
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            expected_records(line).into_iter().for_each(|said| self.ledger.expect_record(said));
            let mut events = Vec::new();
            self.player.push(line, &mut events);
            check_events(&mut self.ledger, &mut self.projections, &events)?;
        }
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<()> {
        let mut events = Vec::new();
        self.player.finish(&mut events);
        check_events(&mut self.ledger, &mut self.projections, &events)?;
        Ok(self.ledger.finish()?)
    }
}

fn check_events(
    ledger: &mut SessionInvariants,
    projections: &mut [Box<dyn Projection>],
    events: &[Event],
) -> anyhow::Result<()> {
    let mut messages = MessageBuffer::default();
    for event in events {
        ledger.check_event(event)?;
        for projection in &mut *projections {
            projection.project_event(event, &mut messages);
            messages.clear();
        }
    }
    Ok(())
}

fn own_memory_bytes() -> anyhow::Result<u64> {
    let status = fs::read_to_string("/proc/self/status").context("memory is read from /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let Some(kilobytes) = line.and_then(|line| line.trim().strip_suffix(" kB")) else {
        bail!("/proc/self/status does not say VmRSS");
    };
    Ok(kilobytes.parse::<u64>()? << 10)
}
