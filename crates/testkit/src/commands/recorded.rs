//! `recorded`: the messages of all recordings in a dialect.

use std::io::{self, BufWriter, Write as _};

use anyhow::Context as _;
use clap::Args;
use switchboard_dialects::find_dialect;
use switchboard_testkit::{parallel, play, recording::load_recordings};

/// Write all messages that the recordings become in a dialect, one a line
#[derive(Args)]
pub struct RecordedMessagesArgs {
    /// The dialect
    dialect: String,
}

pub fn write_recorded_messages(args: &RecordedMessagesArgs) -> anyhow::Result<()> {
    let dialect = find_dialect(&args.dialect).with_context(|| format!("no dialect {}", args.dialect))?;
    let recorded = parallel::map(&load_recordings()?, |recording| {
        let events = play::stream_events(recording.source, &recording.bytes);
        play::project_messages(&mut *(dialect.projection)(), &events)
    });
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    for message in recorded.iter().flatten() {
        out.write_all(message)?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}
