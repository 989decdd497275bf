//! `switchboard harness`: threads and turns for a program that speaks JSON lines over standard input and output.

use std::{
    io::{self, BufRead, Write as _},
    path::PathBuf,
    process::ExitCode,
    thread,
    time::Duration,
};

use clap::Args;
use futures_util::{
    FutureExt as _,
    future::{FusedFuture as _, join_all},
};
use switchboard_agents::{Agent, AgentCommand, find_agent};
use switchboard_engine::{Engine, SessionHandle, StartError};
use switchboard_serve::harness::{HarnessConnection, HarnessOptions, MAX_LINE_BYTES, OutgoingLines};
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use crate::{
    args::{AGENT_NAMES, TimeoutArgs, split_command},
    cluster::ClusterArgs,
    data::{self, ServiceLimits, SessionHost},
    failure::Failure,
    host,
    signals::StopSignals,
};

const AFTER_HELP: &str = "\
Example:
  printf '{\"id\":%d,\"method\":\"%s\",\"params\":{%s}}\\n' \\
    1 initialize '\"clientInfo\":{\"name\":\"me\",\"version\":\"1\"}' \\
    2 model/list '' | switchboard harness --agent script

Exit codes: 0 the input ended, or a signal · 2 bad usage · 5 internal";

/// Time to answer what was asked before the input ended.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

const AGENT_CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

const SESSION_STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Time for the client to read the last output, and for followers of a session.
const OUTPUT_FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

const OUTPUT_BUFFER_BYTES: usize = 64 << 10;

/// Run threads and turns for a program, as JSON lines over standard input and output
///
/// For editors, terminals and bots that want one protocol for every agent: JSON-RPC without the `jsonrpc` field, one
/// message per line. `initialize` comes first; `thread/start`, `thread/resume` and `turn/start` run agents; approvals
/// arrive as requests; `model/list` and `config/list` return the available settings. Any number of threads run at once,
/// each with its own agent (`agent` of thread/start). docs/harness.md describes the protocol, with a transcript.
///
/// Threads are sessions: they are stored, and `switchboard sessions` lists and controls them from any terminal. When
/// the input ends, turns are stopped and agents end.
#[derive(Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct HarnessArgs {
    /// Agent of threads that name none; without it, each thread names its own
    #[arg(long, short, value_name = "AGENT", value_parser = AGENT_NAMES, hide_possible_values = true)]
    pub agent: Option<String>,
    /// Command that starts the agent, with its arguments
    #[arg(long, value_name = "COMMAND", requires = "agent")]
    pub command: Option<String>,
    /// Working directory of threads that name none [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    #[command(flatten)]
    pub timeouts: TimeoutArgs,
    /// Directory where sessions are stored [default: the platform's data directory]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub cluster: ClusterArgs,
}

impl HarnessArgs {
    pub fn command(&self) -> Result<Vec<String>, Failure> {
        self.command.as_deref().map_or(Ok(Vec::new()), split_command)
    }

    pub fn folder(&self) -> Result<PathBuf, Failure> {
        let folder = self.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
        let bad = |cause| Failure::BadValue { option: "--cwd", cause: format!("{}: {cause}", folder.display()) };
        std::fs::canonicalize(&folder).map_err(bad)
    }
}

pub fn run(args: &HarnessArgs) -> Result<ExitCode, Failure> {
    let agent = args.agent.as_deref().map(find_known_agent).transpose()?;
    let command = args.command()?;
    let data = data::join_session_host(args.data.clone(), &args.cluster)?;
    host::raise_open_file_limit();
    let runtime = host::build_server_runtime()?;
    let purpose = HarnessOptions { agent, command, ..HarnessOptions::default() };
    let ended = runtime.block_on(serve_threads(args, &data, purpose));
    // A thread that reads standard input never returns.
    runtime.shutdown_background();
    ended.map(|()| ExitCode::SUCCESS)
}

fn find_known_agent(name: &str) -> Result<&'static Agent, Failure> {
    find_agent(name).ok_or_else(|| StartError::UnknownAgent(name.to_owned()).into())
}

async fn serve_threads(args: &HarnessArgs, data: &SessionHost, purpose: HarnessOptions) -> Result<(), Failure> {
    let mut signals = StopSignals::listen()?;
    // Before there are sessions, so that every visible session can be reached.
    let private = data.open_private_socket()?;
    data.adopt_orphans()?;
    let service = data.create_service(
        args.folder()?,
        ServiceLimits { timeouts: args.timeouts.limits(), ..ServiceLimits::default() },
    )?;
    let (connection, lines) = HarnessConnection::new(service, purpose);
    let (input_lines, written) = (read_input_lines(), write_output_lines(lines).fuse());
    tokio::pin!(written);
    tokio::select! {
        () = receive_lines(input_lines, &connection) => drop(timeout(ANSWER_TIMEOUT, connection.wait_for_requests()).await),
        _ = signals.next() => {}
        // The client has closed our output.
        () = &mut written => {}
    }
    tokio::select! {
        () = stop_sessions(&data.engine) => connection.finish(OUTPUT_FLUSH_TIMEOUT).await,
        // A second signal ends the wait.
        _ = signals.next() => {}
    }
    drop(connection);
    if !written.is_terminated() {
        drop(timeout(OUTPUT_FLUSH_TIMEOUT, written).await);
    }
    if let Some(private) = private {
        private.close(OUTPUT_FLUSH_TIMEOUT).await;
    }
    Ok(())
}

async fn receive_lines(mut input_lines: mpsc::Receiver<InputLine>, connection: &HarnessConnection) {
    while let Some(line) = input_lines.recv().await {
        match line {
            InputLine::Line(line) => connection.handle_line(&line).await,
            InputLine::TooLong => connection.report_long_line().await,
        }
    }
}

/// Interrupts the turns and ends the agents.
async fn stop_sessions(engine: &Engine) {
    let sessions = engine.sessions();
    let closed = join_all(sessions.iter().map(close_session));
    drop(timeout(AGENT_CLOSE_TIMEOUT, closed).await);
    engine.stop_all_sessions(SESSION_STOP_TIMEOUT).await;
}

async fn close_session(session: &SessionHandle) {
    // A session that has ended by itself needs neither.
    drop(session.interrupt().await);
    drop(session.send_command(AgentCommand::Close).await);
    session.wait_for_outcome().await;
}

#[derive(Debug, PartialEq, Eq)]
enum InputLine {
    /// A line without its line feed.
    Line(Vec<u8>),
    /// A line above the size limit.
    TooLong,
}

/// Reads lines from standard input as fast as they are received. The last line need not end with a line feed.
fn read_input_lines() -> mpsc::Receiver<InputLine> {
    let (line_sender, lines) = mpsc::channel(1);
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        // A read error ends the input.
        while let Ok(Some(line)) = read_line(&mut input) {
            if line_sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn read_line(input: &mut impl BufRead) -> io::Result<Option<InputLine>> {
    let (mut line, mut length, mut any) = (Vec::new(), 0_usize, false);
    loop {
        let bytes = input.fill_buf()?;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let piece = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        let is_over = bytes.is_empty();
        any |= !is_over;
        length = length.saturating_add(piece.len());
        if length <= MAX_LINE_BYTES {
            line.extend_from_slice(piece);
        }
        let used = piece.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() || is_over {
            let input_lines = if length <= MAX_LINE_BYTES { InputLine::Line(line) } else { InputLine::TooLong };
            return Ok(any.then_some(input_lines));
        }
    }
}

/// Writes lines to standard output until there are no more, or the reader has closed the pipe.
async fn write_output_lines(lines: OutgoingLines) {
    let (done, is_done) = oneshot::channel::<()>();
    thread::spawn(move || {
        // A closed pipe is not an error.
        drop(write_lines_blocking(lines));
        drop(done);
    });
    drop(is_done.await);
}

fn write_lines_blocking(mut lines: OutgoingLines) -> io::Result<()> {
    let mut output = io::BufWriter::with_capacity(OUTPUT_BUFFER_BYTES, io::stdout().lock());
    while let Some(line) = lines.next_blocking() {
        let mut next = Some(line);
        while let Some(line) = next {
            output.write_all(&line.json)?;
            output.write_all(b"\n")?;
            drop(line);
            next = lines.try_next();
        }
        output.flush()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {

    use std::io::BufReader;

    use super::{InputLine, MAX_LINE_BYTES, read_line};

    fn all(text: &[u8]) -> Vec<InputLine> {
        let mut input = BufReader::with_capacity(7, text);
        std::iter::from_fn(|| read_line(&mut input).unwrap()).collect()
    }

    #[test]
    fn lines_are_read_however_they_come() {
        let line = |text: &str| InputLine::Line(text.as_bytes().to_owned());
        assert_eq!(
            all(b"a\nlonger than the buffer\n\nlast"),
            [line("a"), line("longer than the buffer"), line(""), line("last")]
        );
        assert!(all(b"").is_empty());
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let long = [vec![b'x'; MAX_LINE_BYTES + 1], b"\nnext\n".to_vec()].concat();
        assert_eq!(all(&long), [InputLine::TooLong, InputLine::Line(b"next".to_vec())]);
    }
}
