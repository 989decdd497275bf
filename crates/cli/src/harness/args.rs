//! What can be typed after `harness`.

use std::path::PathBuf;

use clap::Args;

use crate::{failure::Failure, offered, timeouts::Timeouts};

/// Run threads and turns for a program, as JSON lines over standard input and output
///
/// For editors, terminals and bots that want one protocol for every agent: JSON-RPC without the `jsonrpc` field, one
/// message a line. `initialize` comes first; `thread/start`, `thread/resume` and `turn/start` run agents; approvals come
/// as requests; `model/list` and `config/list` say what can be set. Any number of threads run at once, each with its own
/// agent (`agent` of thread/start). docs/harness.md has it all, with a transcript.
///
/// Threads are sessions: they are kept, and `switchboard sessions` sees and steers them from any terminal. At the end of
/// the input, turns are stopped and agents end.
#[derive(Args)]
#[command(after_long_help = AFTER)]
pub struct Harness {
    /// The agent of threads that name none; without it, each thread names its own
    #[arg(long, short, value_name = "AGENT", value_parser = offered::AGENT, hide_possible_values = true)]
    pub agent: Option<String>,
    /// The program of an agent that is named by its command, with its arguments
    #[arg(long, value_name = "COMMAND", requires = "agent")]
    pub command: Option<String>,
    /// The folder in which threads work that name none [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// How long sessions wait for people
    #[command(flatten)]
    pub timeouts: Timeouts,
    /// Where sessions are kept [default: the platform's data folder]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

const AFTER: &str = "\
Example:
  printf '{\"id\":%d,\"method\":\"%s\",\"params\":{%s}}\\n' \\
    1 initialize '\"clientInfo\":{\"name\":\"me\",\"version\":\"1\"}' \\
    2 model/list '' | switchboard harness --agent script

Exit codes: 0 the input ended, or somebody stopped it · 2 bad usage · 5 internal";

impl Harness {
    /// The program of an agent that is named by its command.
    pub fn command(&self) -> Result<Vec<String>, Failure> {
        let Some(command) = &self.command else { return Ok(Vec::new()) };
        let bad = || Failure::BadValue { option: "--command", cause: "a quote is not closed".to_owned() };
        shlex::split(command).ok_or_else(bad)
    }

    /// The folder in which threads work that name none.
    pub fn folder(&self) -> Result<PathBuf, Failure> {
        let folder = self.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
        let bad = |cause| Failure::BadValue { option: "--cwd", cause: format!("{}: {cause}", folder.display()) };
        std::fs::canonicalize(&folder).map_err(bad)
    }
}
