//! The command line: its commands, and the values that several of them take.

use std::{ffi::OsStr, io, time::Duration};

use clap::{
    Arg, Args, Command, CommandFactory as _, Error, Parser, Subcommand,
    builder::{PossibleValue, StringValueParser, TypedValueParser},
};
use clap_complete::Shell;
use switchboard_agents::{AGENTS, SOURCES};
use switchboard_dialects::{DIALECTS, Dialect, find_dialect};
use switchboard_engine::{SessionTimeouts, parse_domain};
use switchboard_event::{ApprovalMode, SandboxMode};

use crate::{
    diagnostics::DiagnosticsOptions,
    failure::{Failure, format_name_list},
    host,
};

pub const AGENT_NAMES: SuggestedNames =
    SuggestedNames(|| AGENTS.iter().map(|agent| (agent.name, agent.title)).collect());

pub const SOURCE_NAMES: SuggestedNames =
    SuggestedNames(|| SOURCES.iter().copied().flatten().map(|source| (source.name, source.title)).collect());

pub const DIALECT_NAMES: SuggestedNames =
    SuggestedNames(|| DIALECTS.iter().map(|dialect| (dialect.name, dialect.title)).collect());

pub const APPROVAL_MODES: SuggestedNames = SuggestedNames(|| {
    vec![
        ("ask", "everything that acts"),
        ("ask-dangerous", "what runs, deletes, writes elsewhere or reaches out"),
        ("auto-edit", "all but changes of files in the workspace"),
        ("auto-all", "nothing"),
    ]
});

pub const SANDBOX_MODES: SuggestedNames = SuggestedNames(|| {
    vec![
        ("none", "no sandbox"),
        ("read-only", "nowhere"),
        ("workspace-write", "in the workspace"),
        ("full-access", "everywhere"),
    ]
});

/// Print a shell completion script
///
/// For example: switchboard completions bash > ~/.local/share/bash-completion/completions/switchboard
#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// Shell to complete for
    pub shell: Shell,
}

/// One protocol for every coding agent.
///
/// Switchboard runs coding agents, converts their output into one lossless event model, and serves it in the protocol
/// that your client already speaks.
#[derive(Parser)]
#[command(name = "switchboard", version, max_term_width = 100)]
pub struct CliArgs {
    #[command(subcommand)]
    pub command: CliCommand,
    #[command(flatten)]
    pub diagnostics: DiagnosticsOptions,
}

#[derive(Subcommand)]
pub enum CliCommand {
    Run(Box<crate::run::RunArgs>),
    Serve(Box<crate::serve::ServeArgs>),
    Harness(crate::harness::HarnessArgs),
    Acp(Box<crate::acp::AcpArgs>),
    Sessions(crate::sessions::SessionsArgs),
    Nodes(Box<crate::nodes::NodesArgs>),
    Logs(Box<crate::logs::LogsArgs>),
    Mcp(Box<crate::mcp::McpArgs>),
    Agents(crate::agents::AgentsArgs),
    Doctor(crate::doctor::DoctorArgs),
    Translate(crate::translate::TranslateArgs),
    Schema(crate::schema::SchemaArgs),
    Token(crate::token::TokenArgs),
    Completions(CompletionsArgs),
}

/// Reduces the spellings of a mode (`auto-all`, `autoAll`, `auto_all`) to one.
fn normalize_mode(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

pub fn parse_approval_mode(text: &str) -> Result<ApprovalMode, String> {
    match normalize_mode(text).as_str() {
        "ask" => Ok(ApprovalMode::Ask),
        "askdangerous" => Ok(ApprovalMode::AskDangerous),
        "autoedit" => Ok(ApprovalMode::AutoEdit),
        "autoall" => Ok(ApprovalMode::AutoAll),
        _ => Err("one of ask, ask-dangerous, auto-edit, auto-all".to_owned()),
    }
}

/// Checks a host, or the name of a group of hosts.
pub fn parse_allowed_domain(text: &str) -> Result<String, String> {
    parse_domain(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

pub fn parse_sandbox_mode(text: &str) -> Result<SandboxMode, String> {
    match normalize_mode(text).as_str() {
        "none" => Ok(SandboxMode::None),
        "readonly" => Ok(SandboxMode::ReadOnly),
        "workspacewrite" => Ok(SandboxMode::WorkspaceWrite),
        "fullaccess" => Ok(SandboxMode::FullAccess),
        _ => Err("one of none, read-only, workspace-write, full-access".to_owned()),
    }
}

pub fn parse_variable(entry: &str) -> Result<(String, String), Failure> {
    let (name, value) =
        entry.split_once('=').ok_or_else(|| Failure::bad_value("--env", format!("{entry}: not NAME=VALUE")))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Splits a command line as a shell would.
pub fn split_command(command: &str) -> Result<Vec<String>, Failure> {
    let words = shlex::split(command).ok_or_else(|| Failure::bad_value("--command", "a quote is not closed"))?;
    if words.is_empty() { Err(Failure::bad_value("--command", "it is empty")) } else { Ok(words) }
}

pub fn print_completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut CliArgs::command(), "switchboard", &mut script);
    io::Write::write_all(&mut io::stdout().lock(), &script).map_err(Failure::Output)
}

pub fn parse_dialect(name: &str) -> Result<&'static Dialect, Failure> {
    find_dialect(name).ok_or_else(|| Failure::UnknownName {
        what: "dialect",
        given: name.to_owned(),
        known: format_name_list(DIALECTS.iter().map(|d| (d.name, d.title))),
    })
}

/// Returns the dialect with a name, or the default one for `--json`.
pub fn choose_dialect(json: bool, name: Option<&str>) -> Result<Option<&'static Dialect>, Failure> {
    match name {
        Some(name) => parse_dialect(name).map(Some),
        None if json => Ok(DIALECTS.first()),
        None => Ok(None),
    }
}

/// Names that a shell can complete, each with a short description. Any value is accepted: unknown names are rejected
/// later, with a better message than the parser's.
#[derive(Clone, Copy)]
pub struct SuggestedNames(fn() -> Vec<(&'static str, &'static str)>);

impl TypedValueParser for SuggestedNames {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = (self.0)();
        // zsh separates names and descriptions by a colon, so names with a colon get no description.
        let plain = names.iter().any(|(name, _)| name.contains(':'));
        let value =
            move |(name, title)| if plain { PossibleValue::new(name) } else { PossibleValue::new(name).help(title) };
        Some(Box::new(names.into_iter().map(value)))
    }
}

#[derive(Args, Default)]
pub struct TimeoutArgs {
    /// Decline requests that stay unanswered for this long [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = host::parse_duration)]
    approval_timeout: Option<Duration>,
    /// End the agents of open sessions that had no turn for this long; the next prompt resumes them [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = host::parse_duration)]
    unused_timeout: Option<Duration>,
}

impl TimeoutArgs {
    pub fn limits(&self) -> SessionTimeouts {
        let usual = SessionTimeouts::default();
        let (approval, unused) =
            (self.approval_timeout.unwrap_or(usual.approval), self.unused_timeout.or(usual.unused));
        SessionTimeouts { approval, unused, ..usual }
    }
}
