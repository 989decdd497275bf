//! `list`: available sources and dialects, as JSON.

use clap::Args;
use serde_json::json;
use switchboard_dialects::DIALECTS;
use switchboard_testkit::recording::load_recordings;

use super::print_line;

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
