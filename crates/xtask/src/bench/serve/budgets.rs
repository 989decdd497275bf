//! What the server must keep to, and how far it does.

use super::cases::{Case, Delays, Figures, Readers, Starts};

/// One budget.
pub struct Row {
    /// What is measured.
    pub what: &'static str,
    unit: &'static str,
    ours: Option<f64>,
    limit: Limit,
    peer: Option<f64>,
}

/// What is good.
#[derive(Clone, Copy)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Row {
    /// The budget is kept, or nothing was measured.
    pub fn is_kept(&self) -> bool {
        self.ours.is_none_or(|ours| match self.limit {
            Limit::AtMost(most) => ours <= most,
            Limit::AtLeast(least) => ours >= least,
        })
    }

    /// How it is shown. The ratio is above 1 where we are better.
    pub fn cells(&self) -> Vec<String> {
        let shown = |figure: Option<f64>| figure.map_or_else(|| "–".to_owned(), number);
        let (sign, limit) = match self.limit {
            Limit::AtMost(limit) => ("≤", limit),
            Limit::AtLeast(limit) => ("≥", limit),
        };
        let ratio = self.ours.zip(self.peer).map(|(ours, peer)| match self.limit {
            Limit::AtMost(_) => peer / ours,
            Limit::AtLeast(_) => ours / peer,
        });
        let mark = if self.is_kept() { "" } else { " !" };
        let ours = format!("{}{mark}", shown(self.ours));
        let ratio =
            ratio.filter(|ratio| ratio.is_finite()).map_or_else(|| "–".to_owned(), |ratio| format!("{ratio:.1}×"));
        vec![
            self.what.to_owned(),
            self.unit.to_owned(),
            ours,
            if limit.is_finite() { format!("{sign} {}", number(limit)) } else { "–".to_owned() },
            shown(self.peer),
            ratio,
        ]
    }
}

fn number(figure: f64) -> String {
    if figure >= 1_000.0 {
        format!("{figure:.0}")
    } else if figure >= 10.0 {
        format!("{figure:.1}")
    } else {
        format!("{figure:.2}")
    }
}

/// All budgets.
pub fn rows(figures: &Figures) -> Vec<Row> {
    [speed(figures), delays(figures), starts(figures), memory(figures), returns(figures)]
        .into_iter()
        .flatten()
        .collect()
}

/// Figures that must not be above a limit.
fn at_most(what: &'static str, unit: &'static str, ours: Option<f64>, limit: f64, peer: Option<f64>) -> Row {
    Row { what, unit, ours, limit: Limit::AtMost(limit), peer }
}

fn speed(figures: &Figures) -> Vec<Row> {
    let lost =
        |cases: &[Case]| (!cases.is_empty()).then(|| cases.iter().map(|(_, _, readers)| count(readers.lost)).sum());
    let peer = figures.peer.as_ref();
    let rate = |readers: &Option<Readers>| readers.as_ref().map(|readers| readers.per_second);
    vec![
        at_most("messages lost by all readers", "", lost(&figures.cases), 0.0, peer.and_then(|peer| lost(&peer.cases))),
        Row {
            what: "throughput, one reader",
            unit: "events/s",
            ours: rate(&figures.throughput),
            limit: Limit::AtLeast(200_000.0),
            peer: peer.and_then(|peer| rate(&peer.throughput)),
        },
    ]
}

fn delays(figures: &Figures) -> Vec<Row> {
    let peer = figures.peer.as_ref().and_then(|peer| peer.delays.as_ref());
    let (other, events) = (figures.delays.as_ref(), figures.events_delays.as_ref());
    let (half, most) = (|delays: &Delays| delays.p50_ms, |delays: &Delays| delays.p99_ms);
    vec![
        at_most("latency p50", "ms", other.map(half), 0.3, peer.map(half)),
        at_most("latency p99", "ms", other.map(most), 2.0, peer.map(most)),
        at_most("latency p50, events as they are", "ms", events.map(half), 0.3, peer.map(half)),
        at_most("latency p99, events as they are", "ms", events.map(most), 2.0, peer.map(most)),
    ]
}

fn starts(figures: &Figures) -> Vec<Row> {
    let (ours, peer) = (figures.starts.as_ref(), figures.peer.as_ref().and_then(|peer| peer.starts.as_ref()));
    let (least, median) = (|starts: &Starts| starts.least_ms, |starts: &Starts| starts.median_ms);
    let idle = |starts: &Starts| megabytes(starts.idle_kb);
    vec![
        at_most("start to first answer, least", "ms", ours.map(least), 50.0, peer.map(least)),
        at_most("start to first answer, median", "ms", ours.map(median), 50.0, peer.map(median)),
        at_most("memory, idle", "MB", ours.map(idle), 20.0, peer.map(idle)),
    ]
}

fn memory(figures: &Figures) -> Vec<Row> {
    let ours = figures.returns.as_ref();
    let peer = figures.peer.as_ref().and_then(|peer| peer.many.as_ref());
    let stalled = figures.stalled.as_ref().map(|it| megabytes(it.added_peak_kb));
    let (now, then) = (ours.map(|it| megabytes(it.memory_kb)), ours.map(|it| megabytes(it.memory_peak_kb)));
    vec![
        at_most("memory after the long session", "MB", now, 60.0, peer.map(|it| megabytes(it.memory_kb))),
        at_most("most memory in the long session", "MB", then, 60.0, peer.map(|it| megabytes(it.memory_peak_kb))),
        at_most("memory for 200 stalled readers", "MB", stalled, 100.0, None),
    ]
}

/// The peer forgets all but the last messages, so nobody can come back to it.
fn returns(figures: &Figures) -> Vec<Row> {
    let ours = figures.returns.as_ref();
    vec![
        at_most("back at its end, first message", "ms", ours.map(|returns| returns.again_ms), 50.0, None),
        // Nobody has read it in this dialect before, so all of it is projected once; there is no budget for that.
        at_most("the very first time", "ms", ours.map(|returns| returns.first_ms), f64::INFINITY, None),
        at_most("the same after a restart", "ms", ours.map(|returns| returns.after_restart_ms), 50.0, None),
    ]
}

fn megabytes(kilobytes: f64) -> f64 {
    kilobytes / 1024.0
}

#[expect(clippy::cast_precision_loss, reason = "shown in a table")]
fn count(number: u64) -> f64 {
    number as f64
}
