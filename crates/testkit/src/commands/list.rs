//! `list`: what there is to translate from and to, as JSON.

use clap::Args;
use serde_json::json;
use switchboard_dialects::DIALECTS;
use switchboard_testkit::recording::recordings;

use super::say;

/// Print the sources that have recordings, and the dialects, as JSON
#[derive(Args)]
pub struct List {}

/// Runs the command.
pub fn run(_: &List) -> anyhow::Result<()> {
    let mut sources: Vec<_> = recordings()?.iter().map(|recording| recording.source.name).collect();
    sources.dedup();
    let dialects: Vec<_> = DIALECTS.iter().map(|dialect| dialect.name).collect();
    say(&json!({ "sources": sources, "dialects": dialects }).to_string());
    Ok(())
}
