//! `fuzz`: spoiled recordings through all sources and dialects, for a while.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use clap::Args;
use switchboard_agents::{SOURCES, Source};
use switchboard_testkit::{
    check::Checker,
    dice::Dice,
    ledger::{Broken, Reuse},
    minimise::minimise,
    mutate::{Vocabulary, mutate},
    parallel,
    recording::{Recording, recordings},
    repository,
};

use super::say;

/// Spoil recordings in random ways and check that everything still holds
#[derive(Args)]
pub struct Fuzz {
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

/// Runs the command.
pub fn run(args: &Fuzz) -> anyhow::Result<()> {
    let target = Target::new(args.source.as_deref())?;
    if let Some(input) = &args.input {
        let bytes = fs::read(input).with_context(|| format!("cannot read {}", input.display()))?;
        let source = target.sources.first().context("no source")?;
        return Ok(target.check(source, &bytes, &mut Dice::new(0), true)?);
    }
    // Any seed will do: this one differs from run to run.
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let (tried, failure) = target.run(seed, Duration::from_secs(args.seconds));
    match failure {
        None => {
            say(&format!("fuzz: {tried} streams from seed {seed}, nothing broke"));
            Ok(())
        }
        Some(failure) => target.report(seed, &failure),
    }
}

/// What is fuzzed.
pub struct Target {
    checker: Checker,
    sources: Vec<&'static Source>,
    recordings: Vec<Recording>,
    words: Vocabulary,
}

/// A stream that broke a rule.
pub struct Failure {
    case: u64,
    source: &'static Source,
    stream: Vec<u8>,
    broken: Broken,
}

impl Target {
    /// All sources, or one.
    pub fn new(source: Option<&str>) -> anyhow::Result<Self> {
        let all = SOURCES.iter().copied().flatten();
        let sources: Vec<_> = all.filter(|s| source.is_none_or(|name| s.name == name)).collect();
        if sources.is_empty() {
            bail!("no source {}", source.unwrap_or_default());
        }
        let recordings = recordings()?;
        let words = Vocabulary::of(&recordings);
        Ok(Self { checker: Checker::new()?, sources, recordings, words })
    }

    /// Tries streams on all cores until the time is over or something breaks; says how many.
    pub fn run(&self, seed: u64, time: Duration) -> (u64, Option<Failure>) {
        let end = Instant::now() + time;
        let (next, stop, failure) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::new(None));
        let worker = || {
            while Instant::now() < end && !stop.load(Ordering::Relaxed) {
                if let Err(found) = self.try_one(seed, next.fetch_add(1, Ordering::Relaxed)) {
                    stop.store(true, Ordering::Relaxed);
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
                }
            }
        };
        thread::scope(|scope| (0..parallel::cores()).for_each(|_| drop(scope.spawn(worker))));
        (next.into_inner(), failure.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// One stream. Mostly through the reader that it is for; now and then through another.
    fn try_one(&self, seed: u64, case: u64) -> Result<(), Failure> {
        let mut dice = Dice::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(case));
        let Some(recording) = dice.pick(&self.recordings) else { return Ok(()) };
        let stranger = dice.pick(&self.sources).copied().unwrap_or(recording.source);
        let mine = self.sources.iter().any(|source| source.name == recording.source.name);
        let source = if mine && !dice.once_in(8) { recording.source } else { stranger };
        let stream = mutate(&recording.bytes, &self.words, &mut dice);
        let and_again = dice.once_in(4);
        let checked = self.check(source, &stream, &mut dice, and_again);
        checked.map_err(|broken| Failure { case, source, stream, broken })
    }

    fn check(&self, source: &Source, stream: &[u8], dice: &mut Dice, and_again: bool) -> Result<(), Broken> {
        self.checker.stream(source, stream, Reuse::AfterEnd)?;
        if and_again { self.checker.replay(source, stream, dice) } else { Ok(()) }
    }

    /// Saves the shortest stream that still fails, and says how to try it again.
    pub fn report(&self, seed: u64, failure: &Failure) -> anyhow::Result<()> {
        let Failure { case, source, stream, broken } = failure;
        let fails = |stream: &[u8]| {
            let again = self.check(source, stream, &mut Dice::new(0), true);
            again.is_err_and(|again| again.rule == broken.rule)
        };
        let short = minimise(stream, fails);
        let folder = repository().join("target/fuzz");
        fs::create_dir_all(&folder)?;
        let file = folder.join(format!("{}-{seed}-{case}.jsonl", source.name.replace(':', "-")));
        fs::write(&file, short)?;
        let file = file.canonicalize()?;
        say(&format!("fuzz: {} from seed {seed}, case {case}\n  {broken}", source.name));
        say(&format!("  the stream: {}", file.display()));
        say(&format!("  again: cargo xtask fuzz --source {} --input {}", source.name, file.display()));
        bail!("a rule is broken: {}", broken.rule)
    }
}
