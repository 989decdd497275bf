//! `stream`: a long stream of one source on standard output.

use std::io::{self, BufWriter, Write as _};

use anyhow::Context as _;
use clap::Args;
use switchboard_testkit::{generate, recording::load_recordings};

/// Write a long stream of one source, made of its recordings
#[derive(Args)]
pub struct GenerateStreamArgs {
    /// The source
    source: String,
    /// How many megabytes
    #[arg(long, default_value_t = 64)]
    size: u64,
    /// Only of recordings with this in their name
    #[arg(long, default_value = "")]
    recording: String,
    /// One line of that size instead of many lines
    #[arg(long)]
    one_line: bool,
}

pub fn write_stream(args: &GenerateStreamArgs) -> anyhow::Result<()> {
    let source = switchboard_agents::find_source(&args.source).with_context(|| format!("no source {}", args.source))?;
    let mut recordings = load_recordings()?;
    recordings.retain(|recording| recording.name.contains(&args.recording));
    let stream = generate::EndlessStream::new(source, &recordings);
    let mut stream = stream.with_context(|| format!("there are no such recordings of {}", args.source))?;
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let size = args.size * 1_000_000;
    if args.one_line {
        out.write_all(&stream.long_line(usize::try_from(size)?))?;
    } else {
        stream.write(size, &mut out)?;
    }
    Ok(out.flush()?)
}
