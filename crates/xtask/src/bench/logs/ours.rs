//! What Switchboard takes for each.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use super::{
    corpus::{Corpus, forget, new_folder, size},
    timed::{Runs, Timed, processor, runs, timed, weighed},
};
use crate::{bench::programs::built, process::program, say};

/// How long a watcher may take to show something before it is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long it is watched while nothing happens.
const IDLE: Duration = Duration::from_secs(10);

/// What was measured. What could not be is not there.
#[derive(Default)]
pub struct Figures {
    pub first_cold: Option<Runs>,
    pub first: Option<Runs>,
    pub again: Option<Runs>,
    pub grown: Option<Runs>,
    pub rare: Option<Runs>,
    pub rare_cold: Option<Runs>,
    pub common: Option<Runs>,
    pub scan_cold: Option<Runs>,
    pub scan: Option<Runs>,
    pub scan_megabytes: Option<f64>,
    pub index_megabytes: Option<f64>,
    pub watch: Option<Runs>,
    pub watch_percent: Option<f64>,
    pub tokens: Option<u64>,
}

/// Our program on a corpus.
pub struct Ours<'a> {
    corpus: &'a Corpus,
    times: u32,
    data: PathBuf,
}

impl<'a> Ours<'a> {
    /// Nothing is indexed yet.
    pub fn new(corpus: &'a Corpus, times: u32) -> anyhow::Result<Self> {
        Ok(Self { corpus, times, data: new_folder("data")? })
    }

    /// Everything, one after the other. What fails is said and left out.
    pub fn measure(&self) -> Figures {
        let mut figures = Figures::default();
        for (what, part) in [
            ("usage", Self::usage as fn(&Self, &mut Figures) -> anyhow::Result<()>),
            ("scan", Self::scan),
            ("search", Self::search),
            ("watch", Self::watch),
        ] {
            if let Err(error) = part(self, &mut figures) {
                say(&format!("NOT MEASURED  {what}: {error:#}"));
            }
        }
        figures
    }

    /// `usage` for the first time.
    pub fn first(&self) -> anyhow::Result<f64> {
        Ok(self.counted(&new_folder("fresh")?)?.ms)
    }

    /// The same with nothing in memory.
    pub fn first_cold(&self) -> anyhow::Result<f64> {
        let data = new_folder("fresh")?;
        forget();
        Ok(self.counted(&data)?.ms)
    }

    fn counted(&self, data: &Path) -> anyhow::Result<Timed> {
        timed(&mut logs(self.corpus, data, &["usage", "--json"]))
    }

    fn usage(&self, figures: &mut Figures) -> anyhow::Result<()> {
        if forget() {
            figures.first_cold = Some(runs(2, || self.first_cold())?);
        }
        figures.first = Some(runs(self.times, || self.first())?);
        let data = &self.data;
        figures.tokens = Some(total(&self.counted(data)?.said));
        figures.again = Some(runs(self.times * 4, || Ok(self.counted(data)?.ms))?);
        figures.grown = Some(runs(self.times, || {
            let grown = self.corpus.grow()?;
            let ms = self.counted(data)?.ms;
            drop(grown);
            // What was taken back is looked at too, and not measured.
            self.counted(data)?;
            Ok(ms)
        })?);
        Ok(())
    }

    fn scan(&self, figures: &mut Figures) -> anyhow::Result<()> {
        let scan = |data: &Path| weighed(&mut logs(self.corpus, data, &["scan"]));
        if forget() {
            figures.scan_cold = Some(runs(2, || {
                let data = new_folder("fresh")?;
                forget();
                Ok(scan(&data)?.0)
            })?);
        }
        let mut peak = 0_f64;
        figures.scan = Some(runs(self.times, || {
            let data = new_folder("fresh")?;
            let (ms, megabytes) = scan(&data)?;
            peak = peak.max(megabytes);
            Ok(ms)
        })?);
        figures.scan_megabytes = Some(peak);
        figures.index_megabytes =
            Some(megabytes(size(&new_folder("fresh").and_then(|data| scan(&data).map(|_| data))?)));
        scan(&self.data)?;
        Ok(())
    }

    fn search(&self, figures: &mut Figures) -> anyhow::Result<()> {
        let truth = &self.corpus.truth;
        let needle = truth.rare.first().context("no rare word")?;
        let search = |word: &str| timed(&mut logs(self.corpus, &self.data, &["search", "--json", word]));
        ensure!(search(&needle.word)?.said.contains(&needle.session), "{} is not found", needle.word);
        figures.rare = Some(runs(self.times * 4, || Ok(search(&needle.word)?.ms))?);
        figures.common = Some(runs(self.times * 2, || Ok(search(&truth.common)?.ms))?);
        if forget() {
            figures.rare_cold = Some(runs(2, || {
                forget();
                Ok(search(&needle.word)?.ms)
            })?);
        }
        Ok(())
    }

    fn watch(&self, figures: &mut Figures) -> anyhow::Result<()> {
        let mut watcher = Watcher::start(&mut logs(self.corpus, &self.data, &["watch", "--json"]))?;
        // It has seen what there is when a line comes through.
        let first = self.corpus.grow()?;
        watcher.wait_for(&self.corpus.truth.growth.session)?;
        drop(first);
        watcher.quiet();
        let before = processor(&watcher.child)?;
        thread::sleep(IDLE);
        figures.watch_percent = Some((processor(&watcher.child)? - before) / IDLE.as_secs_f64() * 100.0);
        figures.watch = Some(runs(self.times * 2, || {
            watcher.quiet();
            let began = Instant::now();
            let grown = self.corpus.grow()?;
            watcher.wait_for(&self.corpus.truth.growth.session)?;
            let ms = began.elapsed().as_secs_f64() * 1e3;
            drop(grown);
            Ok(ms)
        })?);
        Ok(())
    }
}

/// A command of ours on the corpus.
pub fn logs(corpus: &Corpus, data: &Path, args: &[&str]) -> Command {
    let mut command = program(built("switchboard"), &["logs"]);
    command.args(args).arg("--home").arg(&corpus.home).arg("--data").arg(data);
    command
}

/// The sum of all rows.
pub fn total(said: &str) -> u64 {
    let row = |line: &str| serde_json::from_str::<Value>(line).ok()?["totalTokens"].as_u64();
    said.lines().filter_map(row).sum()
}

/// A program that tells what happens.
struct Watcher {
    child: Child,
    lines: Receiver<String>,
}

impl Watcher {
    fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let (send, lines) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        let watcher = Self { child, lines };
        // Whatever is there is told of at once; after that it waits.
        watcher.quiet();
        Ok(watcher)
    }

    /// Waits until nothing more comes.
    fn quiet(&self) {
        while self.lines.recv_timeout(Duration::from_millis(1_500)).is_ok() {}
    }

    fn wait_for(&mut self, word: &str) -> anyhow::Result<()> {
        let until = Instant::now() + PATIENCE;
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            if line.contains(word) {
                return Ok(());
            }
        }
        bail!("the appended line was not shown in {} s", PATIENCE.as_secs())
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown in a table")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
