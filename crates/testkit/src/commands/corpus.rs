//! `corpus`: writes logs with known totals.

use std::path::PathBuf;

use clap::Args;
use switchboard_testkit::corpus::{self, CorpusOptions};

use super::print_line;

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
