//! `corpus`: writes logs with a known truth.

use std::path::PathBuf;

use clap::Args;
use switchboard_testkit::corpus::{self, Wanted};

use super::say;

/// Write logs of agents with a known truth: the home `home` and `truth.json`
#[derive(Args)]
pub struct Corpus {
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

/// Runs the command.
pub fn run(args: &Corpus) -> anyhow::Result<()> {
    let Corpus { folder, size, files, words, seed } = args;
    let truth = corpus::write(folder, &Wanted { seed: *seed, bytes: size * 1_000_000, files: *files, words: *words })?;
    say(&format!(
        "corpus: {} MB in {} files, {} replies, {} tokens",
        truth.bytes / 1_000_000,
        truth.files,
        truth.all.replies,
        truth.all.total()
    ));
    Ok(())
}
