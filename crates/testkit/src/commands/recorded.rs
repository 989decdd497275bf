//! `recorded`: what all recordings become in a dialect.

use std::io::{self, BufWriter, Write as _};

use anyhow::Context as _;
use clap::Args;
use switchboard_dialects::dialect;
use switchboard_testkit::{parallel, play, recording::recordings};

/// Write all messages that the recordings become in a dialect, one a line
#[derive(Args)]
pub struct Recorded {
    /// The dialect
    dialect: String,
}

/// Runs the command.
pub fn run(args: &Recorded) -> anyhow::Result<()> {
    let dialect = dialect(&args.dialect).with_context(|| format!("no dialect {}", args.dialect))?;
    let recorded = parallel::map(&recordings()?, |recording| {
        let events = play::events(recording.source, &recording.bytes);
        play::messages(&mut *(dialect.projection)(), &events)
    });
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    for message in recorded.iter().flatten() {
        out.write_all(message)?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}
