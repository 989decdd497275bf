//! What is measured of our server, and the figures.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::{Deserialize, de::DeserializeOwned};

use super::{Serve, peer};
use crate::{
    bench::programs::built,
    isolation::Isolation,
    process::{output, program},
    say,
};

/// How the test kit is started for one program.
pub struct Cases<'a> {
    isolation: Option<&'a Isolation>,
    /// What comes behind `load`.
    before: Vec<String>,
    /// What comes behind the case.
    after: Vec<String>,
}

/// What readers found.
#[derive(Clone, Deserialize)]
pub struct Readers {
    pub messages: u64,
    pub lost: u64,
    pub seconds: f64,
    pub per_second: f64,
    #[serde(default)]
    pub connections: u64,
    pub memory_kb: f64,
    pub memory_peak_kb: f64,
}

/// How long messages took.
#[derive(Clone, Deserialize)]
pub struct Delays {
    pub p50_ms: f64,
    pub p99_ms: f64,
}

/// How soon a server answered.
#[derive(Clone, Deserialize)]
pub struct Starts {
    pub least_ms: f64,
    pub median_ms: f64,
    pub idle_kb: f64,
}

/// How a long session was come back to.
#[derive(Clone, Deserialize)]
pub struct Returns {
    pub memory_kb: f64,
    pub memory_peak_kb: f64,
    pub first_ms: f64,
    pub again_ms: f64,
    pub after_restart_ms: f64,
}

/// What clients that read nothing cost.
#[derive(Clone, Deserialize)]
pub struct Stalled {
    pub added_peak_kb: f64,
}

/// A name, a wire, and what readers found there.
pub type Case = (String, String, Readers);

/// All figures of one run.
#[derive(Default)]
pub struct Figures {
    pub cases: Vec<Case>,
    pub throughput: Option<Readers>,
    pub delays: Option<Delays>,
    pub events_delays: Option<Delays>,
    pub starts: Option<Starts>,
    pub returns: Option<Returns>,
    pub stalled: Option<Stalled>,
    pub peer: Option<peer::Figures>,
}

impl<'a> Cases<'a> {
    /// For our own server.
    pub fn ours(switchboard: &Path, isolation: Option<&'a Isolation>) -> Self {
        let after = vec!["--switchboard".to_owned(), switchboard.display().to_string()];
        Self { isolation, before: Vec::new(), after }
    }

    /// For another.
    pub fn peer(peer: &Path, isolation: &'a Isolation) -> Self {
        let before = ["peer", "--program", &peer.display().to_string()].map(str::to_owned).to_vec();
        Self { isolation: Some(isolation), before, after: Vec::new() }
    }

    /// Measures one thing, and says how.
    pub fn measure<T: DeserializeOwned>(&self, case: &[&str]) -> anyhow::Result<T> {
        let words = std::iter::once("load").chain(self.before.iter().map(String::as_str));
        let words: Vec<_> = words.chain(case.iter().copied()).chain(self.after.iter().map(String::as_str)).collect();
        let testkit: PathBuf = built("switchboard-testkit");
        say(&format!("$ switchboard-testkit {}", words.join(" ")));
        let mut command = match self.isolation {
            Some(isolation) => isolation.program(&testkit, &words),
            None => program(&testkit, &words),
        };
        let said = output(&mut command)?;
        let line = said.lines().last().context("nothing was said")?;
        say(line);
        Ok(serde_json::from_str(line)?)
    }

    /// The best of some runs.
    fn best(&self, case: &[&str], runs: u32) -> anyhow::Result<Readers> {
        let runs: Vec<Readers> = (0..runs.max(1)).map(|_| self.measure(case)).collect::<anyhow::Result<_>>()?;
        runs.into_iter().max_by(|a, b| a.per_second.total_cmp(&b.per_second)).context("never run")
    }
}

/// Everything that was asked for.
pub fn all(args: &Serve, ours: &Cases<'_>, dialect: &str) -> anyhow::Result<Figures> {
    let wanted = |name: &str| name.contains(&args.only);
    let mut figures = Figures::default();
    let deltas = args.deltas.to_string();
    if wanted("throughput") {
        figures.throughput = Some(ours.best(&["readers", "--deltas", &deltas], args.runs)?);
    }
    if wanted("readers") {
        figures.cases = readers(args, ours, dialect)?;
    }
    if wanted("delays") {
        figures.delays = Some(ours.measure(&["delays", "--dialect", dialect])?);
        figures.events_delays = Some(ours.measure(&["delays"])?);
    }
    if wanted("starts") {
        figures.starts = Some(ours.measure(&["starts"])?);
    }
    if wanted("returns") {
        let many = args.many.to_string();
        figures.returns = Some(ours.measure(&["returns", "--deltas", &many, "--dialect", dialect])?);
    }
    if wanted("stalled") {
        let long = args.stalled.to_string();
        figures.stalled = Some(ours.measure(&["stalled", "--readers", "200", "--deltas", &long])?);
    }
    Ok(figures)
}

/// Readers of every manner, over both wires.
fn readers(args: &Serve, ours: &Cases<'_>, dialect: &str) -> anyhow::Result<Vec<Case>> {
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
            rows.push(((*name).to_owned(), wire.to_owned(), ours.measure(&case)?));
        }
    }
    Ok(rows)
}

impl Figures {
    /// The table of readers, those of the peer too.
    pub fn readers(&self) -> Vec<Vec<String>> {
        let peer = self.peer.iter().flat_map(|peer| peer.cases.iter());
        self.cases.iter().chain(peer).map(|(name, wire, readers)| row(name, wire, readers)).collect()
    }
}

fn row(name: &str, wire: &str, readers: &Readers) -> Vec<String> {
    let Readers { messages, lost, seconds, per_second, connections, memory_peak_kb, .. } = readers;
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
