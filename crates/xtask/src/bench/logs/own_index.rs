//! Measurements of Switchboard itself.

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
    corpus::{BenchCorpus, create_empty_directory, directory_bytes, drop_page_cache},
    timed::{RunStatistics, TimedOutput, cpu_seconds, repeat_runs, run_measuring_memory, run_timed},
};
use crate::bench::release_program;
use crate::print_line;
use crate::process::new_command;

const WATCH_TIMEOUT: Duration = Duration::from_secs(20);

const IDLE_WATCH_TIME: Duration = Duration::from_secs(10);

/// Figures that could not be measured are `None`.
#[derive(Default)]
pub struct OwnLogFigures {
    pub first_cold: Option<RunStatistics>,
    pub first: Option<RunStatistics>,
    pub again: Option<RunStatistics>,
    pub grown: Option<RunStatistics>,
    pub rare: Option<RunStatistics>,
    pub rare_cold: Option<RunStatistics>,
    pub common: Option<RunStatistics>,
    pub scan_cold: Option<RunStatistics>,
    pub scan: Option<RunStatistics>,
    pub scan_megabytes: Option<f64>,
    pub index_megabytes: Option<f64>,
    pub watch: Option<RunStatistics>,
    pub watch_percent: Option<f64>,
    pub tokens: Option<u64>,
}

pub struct OwnLogBench<'a> {
    corpus: &'a BenchCorpus,
    times: u32,
    data: PathBuf,
}

impl<'a> OwnLogBench<'a> {
    /// Creates an empty data directory.
    pub fn new(corpus: &'a BenchCorpus, times: u32) -> anyhow::Result<Self> {
        Ok(Self { corpus, times, data: create_empty_directory("data")? })
    }

    /// Measures everything in sequence. Failures are reported and left out.
    pub fn measure_all(&self) -> OwnLogFigures {
        let mut figures = OwnLogFigures::default();
        for (what, part) in [
            ("usage", Self::measure_usage as fn(&Self, &mut OwnLogFigures) -> anyhow::Result<()>),
            ("scan", Self::measure_scan),
            ("search", Self::measure_search),
            ("watch", Self::measure_watch),
        ] {
            if let Err(error) = part(self, &mut figures) {
                print_line(&format!("NOT MEASURED  {what}: {error:#}"));
            }
        }
        figures
    }

    pub fn time_first_usage(&self) -> anyhow::Result<f64> {
        Ok(self.run_usage(&create_empty_directory("fresh")?)?.ms)
    }

    /// Same, with a cold page cache.
    pub fn time_first_usage_cold(&self) -> anyhow::Result<f64> {
        let data = create_empty_directory("fresh")?;
        drop_page_cache();
        Ok(self.run_usage(&data)?.ms)
    }

    fn run_usage(&self, data: &Path) -> anyhow::Result<TimedOutput> {
        run_timed(&mut logs_command(self.corpus, data, &["usage", "--json"]))
    }

    fn measure_usage(&self, figures: &mut OwnLogFigures) -> anyhow::Result<()> {
        if drop_page_cache() {
            figures.first_cold = Some(repeat_runs(2, || self.time_first_usage_cold())?);
        }
        figures.first = Some(repeat_runs(self.times, || self.time_first_usage())?);
        let data = &self.data;
        figures.tokens = Some(sum_tokens(&self.run_usage(data)?.said));
        figures.again = Some(repeat_runs(self.times * 4, || Ok(self.run_usage(data)?.ms))?);
        figures.grown = Some(repeat_runs(self.times, || {
            let grown = self.corpus.append_line()?;
            let ms = self.run_usage(data)?.ms;
            drop(grown);
            // The removal of the line is indexed too, but not measured.
            self.run_usage(data)?;
            Ok(ms)
        })?);
        Ok(())
    }

    fn measure_scan(&self, figures: &mut OwnLogFigures) -> anyhow::Result<()> {
        let scan = |data: &Path| run_measuring_memory(&mut logs_command(self.corpus, data, &["scan"]));
        if drop_page_cache() {
            figures.scan_cold = Some(repeat_runs(2, || {
                let data = create_empty_directory("fresh")?;
                drop_page_cache();
                Ok(scan(&data)?.0)
            })?);
        }
        let mut peak = 0_f64;
        figures.scan = Some(repeat_runs(self.times, || {
            let data = create_empty_directory("fresh")?;
            let (ms, megabytes) = scan(&data)?;
            peak = peak.max(megabytes);
            Ok(ms)
        })?);
        figures.scan_megabytes = Some(peak);
        figures.index_megabytes = Some(bytes_to_megabytes(directory_bytes(
            &create_empty_directory("fresh").and_then(|data| scan(&data).map(|_| data))?,
        )));
        scan(&self.data)?;
        Ok(())
    }

    fn measure_search(&self, figures: &mut OwnLogFigures) -> anyhow::Result<()> {
        let truth = &self.corpus.truth;
        let needle = truth.rare.first().context("no rare word")?;
        let search = |word: &str| run_timed(&mut logs_command(self.corpus, &self.data, &["search", "--json", word]));
        ensure!(search(&needle.word)?.said.contains(&needle.session), "{} is not found", needle.word);
        figures.rare = Some(repeat_runs(self.times * 4, || Ok(search(&needle.word)?.ms))?);
        figures.common = Some(repeat_runs(self.times * 2, || Ok(search(&truth.common)?.ms))?);
        if drop_page_cache() {
            figures.rare_cold = Some(repeat_runs(2, || {
                drop_page_cache();
                Ok(search(&needle.word)?.ms)
            })?);
        }
        Ok(())
    }

    fn measure_watch(&self, figures: &mut OwnLogFigures) -> anyhow::Result<()> {
        let mut watcher = LogWatchProcess::start(&mut logs_command(self.corpus, &self.data, &["watch", "--json"]))?;
        // Once a line arrives, the watcher has read the existing logs.
        let first = self.corpus.append_line()?;
        watcher.wait_for_word(&self.corpus.truth.growth.session)?;
        drop(first);
        watcher.wait_until_quiet();
        let before = cpu_seconds(&watcher.child)?;
        thread::sleep(IDLE_WATCH_TIME);
        figures.watch_percent = Some((cpu_seconds(&watcher.child)? - before) / IDLE_WATCH_TIME.as_secs_f64() * 100.0);
        figures.watch = Some(repeat_runs(self.times * 2, || {
            watcher.wait_until_quiet();
            let began = Instant::now();
            let grown = self.corpus.append_line()?;
            watcher.wait_for_word(&self.corpus.truth.growth.session)?;
            let ms = began.elapsed().as_secs_f64() * 1e3;
            drop(grown);
            Ok(ms)
        })?);
        Ok(())
    }
}

/// Returns a `switchboard logs` command on the corpus.
pub fn logs_command(corpus: &BenchCorpus, data: &Path, args: &[&str]) -> Command {
    let mut command = new_command(release_program("switchboard"), &["logs"]);
    command.args(args).arg("--home").arg(&corpus.home).arg("--data").arg(data);
    command
}

/// Returns the sum of all rows.
pub fn sum_tokens(said: &str) -> u64 {
    let row = |line: &str| serde_json::from_str::<Value>(line).ok()?["totalTokens"].as_u64();
    said.lines().filter_map(row).sum()
}

struct LogWatchProcess {
    child: Child,
    lines: Receiver<String>,
}

impl LogWatchProcess {
    fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let (send, lines) = channel();
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        let watcher = Self { child, lines };
        // Existing sessions are reported at once.
        watcher.wait_until_quiet();
        Ok(watcher)
    }

    /// Waits until no more lines arrive.
    fn wait_until_quiet(&self) {
        while self.lines.recv_timeout(Duration::from_millis(1_500)).is_ok() {}
    }

    fn wait_for_word(&mut self, word: &str) -> anyhow::Result<()> {
        let until = Instant::now() + WATCH_TIMEOUT;
        while let Ok(line) = self.lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            if line.contains(word) {
                return Ok(());
            }
        }
        bail!("the appended line was not shown in {} s", WATCH_TIMEOUT.as_secs())
    }
}

impl Drop for LogWatchProcess {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown in a table")]
fn bytes_to_megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
