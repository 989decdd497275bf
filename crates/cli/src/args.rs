//! What can be typed.

use std::path::PathBuf;

use clap::{Args as ArgGroup, Parser, Subcommand};
use clap_complete::Shell;

use crate::{diagnostics::DiagnosticsOptions, offered};

/// One protocol for every coding agent.
///
/// Switchboard runs coding agents, turns what they say into one lossless event model, and writes it in the protocol
/// that your client already speaks.
#[derive(Parser)]
#[command(name = "switchboard", version, max_term_width = 100)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub diagnostics: DiagnosticsOptions,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    Run(Box<crate::run::Run>),
    Serve(Box<crate::serve::Serve>),
    Harness(crate::harness::Harness),
    Acp(Box<crate::acp::Acp>),
    Sessions(crate::sessions::Sessions),
    Logs(Box<crate::logs::Logs>),
    Mcp(Box<crate::mcp::Mcp>),
    Agents(crate::agents::Agents),
    Doctor(crate::doctor::Doctor),
    Translate(Translate),
    Schema(Schema),
    Token(crate::token::Token),
    Completions(Completions),
}

/// Translate an agent's recorded or live output into another protocol
///
/// Reads an agent's native records, one JSON object a line, and writes messages of a dialect, one JSON object a
/// line, as they come. Nothing is lost: what has no word in the dialect is still in `--to events`, where every
/// native record stands verbatim.
///
/// A transcript of both directions is recognised by its lines: {"dir":"in"|"out","t":SECONDS,"msg":RECORD}.
///
/// A session log is read in the form in which its agent left it: lines, compressed lines, a JSON document (each of its
/// parts is a record), or a database (each row is a record, {"table":NAME,"row":{…}}; all sessions one after the other,
/// or the one that --session names).
#[derive(ArgGroup)]
#[command(after_help = examples(), after_long_help = lists())]
pub struct Translate {
    /// Whose records these are; `--help` lists the sources
    #[arg(long, value_name = "SOURCE", value_parser = offered::SOURCE, hide_possible_values = true)]
    pub from: String,
    /// The protocol to write; `--help` lists the dialects
    #[arg(long, value_name = "DIALECT", default_value = default_dialect(), value_parser = offered::DIALECT, hide_possible_values = true)]
    pub to: String,
    /// The session's id, in place of the agent's own; of a database, the session to translate
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// The session that the stream continues; some agents then count usage from its beginning
    #[arg(long, value_name = "ID")]
    pub resumed: Option<String>,
    /// What a resumed session had used before, as JSON: {"input":…,"output":…,"cache_read":…}
    #[arg(long, value_name = "JSON", requires = "resumed")]
    pub usage_base: Option<String>,
    /// The records; standard input if it is `-` or left out
    pub file: Option<PathBuf>,
}

/// Print the JSON Schema of a protocol
///
/// Without a name, lists the schemas there are.
#[derive(ArgGroup)]
pub struct Schema {
    /// Which schema to print
    pub name: Option<String>,
}

/// Print a completion script for a shell
///
/// For example: switchboard completions bash > ~/.local/share/bash-completion/completions/switchboard
#[derive(ArgGroup)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

/// The first of the table.
fn default_dialect() -> &'static str {
    switchboard_dialects::DIALECTS.first().map_or("", |dialect| dialect.name)
}

fn examples() -> String {
    // The names come from the tables: this file knows no agent and no dialect.
    let source = switchboard_agents::SOURCES.iter().copied().flatten().map(|s| s.name).next().unwrap_or("SOURCE");
    let dialect = switchboard_dialects::DIALECTS.last().map_or("DIALECT", |d| d.name);
    format!(
        "Examples:\n  switchboard translate --from {source} recording.jsonl\n  \
         AGENT | switchboard translate --from {source} --to {dialect} > {dialect}.jsonl"
    )
}

fn lists() -> String {
    let sources = switchboard_agents::SOURCES.iter().copied().flatten().map(|s| (s.name, s.title));
    let dialects = switchboard_dialects::DIALECTS.iter().map(|d| (d.name, d.title));
    let (sources, dialects) = (crate::failure::names(sources), crate::failure::names(dialects));
    format!("Sources:\n{sources}\n\nDialects:\n{dialects}\n\n{}", examples())
}
