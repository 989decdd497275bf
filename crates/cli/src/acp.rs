//! `switchboard acp`: any agent, for editors that speak the Agent Client Protocol over standard input and output.

use std::{
    io::{self, BufRead as _, Write as _},
    path::PathBuf,
    process::ExitCode,
    thread,
    time::Duration,
};

use clap::{Args, builder::TypedValueParser as _};
use futures_util::{Sink, Stream, StreamExt as _, sink, stream};
use switchboard_agents::{AGENTS, find_agent};
use switchboard_event::{ApprovalMode, SandboxMode, SessionConfig};
use switchboard_serve::acp::{self, AcpAgentConfig};
use tokio::sync::{mpsc, oneshot};

use crate::{
    args::{
        AGENT_NAMES, APPROVAL_MODES, SANDBOX_MODES, TimeoutArgs, parse_approval_mode, parse_sandbox_mode,
        parse_variable, split_command,
    },
    cluster::ClusterArgs,
    data::{self, ServiceLimits},
    failure::{Failure, format_name_list},
    host,
    signals::{StopSignal, StopSignals},
};

const AGENT_STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for clients of the private socket to read the last messages.
const SOCKET_CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Maximum number of queued lines before the sender waits.
const MAX_QUEUED_LINES: usize = 64;

const OUTPUT_FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// Serve an agent to editors over ACP (stdio)
///
/// Any editor that speaks the Agent Client Protocol starts this command and gets the agent, with its models, modes and
/// settings, plans and changes; the editor asks its user for approvals. Sessions are stored like all others: an editor
/// can load them, and `switchboard sessions` shows them.
///
/// Standard output carries the protocol only. The agents end when standard input does.
#[derive(Args)]
#[command(after_long_help = editor_settings_examples())]
pub struct AcpArgs {
    /// Agent to serve
    #[arg(long, value_name = "AGENT", value_parser = AGENT_NAMES, hide_possible_values = true)]
    pub agent: String,
    /// Model of new sessions; the editor can choose another
    #[arg(long, short, value_name = "MODEL")]
    pub model: Option<String>,
    /// Agent mode of new sessions; the editor can choose another
    #[arg(long, value_name = "MODE")]
    pub mode: Option<String>,
    /// Approval mode: ask (for everything that acts), ask-dangerous, auto-edit, auto-all
    #[arg(long, short, value_name = "MODE", value_parser = APPROVAL_MODES.try_map(|text| parse_approval_mode(&text)), hide_possible_values = true)]
    pub approval: Option<ApprovalMode>,
    /// Where the agent may write: none (no sandbox), read-only, workspace-write, full-access
    #[arg(long, short, value_name = "MODE", value_parser = SANDBOX_MODES.try_map(|text| parse_sandbox_mode(&text)), hide_possible_values = true)]
    pub sandbox: Option<SandboxMode>,
    /// Command that starts the agent, with its arguments
    #[arg(long, value_name = "COMMAND")]
    pub command: Option<String>,
    /// Environment variable for the agent; repeatable
    #[arg(long, short, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Project name for grouping sessions
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    #[command(flatten)]
    pub timeouts: TimeoutArgs,
    /// Directory where sessions are stored [default: the platform's data directory]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

impl AcpArgs {
    fn front(&self) -> Result<AcpAgentConfig, Failure> {
        let unknown = || Failure::UnknownName {
            what: "agent",
            given: self.agent.clone(),
            known: format_name_list(AGENTS.iter().map(|agent| (agent.name, agent.title))),
        };
        Ok(AcpAgentConfig {
            agent: find_agent(&self.agent).ok_or_else(unknown)?,
            config: SessionConfig {
                project_id: self.project.clone(),
                model: self.model.clone(),
                mode: self.mode.clone(),
                approval_mode: self.approval,
                sandbox_mode: self.sandbox,
                ..SessionConfig::default()
            },
            command: self.command.as_deref().map(split_command).transpose()?.unwrap_or_default(),
            env: self.env.iter().map(|entry| parse_variable(entry)).collect::<Result<_, _>>()?,
        })
    }
}

fn editor_settings_examples() -> String {
    let (name, title) = AGENTS.first().map_or(("AGENT", "Agent"), |agent| (agent.name, agent.title));
    format!(
        "Zed, in settings.json:\n  \
         {{\"agent_servers\": {{\"{title} (Switchboard)\": {{\n    \
         \"type\": \"custom\", \"command\": \"switchboard\", \"args\": [\"acp\", \"--agent\", \"{name}\"]}}}}}}\n\n\
         JetBrains, in ~/.jetbrains/acp.json (the command as an absolute path):\n  \
         {{\"agent_servers\": {{\"{title} (Switchboard)\": {{\n    \
         \"command\": \"/usr/local/bin/switchboard\", \"args\": [\"acp\", \"--agent\", \"{name}\"], \"env\": {{}}}}}}}}"
    )
}

pub fn run(args: &AcpArgs) -> Result<ExitCode, Failure> {
    let front = args.front()?;
    let data = data::join_session_host(args.data.clone(), &args.cluster)?;
    host::build_runtime()?.block_on(async {
        let mut signals = StopSignals::listen()?;
        let private = data.open_private_socket()?;
        data.adopt_orphans()?;
        let bounds = ServiceLimits { timeouts: args.timeouts.limits(), ..ServiceLimits::default() };
        let service = data.create_service(host::absolute_path(".".as_ref()), bounds)?;
        let (incoming, outgoing, written) = open_standard_streams();
        let served = tokio::select! {
            served = acp::serve(service, front, incoming, outgoing) => served,
            () = wait_for_termination(&mut signals) => Ok(()),
        };
        data.engine.stop_all_sessions(AGENT_STOP_TIMEOUT).await;
        if let Some(private) = private {
            private.close(SOCKET_CLOSE_TIMEOUT).await;
        }
        written.finish().await;
        served.map_err(|error| Failure::Machine(format!("the editor cannot be spoken with: {error}")))?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Waits for a signal other than Ctrl-C. An editor may send Ctrl-C to all its children, which is no reason to end yet.
async fn wait_for_termination(signals: &mut StopSignals) {
    while signals.next().await != StopSignal::End {}
}

/// Resolves when all output is written.
struct OutputDone(oneshot::Receiver<()>);

impl OutputDone {
    /// Waits until all output is written, within a time limit.
    pub async fn finish(self) {
        tokio::time::timeout(OUTPUT_FLUSH_TIMEOUT, self.0).await.ok();
    }
}

/// Returns the lines of standard input and a sink for lines of standard output. Each has a thread of its own: an editor
/// that is slow or silent blocks nothing else.
fn open_standard_streams() -> (
    impl Stream<Item = io::Result<String>> + Send + 'static,
    impl Sink<String, Error = io::Error> + Send + 'static,
    OutputDone,
) {
    let (line_sender, lines) = mpsc::channel(MAX_QUEUED_LINES);
    thread::spawn(move || read_lines(&line_sender));
    let (output_sender, output_lines) = mpsc::channel(MAX_QUEUED_LINES);
    let (done, written) = oneshot::channel();
    thread::spawn(move || {
        // The editor has closed the output; the input is about to end, too.
        drop(write_lines(output_lines));
        done.send(()).ok();
    });
    let incoming = stream::unfold(lines, async |mut lines: mpsc::Receiver<io::Result<String>>| {
        let line = lines.recv().await?;
        Some((line, lines))
    });
    let outgoing = sink::unfold(output_sender, async |output_sender: mpsc::Sender<String>, line| {
        output_sender.send(line).await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(output_sender)
    });
    (incoming.boxed(), outgoing, OutputDone(written))
}

fn read_lines(line_sender: &mpsc::Sender<io::Result<String>>) {
    for line in io::stdin().lock().split(b'\n') {
        if line_sender.blocking_send(line.map(decode_line)).is_err() {
            return;
        }
    }
}

/// Decodes a line. Invalid UTF-8 is cut off: no JSON ends there, so the line is answered as malformed, and the next
/// line is read normally.
fn decode_line(mut line: Vec<u8>) -> String {
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).unwrap_or_else(|error| {
        let (end, mut line) = (error.utf8_error().valid_up_to(), error.into_bytes());
        line.truncate(end);
        let mut text = String::from_utf8(line).unwrap_or_default();
        text.push(char::REPLACEMENT_CHARACTER);
        text
    })
}

fn write_lines(mut output_lines: mpsc::Receiver<String>) -> io::Result<()> {
    let mut output = io::stdout().lock();
    while let Some(mut line) = output_lines.blocking_recv() {
        line.push('\n');
        output.write_all(line.as_bytes())?;
        if output_lines.is_empty() {
            output.flush()?;
        }
    }
    Ok(())
}
