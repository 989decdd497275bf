//! `fuzz`: mutated recordings through all sources and dialects.

use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use clap::Args;
use parking_lot::Mutex;
use switchboard_agents::{RecordSource, SOURCES};
use switchboard_testkit::{
    check::StreamChecker,
    dice::SeededRng,
    ledger::{IdReuse, InvariantViolation},
    minimise::shrink_stream,
    mutate::{RecordingVocabulary, mutate_stream},
    parallel,
    recording::{Recording, load_recordings},
    repository_root,
};

use super::print_line;

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

pub fn run(args: &FuzzArgs) -> anyhow::Result<()> {
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

pub struct FuzzTarget {
    checker: StreamChecker,
    sources: Vec<&'static RecordSource>,
    recordings: Vec<Recording>,
    words: RecordingVocabulary,
}

/// A stream that violates an invariant.
pub struct FuzzFailure {
    case: u64,
    source: &'static RecordSource,
    stream: Vec<u8>,
    broken: InvariantViolation,
}

impl FuzzTarget {
    pub fn new(source: Option<&str>) -> anyhow::Result<Self> {
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
    pub fn run(&self, seed: u64, time: Duration) -> (u64, Option<FuzzFailure>) {
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
        let mut dice = SeededRng::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(case));
        let Some(recording) = dice.choose(&self.recordings) else { return Ok(()) };
        let stranger = dice.choose(&self.sources).copied().unwrap_or(recording.source);
        let mine = self.sources.iter().any(|source| source.name == recording.source.name);
        let source = if mine && !dice.once_in(8) { recording.source } else { stranger };
        let stream = mutate_stream(&recording.bytes, &self.words, &mut dice);
        let and_again = dice.once_in(4);
        let checked = self.check_stream(source, &stream, &mut dice, and_again);
        checked.map_err(|broken| FuzzFailure { case, source, stream, broken })
    }

    fn check_stream(
        &self,
        source: &RecordSource,
        stream: &[u8],
        dice: &mut SeededRng,
        and_again: bool,
    ) -> Result<(), InvariantViolation> {
        self.checker.check_stream(source, stream, IdReuse::AfterEnd)?;
        if and_again { self.checker.check_replay(source, stream, dice) } else { Ok(()) }
    }

    /// Saves the shortest stream that still fails, and prints how to reproduce it.
    pub fn report_failure(&self, seed: u64, failure: &FuzzFailure) -> anyhow::Result<()> {
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
