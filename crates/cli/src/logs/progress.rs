//! How far the index is, on a terminal and only where it takes long: bytes, rate and the time that is left.

use std::{
    io::{self, IsTerminal as _},
    sync::OnceLock,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use switchboard_logs::ScanProgress;

/// What takes less long needs no bar.
const LONG: Duration = Duration::from_millis(300);

/// So often a second it is drawn.
const RATE: u8 = 10;

/// No colours: it goes away when the work is done.
const LOOK: &str = "indexing logs {wide_bar} {bytes} of {total_bytes} · {bytes_per_sec} · {eta} left";

/// A bar on standard error that comes when work takes long, and goes when it is over.
pub struct Bar {
    began: Instant,
    seen: bool,
    bar: OnceLock<ProgressBar>,
}

impl Bar {
    /// Nothing is shown yet.
    pub fn new() -> Self {
        Self { began: Instant::now(), seen: io::stderr().is_terminal(), bar: OnceLock::new() }
    }

    /// Shows how far it is. Several threads may say so at once.
    pub fn show(&self, at: ScanProgress) {
        if !self.seen || self.began.elapsed() < LONG {
            return;
        }
        let bar = self.bar.get_or_init(|| drawn(at.of_bytes, self.began));
        bar.set_length(at.of_bytes);
        bar.set_position(at.bytes);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

fn drawn(bytes: u64, began: Instant) -> ProgressBar {
    let look = ProgressStyle::with_template(LOOK).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr_with_hz(RATE))
        .with_style(look.progress_chars("━╸─"))
        .with_elapsed(began.elapsed())
}
