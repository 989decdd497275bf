//! Measurements of the server, and their figures.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, de::DeserializeOwned};

use super::{ServeBench, peer};
use crate::bench::release_program;
use crate::print_line;
use crate::process::{new_command, read_output};
use crate::tools::NetworkIsolation;

/// Starts the test kit for one program.
pub struct LoadCaseRunner<'a> {
    isolation: Option<&'a NetworkIsolation>,
    /// Arguments after `load`.
    before: Vec<String>,
    /// Arguments after the case.
    after: Vec<String>,
}

#[derive(Clone, Deserialize)]
pub struct ReaderFigures {
    pub messages: u64,
    pub lost: u64,
    pub seconds: f64,
    pub per_second: f64,
    #[serde(default)]
    pub connections: u64,
    pub memory_kb: f64,
    pub memory_peak_kb: f64,
}

#[derive(Clone, Deserialize)]
pub struct DelayFigures {
    pub p50_ms: f64,
    pub p99_ms: f64,
}

#[derive(Clone, Deserialize)]
pub struct StartFigures {
    pub least_ms: f64,
    pub median_ms: f64,
    pub idle_kb: f64,
}

/// Figures of returning to a long session.
#[derive(Clone, Deserialize)]
pub struct ReturnFigures {
    pub memory_kb: f64,
    pub memory_peak_kb: f64,
    pub first_ms: f64,
    pub again_ms: f64,
    pub after_restart_ms: f64,
}

/// Figures of clients that read nothing.
#[derive(Clone, Deserialize)]
pub struct StalledFigures {
    pub added_peak_kb: f64,
}

/// Name, transport and figures.
pub type ReaderCase = (String, String, ReaderFigures);

#[derive(Default)]
pub struct ServeFigures {
    pub cases: Vec<ReaderCase>,
    pub throughput: Option<ReaderFigures>,
    pub delays: Option<DelayFigures>,
    pub events_delays: Option<DelayFigures>,
    pub starts: Option<StartFigures>,
    pub returns: Option<ReturnFigures>,
    pub stalled: Option<StalledFigures>,
    pub peer: Option<peer::PeerServerFigures>,
}

impl<'a> LoadCaseRunner<'a> {
    pub fn for_switchboard(switchboard: &Path, isolation: Option<&'a NetworkIsolation>) -> Self {
        let after = vec!["--switchboard".to_owned(), switchboard.display().to_string()];
        Self { isolation, before: Vec::new(), after }
    }

    pub fn for_peer(peer: &Path, isolation: &'a NetworkIsolation) -> Self {
        let before = ["peer", "--program", &peer.display().to_string()].map(str::to_owned).to_vec();
        Self { isolation: Some(isolation), before, after: Vec::new() }
    }

    /// Runs one case and prints its command.
    pub fn measure_case<T: DeserializeOwned>(&self, case: &[&str]) -> anyhow::Result<T> {
        let words = std::iter::once("load").chain(self.before.iter().map(String::as_str));
        let words: Vec<_> = words.chain(case.iter().copied()).chain(self.after.iter().map(String::as_str)).collect();
        let testkit: PathBuf = release_program("switchboard-testkit");
        print_line(&format!("$ switchboard-testkit {}", words.join(" ")));
        let mut command = match self.isolation {
            Some(isolation) => isolation.isolated_command(&testkit, &words),
            None => new_command(&testkit, &words),
        };
        let said = read_output(&mut command)?;
        let line = said.lines().last().context("nothing was said")?;
        print_line(line);
        Ok(serde_json::from_str(line)?)
    }

    fn best_of_runs(&self, case: &[&str], runs: u32) -> anyhow::Result<ReaderFigures> {
        let runs: Vec<ReaderFigures> =
            (0..runs.max(1)).map(|_| self.measure_case(case)).collect::<anyhow::Result<_>>()?;
        runs.into_iter().max_by(|a, b| a.per_second.total_cmp(&b.per_second)).context("never run")
    }
}

/// Measures all selected cases.
pub fn measure_all(args: &ServeBench, ours: &LoadCaseRunner<'_>, dialect: &str) -> anyhow::Result<ServeFigures> {
    let wanted = |name: &str| name.contains(&args.only);
    let mut figures = ServeFigures::default();
    let deltas = args.deltas.to_string();
    if wanted("throughput") {
        figures.throughput = Some(ours.best_of_runs(&["readers", "--deltas", &deltas], args.runs)?);
    }
    if wanted("readers") {
        figures.cases = measure_readers(args, ours, dialect)?;
    }
    if wanted("delays") {
        figures.delays = Some(ours.measure_case(&["delays", "--dialect", dialect])?);
        figures.events_delays = Some(ours.measure_case(&["delays"])?);
    }
    if wanted("starts") {
        figures.starts = Some(ours.measure_case(&["starts"])?);
    }
    if wanted("returns") {
        let many = args.many.to_string();
        figures.returns = Some(ours.measure_case(&["returns", "--deltas", &many, "--dialect", dialect])?);
    }
    if wanted("stalled") {
        let long = args.stalled.to_string();
        figures.stalled = Some(ours.measure_case(&["stalled", "--readers", "200", "--deltas", &long])?);
    }
    Ok(figures)
}

/// Readers of every behavior, over both transports.
fn measure_readers(args: &ServeBench, ours: &LoadCaseRunner<'_>, dialect: &str) -> anyhow::Result<Vec<ReaderCase>> {
    let (deltas, many) = (args.deltas.to_string(), args.readers.to_string());
    let crowd = format!("{many} readers");
    let cases: [(&str, Vec<&str>); 6] = [
        ("1 reader", vec![]),
        (&crowd, vec!["--readers", &many]),
        ("3 s late", vec!["--late", "3"]),
        ("100 a second, then fast", vec!["--slow", "100"]),
        ("reconnects every 1,000", vec!["--hop", "1000"]),
        ("the same in another dialect", vec!["--hop", "1000", "--dialect", dialect]),
    ];
    let mut rows = Vec::new();
    for wire in ["ws", "sse"] {
        for (name, options) in &cases {
            let case = [&["readers", "--deltas", &deltas, "--wire", wire], options.as_slice()].concat();
            rows.push(((*name).to_owned(), wire.to_owned(), ours.measure_case(&case)?));
        }
    }
    Ok(rows)
}

impl ServeFigures {
    /// Returns the table of readers, including those of the peer.
    pub fn reader_rows(&self) -> Vec<Vec<String>> {
        let peer = self.peer.iter().flat_map(|peer| peer.cases.iter());
        self.cases.iter().chain(peer).map(|(name, wire, readers)| reader_row(name, wire, readers)).collect()
    }
}

fn reader_row(name: &str, wire: &str, readers: &ReaderFigures) -> Vec<String> {
    let ReaderFigures { messages, lost, seconds, per_second, connections, memory_peak_kb, .. } = readers;
    let (seconds, rate) = (format!("{seconds:.2}"), format!("{per_second:.0}"));
    let megabytes = format!("{:.0}", memory_peak_kb / 1024.0);
    vec![
        name.to_owned(),
        wire.to_owned(),
        messages.to_string(),
        lost.to_string(),
        connections.to_string(),
        seconds,
        rate,
        megabytes,
    ]
}
