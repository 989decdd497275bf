//! The arguments of `switchboard run`.

use std::{
    collections::BTreeMap,
    io::Read as _,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, builder::TypedValueParser as _};
use serde_json::value::RawValue;
use switchboard_agents::{AgentPrompt, PromptImage};
use switchboard_engine::{RequestAudience, SessionTimeouts, StartRequest};
use switchboard_event::{
    ApprovalMode, McpServerConfig, SandboxMode, SessionConfig, describe_ignored, read_mcp_servers,
};

use crate::{
    args::{
        AGENT_NAMES, APPROVAL_MODES, DIALECT_NAMES, SANDBOX_MODES, parse_allowed_domain, parse_approval_mode,
        parse_sandbox_mode, parse_variable, split_command,
    },
    cluster::ClusterArgs,
    failure::Failure,
    host,
    remote::ServerArgs,
    terminal::print_note,
    watch::DisplaySettings,
};

/// Run a coding agent on a task
///
/// Starts the agent's own program, shows what it does, and asks you for approvals. Ctrl-C once interrupts the turn,
/// twice ends the session. On a terminal everything is shown; otherwise the agent's answer goes to standard output and
/// its activity to standard error.
///
/// The session is stored and can be continued: switchboard run --resume last "and now …"
#[derive(Args)]
#[command(after_long_help = EXIT_CODES)]
pub struct RunArgs {
    /// Agent and task. With --resume, the agent may be omitted; a task that is `-` or omitted is read from standard
    /// input
    #[arg(value_name = "AGENT] [PROMPT", num_args = 0..=2, value_parser = AGENT_NAMES, hide_possible_values = true)]
    pub words: Vec<String>,
    /// Working directory
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Model
    #[arg(long, short, value_name = "MODEL")]
    pub model: Option<String>,
    /// Approval mode: ask (for everything that acts), ask-dangerous, auto-edit, auto-all
    #[arg(long, short, value_name = "MODE", value_parser = APPROVAL_MODES.try_map(|text| parse_approval_mode(&text)), hide_possible_values = true)]
    pub approval: Option<ApprovalMode>,
    /// Where the agent may write: none (no sandbox), read-only, workspace-write, full-access
    #[arg(long, short, value_name = "MODE", value_parser = SANDBOX_MODES.try_map(|text| parse_sandbox_mode(&text)), hide_possible_values = true)]
    pub sandbox: Option<SandboxMode>,
    /// Start even if the kernel cannot enforce all of the sandbox, and report what is missing
    #[arg(long)]
    pub sandbox_best_effort: bool,
    /// Protected path that a confined agent may write nevertheless, such as .git/config; repeatable
    #[arg(long, value_name = "PATH")]
    writable_path: Vec<String>,
    /// Host that a confined agent may reach, such as example.com, *.example.com, localhost:8080 or @packages; repeatable
    #[arg(long, value_name = "HOST", value_delimiter = ',', value_parser = parse_allowed_domain)]
    pub allow_domain: Vec<String>,
    /// Let a confined agent use the whole network
    #[arg(long, conflicts_with = "allow_domain")]
    network_access: bool,
    /// Forward a port of this machine's loopback address to the same port of a confined session; repeatable
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    publish: Vec<u16>,
    /// Tool that needs no approval: its name, or command, edit, read, web, mcp
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    allow_tool: Vec<String>,
    /// Tool that never runs, by the same names
    #[arg(long, value_name = "TOOL", value_delimiter = ',')]
    block_tool: Vec<String>,
    /// Stop after N model replies
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// Continue a session: `last`, N for the N-th newest, or an ID or its beginning; also a session started without
    /// Switchboard (`switchboard logs list` lists them)
    #[arg(long, short, value_name = "SESSION")]
    pub resume: Option<String>,
    /// Continue a copy and leave the session unchanged
    #[arg(long, requires = "resume")]
    pub fork: bool,
    /// Image for the agent; repeatable
    #[arg(long, short, value_name = "FILE")]
    pub image: Vec<PathBuf>,
    /// JSON file with MCP servers for this session: {"mcpServers":{"NAME":{"command":…}}}
    #[arg(long, value_name = "FILE")]
    mcp_config: Option<PathBuf>,
    /// File with a JSON Schema that the answer must match
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,
    /// Use the agent's one-shot mode: one prompt, one answer, no approvals
    #[arg(long)]
    pub one_shot: bool,
    /// Command that starts an ACP agent, with its arguments; for board: the server, the agent there, and the directory
    #[arg(long, value_name = "COMMAND")]
    pub command: Option<String>,
    /// Environment variable for the agent; repeatable
    #[arg(long, short, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Pass only these environment variables, and those that every program needs
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    env_only: Option<Vec<String>>,
    /// End the session after this time, such as 90s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = host::parse_duration)]
    pub timeout: Option<Duration>,
    /// End the session after this long without agent output [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = host::parse_duration)]
    idle_timeout: Option<Duration>,
    /// Decline requests that stay unanswered for this long [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = host::parse_duration)]
    pub approval_timeout: Option<Duration>,
    /// Project name for grouping sessions
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Print messages of the default dialect, one JSON object per line
    #[arg(long, conflicts_with_all = ["dialect", "last_message"])]
    pub json: bool,
    /// Print messages of this dialect, one JSON object per line; `switchboard translate --help` lists the dialects
    #[arg(long, value_name = "DIALECT", conflicts_with = "last_message", value_parser = DIALECT_NAMES, hide_possible_values = true)]
    pub dialect: Option<String>,
    /// Print only the agent's last message, when it is done
    #[arg(long)]
    pub last_message: bool,
    /// Hide the agent's reasoning
    #[arg(long)]
    pub no_reasoning: bool,
    /// Directory where sessions are stored [default: the platform's data directory]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

const EXIT_CODES: &str = "Exit codes: 0 done · 1 the agent failed · 2 bad usage · 3 agent not installed or too old · \
                          4 could not start · 5 internal · 124 timeout · 130 cancelled";

impl RunArgs {
    fn agent_and_task(&self) -> Result<(String, Option<&str>), Failure> {
        match (self.words.as_slice(), &self.resume) {
            ([agent, task], _) => Ok((agent.clone(), Some(task))),
            ([task], Some(_)) => Ok((String::new(), Some(task))),
            ([], Some(_)) => Ok((String::new(), None)),
            ([agent], None) => Ok((agent.clone(), None)),
            _ => Err(Failure::bad_value("AGENT", "no agent given; `switchboard agents` lists them")),
        }
    }

    /// Returns the request to the engine. The session to resume is resolved later.
    pub fn request(&self, audience: RequestAudience) -> Result<StartRequest, Failure> {
        let (agent, task) = self.agent_and_task()?;
        let prompt = AgentPrompt {
            text: read_prompt(task)?,
            images: self.image.iter().map(|path| read_image(path)).collect::<Result<_, _>>()?,
            output_schema: self.schema()?,
        };
        let limits = SessionTimeouts::default();
        Ok(StartRequest {
            agent,
            prompt: Some(prompt),
            config: self.config()?,
            fork: self.fork,
            one_shot: self.one_shot,
            command: self.command.as_deref().map(split_command).transpose()?.unwrap_or_default(),
            env: self.env.iter().map(|entry| parse_variable(entry)).collect::<Result<_, _>>()?,
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

    /// Fails if there is an option that servers do not offer.
    pub fn check_for_server(&self) -> Result<(), Failure> {
        let local = [
            ("--one-shot", self.one_shot),
            ("--env-only", self.env_only.is_some()),
            ("--output-schema", self.output_schema.is_some()),
            ("--idle-timeout", self.idle_timeout.is_some()),
            ("--sandbox-best-effort", self.sandbox_best_effort),
            ("--cluster", self.cluster.is_given()),
        ];
        match local.into_iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Failure::bad_value(option, "only works on this machine, not with --server")),
            None => Ok(()),
        }
    }

    pub fn look(&self) -> DisplaySettings {
        DisplaySettings { reasoning: !self.no_reasoning, last_message: self.last_message, ..DisplaySettings::default() }
    }

    fn config(&self) -> Result<SessionConfig, Failure> {
        let list = |names: &[String]| (!names.is_empty()).then(|| names.to_vec());
        Ok(SessionConfig {
            project_id: self.project.clone(),
            // By default the directory of the resumed session, or the current one.
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
        let text = host::read_text_file(path)?;
        let file: BTreeMap<String, &RawValue> =
            serde_json::from_str(&text).map_err(|cause| Failure::bad_value("--mcp-config", cause))?;
        let servers = file.get("mcpServers").map_or(text.as_str(), |servers| servers.get());
        let (servers, ignored) =
            read_mcp_servers(servers).map_err(|cause| Failure::bad_value("--mcp-config", cause))?;
        if let Some(ignored) = describe_ignored(&ignored) {
            print_note(&format!("--mcp-config: {ignored}"));
        }
        serde_json::from_str(&servers).map_err(|cause| Failure::bad_value("--mcp-config", cause))
    }

    fn schema(&self) -> Result<Option<Box<RawValue>>, Failure> {
        let Some(path) = &self.output_schema else { return Ok(None) };
        let text = host::read_text_file(path)?;
        serde_json::from_str(&text).map(Some).map_err(|cause| Failure::bad_value("--output-schema", cause))
    }
}

/// Returns the prompt from the arguments or from standard input.
pub fn read_prompt(task: Option<&str>) -> Result<String, Failure> {
    if let Some(task) = task.filter(|task| *task != "-") {
        return if task.trim().is_empty() {
            Err(Failure::bad_value("PROMPT", "it is empty"))
        } else {
            Ok(task.to_owned())
        };
    }
    if task.is_none() && host::stdin_is_terminal() {
        return Err(Failure::bad_value("PROMPT", "no task given; give one as an argument or on standard input"));
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).map_err(|cause| Failure::bad_value("PROMPT", cause))?;
    if text.trim().is_empty() {
        return Err(Failure::bad_value("PROMPT", "standard input is empty"));
    }
    Ok(text)
}

pub fn read_image(path: &Path) -> Result<PromptImage, Failure> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    let media_type = match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        _ => {
            return Err(Failure::bad_value(
                "--image",
                format!("{}: not a png, jpeg, gif or webp file", path.display()),
            ));
        }
    };
    let data = host::read_image_base64(path)?;
    Ok(PromptImage { media_type: media_type.to_owned(), data, path: Some(host::absolute_path(path)) })
}
