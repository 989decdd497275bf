//! What can be typed after `run`, and what it means.

use std::{
    collections::BTreeMap,
    io::Read as _,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, builder::TypedValueParser as _};
use serde_json::value::RawValue;
use switchboard_agents::{AgentPrompt, PromptImage};
use switchboard_engine::{RequestAudience, SessionTimeouts, StartRequest, parse_domain};
use switchboard_event::{
    ApprovalMode, McpServerConfig, SandboxMode, SessionConfig, describe_ignored, read_mcp_servers,
};

use crate::{failure::Failure, host, offered, sessions::say, watch::Look};

/// Run a coding agent on a task
///
/// Starts the agent's own program, shows what it does, asks when it asks, and stops it when told: Ctrl-C once
/// interrupts the turn, twice ends the session. On a terminal everything is shown; otherwise the agent's answer goes
/// to standard output and what it does to standard error.
///
/// The session is kept, and can be continued: switchboard run --resume last "and now …"
#[derive(Args)]
#[command(after_long_help = EXIT_CODES)]
pub struct Run {
    /// The agent, and what it shall do. The agent may be left out with --resume; a task that is `-` or left out is
    /// read from standard input
    #[arg(value_name = "AGENT] [PROMPT", num_args = 0..=2, value_parser = offered::AGENT, hide_possible_values = true)]
    pub words: Vec<String>,
    /// The folder to work in
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// The model to use
    #[arg(long, short, value_name = "MODEL")]
    pub model: Option<String>,
    /// What needs an approval: ask (everything that acts), ask-dangerous, auto-edit, auto-all
    #[arg(long, short, value_name = "MODE", value_parser = offered::APPROVAL.try_map(|text| approval(&text)), hide_possible_values = true)]
    pub approval: Option<ApprovalMode>,
    /// Where the agent may write: none (no sandbox), read-only, workspace-write, full-access
    #[arg(long, short, value_name = "MODE", value_parser = offered::SANDBOX.try_map(|text| sandbox(&text)), hide_possible_values = true)]
    pub sandbox: Option<SandboxMode>,
    /// Start even if the kernel cannot enforce all of the sandbox, and report what is missing
    #[arg(long)]
    pub sandbox_best_effort: bool,
    /// Protected path that a confined agent may write all the same, such as .git/config; repeatable
    #[arg(long, value_name = "PATH")]
    pub writable_path: Vec<String>,
    /// Host that a confined agent may reach, such as example.com, *.example.com, localhost:8080 or @packages; repeatable
    #[arg(long, value_name = "HOST", value_delimiter = ',', value_parser = domain)]
    pub allow_domain: Vec<String>,
    /// Let a confined agent use the whole network
    #[arg(long, conflicts_with = "allow_domain")]
    pub network_access: bool,
    /// Forward a port of this machine's loopback address to the same port of a confined session; repeatable
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub publish: Vec<u16>,
    /// A tool that needs no approval: its name, or command, edit, read, web, mcp
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    pub allow_tool: Vec<String>,
    /// A tool that never runs, by the same names
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    pub block_tool: Vec<String>,
    /// Stop after so many replies of the model
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,
    /// Continue a session: `last`, N for the N-th newest, or an id or its beginning; also one that was begun without
    /// Switchboard (`switchboard logs list` lists them)
    #[arg(long, short, value_name = "SESSION")]
    pub resume: Option<String>,
    /// Continue a copy of it, and leave the session as it is
    #[arg(long, requires = "resume")]
    pub fork: bool,
    /// An image for the agent to look at
    #[arg(long, short, value_name = "FILE")]
    pub image: Vec<PathBuf>,
    /// A JSON file with MCP servers for this session: {"mcpServers":{"NAME":{"command":…}}}
    #[arg(long, value_name = "FILE")]
    pub mcp_config: Option<PathBuf>,
    /// A JSON Schema that the answer must have
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,
    /// Use the agent's simplest form: one prompt, one answer, no approvals
    #[arg(long)]
    pub one_shot: bool,
    /// The program of an agent that speaks ACP, with its arguments; for board the server, the agent there, and the folder
    #[arg(long, value_name = "COMMAND")]
    pub command: Option<String>,
    /// A variable for the agent
    #[arg(long, short, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Pass on only these variables, and what no program can do without
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub env_only: Option<Vec<String>>,
    /// End the session after this time, such as 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = host::duration)]
    pub timeout: Option<Duration>,
    /// End the session after this time without a sign of the agent [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = host::duration)]
    pub idle_timeout: Option<Duration>,
    /// Decline what nobody answers in this time [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = host::duration)]
    pub approval_timeout: Option<Duration>,
    /// What the work belongs to, for lists
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Write messages of the default dialect, one JSON object a line
    #[arg(long, conflicts_with_all = ["dialect", "last_message"])]
    pub json: bool,
    /// Write messages of a dialect, one JSON object a line; `switchboard translate --help` lists them
    #[arg(long, value_name = "DIALECT", conflicts_with = "last_message", value_parser = offered::DIALECT, hide_possible_values = true)]
    pub dialect: Option<String>,
    /// Write only the agent's last message, when it is done
    #[arg(long)]
    pub last_message: bool,
    /// Do not show what the agent thinks
    #[arg(long)]
    pub no_reasoning: bool,
    /// Where sessions are kept [default: the platform's data folder]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
}

const EXIT_CODES: &str = "Exit codes: 0 done · 1 the agent failed · 2 bad usage · 3 agent not installed or too old · \
                          4 could not start · 5 internal · 124 time-out · 130 cancelled";

/// A mode as people write it: `auto-all`, `autoAll`, `auto_all`.
fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// An approval mode.
pub fn approval(text: &str) -> Result<ApprovalMode, String> {
    match plain(text).as_str() {
        "ask" => Ok(ApprovalMode::Ask),
        "askdangerous" => Ok(ApprovalMode::AskDangerous),
        "autoedit" => Ok(ApprovalMode::AutoEdit),
        "autoall" => Ok(ApprovalMode::AutoAll),
        _ => Err("one of ask, ask-dangerous, auto-edit, auto-all".to_owned()),
    }
}

/// A host, or a group of hosts.
pub fn domain(text: &str) -> Result<String, String> {
    parse_domain(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// A sandbox mode.
pub fn sandbox(text: &str) -> Result<SandboxMode, String> {
    match plain(text).as_str() {
        "none" => Ok(SandboxMode::None),
        "readonly" => Ok(SandboxMode::ReadOnly),
        "workspacewrite" => Ok(SandboxMode::WorkspaceWrite),
        "fullaccess" => Ok(SandboxMode::FullAccess),
        _ => Err("one of none, read-only, workspace-write, full-access".to_owned()),
    }
}

impl Run {
    /// The agent and the task, as they were typed.
    fn agent_and_task(&self) -> Result<(String, Option<&str>), Failure> {
        match (self.words.as_slice(), &self.resume) {
            ([agent, task], _) => Ok((agent.clone(), Some(task))),
            ([task], Some(_)) => Ok((String::new(), Some(task))),
            ([], Some(_)) => Ok((String::new(), None)),
            ([agent], None) => Ok((agent.clone(), None)),
            _ => Err(bad("AGENT", "which agent? `switchboard agents` lists them")),
        }
    }

    /// What was typed, as the engine takes it. The session to resume is still to be found.
    pub fn request(&self, audience: RequestAudience) -> Result<StartRequest, Failure> {
        let (agent, task) = self.agent_and_task()?;
        let prompt = AgentPrompt {
            text: text(task)?,
            images: self.image.iter().map(|path| image(path)).collect::<Result<_, _>>()?,
            output_schema: self.schema()?,
        };
        let limits = SessionTimeouts::default();
        Ok(StartRequest {
            agent,
            prompt: Some(prompt),
            config: self.config()?,
            fork: self.fork,
            one_shot: self.one_shot,
            command: self.command.as_deref().map(words).transpose()?.unwrap_or_default(),
            env: self.env.iter().map(|entry| variable(entry)).collect::<Result<_, _>>()?,
            env_only: self.env_only.clone(),
            audience,
            sandbox_best_effort: self.sandbox_best_effort,
            timeouts: SessionTimeouts {
                total: self.timeout,
                idle: self.idle_timeout.or(limits.idle),
                approval: self.approval_timeout.unwrap_or(limits.approval),
                ..limits
            },
            ..StartRequest::default()
        })
    }

    /// What is shown of it.
    pub fn look(&self) -> Look {
        Look { reasoning: !self.no_reasoning, last_message: self.last_message, ..Look::default() }
    }

    fn config(&self) -> Result<SessionConfig, Failure> {
        let list = |names: &[String]| (!names.is_empty()).then(|| names.to_vec());
        Ok(SessionConfig {
            project_id: self.project.clone(),
            // Here, unless an earlier run of the session was elsewhere.
            working_directory: self.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()),
            model: self.model.clone(),
            approval_mode: self.approval,
            sandbox_mode: self.sandbox,
            allowed_tools: list(&self.allow_tool),
            blocked_tools: list(&self.block_tool),
            max_turns: self.max_turns,
            mcp_servers: self.mcp_servers()?,
            writable_paths: list(&self.writable_path),
            network_access: self.network_access.then_some(true),
            allowed_domains: list(&self.allow_domain),
            published_ports: (!self.publish.is_empty()).then(|| self.publish.clone()),
            ..SessionConfig::default()
        })
    }

    fn mcp_servers(&self) -> Result<BTreeMap<String, McpServerConfig>, Failure> {
        let Some(path) = &self.mcp_config else { return Ok(BTreeMap::new()) };
        let text = host::read(path)?;
        let file: BTreeMap<String, &RawValue> =
            serde_json::from_str(&text).map_err(|cause| bad("--mcp-config", cause))?;
        let servers = file.get("mcpServers").map_or(text.as_str(), |servers| servers.get());
        let (servers, ignored) = read_mcp_servers(servers).map_err(|cause| bad("--mcp-config", cause))?;
        if let Some(ignored) = describe_ignored(&ignored) {
            say(&format!("--mcp-config: {ignored}"));
        }
        serde_json::from_str(&servers).map_err(|cause| bad("--mcp-config", cause))
    }

    fn schema(&self) -> Result<Option<Box<RawValue>>, Failure> {
        let Some(path) = &self.output_schema else { return Ok(None) };
        let text = host::read(path)?;
        serde_json::from_str(&text).map(Some).map_err(|cause| bad("--output-schema", cause))
    }
}

/// What the agent shall do: as it was typed, or from standard input.
pub fn text(task: Option<&str>) -> Result<String, Failure> {
    if let Some(task) = task.filter(|task| *task != "-") {
        return if task.trim().is_empty() { Err(bad("PROMPT", "it is empty")) } else { Ok(task.to_owned()) };
    }
    if task.is_none() && host::stdin_is_terminal() {
        return Err(bad("PROMPT", "what shall the agent do? Give a task, or pipe one in"));
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).map_err(|cause| bad("PROMPT", cause))?;
    if text.trim().is_empty() {
        return Err(bad("PROMPT", "standard input was empty"));
    }
    Ok(text)
}

/// An image to look at.
pub fn image(path: &Path) -> Result<PromptImage, Failure> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    let media_type = match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        _ => return Err(bad("--image", format!("{}: not a png, jpeg, gif or webp file", path.display()))),
    };
    let data = host::read_base64(path)?;
    Ok(PromptImage { media_type: media_type.to_owned(), data, path: Some(host::absolute(path)) })
}

/// A variable and its value.
pub fn variable(entry: &str) -> Result<(String, String), Failure> {
    let (name, value) = entry.split_once('=').ok_or_else(|| bad("--env", format!("{entry}: not NAME=VALUE")))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// A command line as a shell would split it.
pub fn words(command: &str) -> Result<Vec<String>, Failure> {
    let words = shlex::split(command).ok_or_else(|| bad("--command", "a quote is not closed"))?;
    if words.is_empty() { Err(bad("--command", "it is empty")) } else { Ok(words) }
}

#[expect(clippy::needless_pass_by_value, reason = "errors are given as they are")]
fn bad(option: &'static str, cause: impl ToString) -> Failure {
    Failure::BadValue { option, cause: cause.to_string() }
}
