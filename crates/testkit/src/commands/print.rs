//! `stream`: a long stream of one source on standard output.

use std::{
    io::{self, BufWriter, Write as _},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::Args;
use serde_json::json;
use switchboard_dialects::{DIALECTS, find_dialect};
use switchboard_testkit::{
    corpus::{self, CorpusOptions},
    generate, parallel, play,
    recording::load_recordings,
};

use super::print_line;

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

/// Print the sources that have recordings, and the dialects, as JSON
#[derive(Args)]
pub struct SourceListArgs {}

pub fn list_sources(_: &SourceListArgs) -> anyhow::Result<()> {
    let mut sources: Vec<_> = load_recordings()?.iter().map(|recording| recording.source.name).collect();
    sources.dedup();
    let dialects: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name).collect();
    print_line(&json!({ "sources": sources, "dialects": dialects }).to_string());
    Ok(())
}

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

/// Write logs of agents with a known truth: the home `home` and `truth.json`
#[derive(Args)]
pub struct CorpusArgs {
    /// Where to
    folder: PathBuf,
    /// How many megabytes
    #[arg(long, default_value_t = 500)]
    size: u64,
    /// About how many files
    #[arg(long, default_value_t = 300)]
    files: usize,
    /// How many different words
    #[arg(long, default_value_t = 1_100_000)]
    words: usize,
    /// Chance; the same seed writes the same corpus
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn write_corpus(args: &CorpusArgs) -> anyhow::Result<()> {
    let CorpusArgs { folder, size, files, words, seed } = args;
    let truth = corpus::write_corpus(
        folder,
        &CorpusOptions { seed: *seed, bytes: size * 1_000_000, files: *files, words: *words },
    )?;
    print_line(&format!(
        "corpus: {} MB in {} files, {} replies, {} tokens",
        truth.bytes / 1_000_000,
        truth.files,
        truth.all.replies,
        truth.all.total_tokens()
    ));
    Ok(())
}
