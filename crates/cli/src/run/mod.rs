//! `switchboard run`: one agent, one task, in this process or on a server.

mod args;
mod on_server;

use std::{ops::ControlFlow, process::ExitCode, time::Duration};

pub use args::{RunArgs, read_image, read_prompt};
pub use on_server::ended_exit_code_on_server;
use switchboard_agents::{Abilities, RequestAnswer, ScanDepth};
use switchboard_dialects::Dialect;
use switchboard_engine::{CommandError, RequestAudience, RunOutcome, SessionHandle, StartRequest};
use switchboard_event::{EndReason, Id};
use switchboard_logs::{LibraryConfig, LogLibrary, LogSession as LoggedSession, LogsError, candidate_homes};
use switchboard_serve::{AdoptError, adopt, adopt_session};
use switchboard_store::{SessionFilter, SessionLog};

use crate::{
    args::choose_dialect,
    data::{self, SessionHost},
    failure::Failure,
    host, sessions,
    signals::{StopSignal, StopSignals},
    terminal::Terminal,
    watch::{self, DisplaySettings, MessageWriter, SessionControl, interactive::show_session},
};

/// Time for clients of the private socket to read the last messages.
const SOCKET_CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

pub fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let dialect = choose_dialect(args.json, args.dialect.as_deref())?;
    let terminal = Terminal::new();
    if let Some(server) = args.server.connect(args.data.as_deref())? {
        return on_server::run(args, &server, dialect, &terminal);
    }
    let mut request = args.request(request_audience(dialect, &terminal))?;
    let data = data::join_session_host(args.data.clone(), &args.cluster)?;
    if let Some(what) = &args.resume {
        find_resumed_session(what, &data, &mut request)?;
    }
    if let Some(session) = &request.resume {
        check_own_node(&data, session)?;
    }
    run_session(&data, request, dialect, &args.look(), &terminal)
}

/// Returns who answers the agent's requests.
pub fn request_audience(dialect: Option<&Dialect>, terminal: &Terminal) -> RequestAudience {
    if dialect.is_none() && terminal.can_ask() { RequestAudience::Client } else { RequestAudience::None }
}

/// Runs a session in this process to its end, and shows it.
pub fn run_session(
    data: &SessionHost,
    request: StartRequest,
    dialect: Option<&Dialect>,
    look: &DisplaySettings,
    terminal: &Terminal,
) -> Result<ExitCode, Failure> {
    host::build_runtime()?.block_on(async {
        let mut signals = StopSignals::listen()?;
        // Before the session is visible, so that every visible session can be reached.
        let private = data.open_private_socket()?;
        data.adopt_orphans()?;
        let session = data.engine.start_session(request).await?;
        let mut follower = session.follow();
        let written = match dialect {
            Some(dialect) => {
                watch::write_messages(&mut follower, &session, MessageWriter::new(dialect), &mut signals).await
            }
            None => show_session(&mut follower, &session, look, terminal, &mut signals).await,
        };
        if written.is_err() {
            // The reader of the output is gone, so the session has no purpose.
            drop(session.cancel().await);
        }
        let outcome = session.wait_for_outcome().await;
        if let Some(private) = private {
            private.close(SOCKET_CLOSE_TIMEOUT).await;
        }
        written?;
        outcome_exit_code(&outcome)
    })
}

fn outcome_exit_code(outcome: &RunOutcome) -> Result<ExitCode, Failure> {
    match &outcome.write_error {
        Some(error) => Err(Failure::Log(error.clone())),
        None => Ok(exit_code(outcome.reason, || outcome.agent_started)),
    }
}

/// Returns the documented exit code. `started` tells whether the agent began to work.
pub fn exit_code(reason: Option<EndReason>, started: impl FnOnce() -> bool) -> ExitCode {
    ExitCode::from(match reason {
        Some(EndReason::Completed) => 0,
        Some(EndReason::Failed) if started() => 1,
        Some(EndReason::Failed) => 4,
        Some(EndReason::Timeout) => 124,
        Some(EndReason::Cancelled) => 130,
        None => 5,
    })
}

impl SessionControl for SessionHandle {
    fn abilities(&self) -> &Abilities {
        &self.agent().abilities
    }

    async fn answer(&self, answer: RequestAnswer) -> Result<(), String> {
        match self.answer_request(answer).await {
            Ok(()) | Err(CommandError::NotOpen | CommandError::Ended) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn stop(&self, signal: StopSignal) -> ControlFlow<()> {
        // Commands to a session that has ended fail, which is fine here.
        match signal {
            StopSignal::Interrupt => drop(self.interrupt().await),
            StopSignal::End => drop(self.cancel().await),
        }
        ControlFlow::Continue(())
    }
}

/// A session that an ID can mean.
enum ResumeCandidate {
    Own(Id),
    Logged(Box<LoggedSession>),
}

/// Finds the session to resume and puts it into the request: the session with exactly that ID or position, else the
/// only one whose ID begins with it, among Switchboard's sessions and the agents' logs.
fn find_resumed_session(what: &str, data: &SessionHost, request: &mut StartRequest) -> Result<(), Failure> {
    let log = &**data.engine.log();
    let exact = log.get_session(what)?;
    if let Some(session) =
        exact.map_or_else(|| log.session_at(what, &SessionFilter::default()), |found| Ok(Some(found)))?
    {
        request.resume = Some(session.id);
        return Ok(());
    }
    let library = open_library(data)?;
    let mut candidates = find_candidates(what, log, &library, &request.agent)?;
    match (candidates.pop(), candidates.is_empty()) {
        // `last` does not mean the last session of an agent.
        (None, _) if what == "last" => Err(explain_adopt_error(LogsError::NoSession(what.to_owned()).into())),
        // Fails with the reason: there is no such session, or only another agent has one.
        (None, _) => adopt(&library, what, request).map_err(explain_adopt_error),
        (Some(ResumeCandidate::Own(id)), true) => {
            request.resume = Some(id);
            Ok(())
        }
        (Some(ResumeCandidate::Logged(session)), true) => {
            adopt_session(&library, &session, request).map_err(explain_adopt_error)
        }
        (Some(last), false) => {
            candidates.push(last);
            let lines: Result<Vec<_>, Failure> = candidates.iter().map(|candidate| candidate.describe(log)).collect();
            Err(Failure::SeveralSessions { what: what.to_owned(), known: lines?.join("\n") })
        }
    }
}

/// Fails if a session cannot be continued here because its agent's files are on another node.
fn check_own_node(data: &SessionHost, session: &Id) -> Result<(), Failure> {
    let Some(cluster) = &data.cluster else { return Ok(()) };
    let node = cluster.session_node(session)?;
    if node == cluster.node_name() {
        return Ok(());
    }
    Err(Failure::Refused(format!(
        "session {session} ran on node {node}, which has the agent's files\nhint: send it a prompt through a server of \
         the cluster"
    )))
}

/// Returns every session that an ID can mean, each once: a session that Switchboard ran is also in its agent's logs. If
/// an agent is named, only its sessions count.
fn find_candidates(
    what: &str,
    log: &dyn SessionLog,
    library: &LogLibrary,
    agent: &str,
) -> Result<Vec<ResumeCandidate>, Failure> {
    let agents: Vec<String> = Some(agent.to_owned()).filter(|agent| !agent.is_empty()).into_iter().collect();
    let mut logged = library.find_sessions(what, &agents)?;
    let is_exact = logged.iter().any(|session| session.id == what);
    let prefix =
        SessionFilter { prefix: Some(what.to_owned()), agent: agents.first().cloned(), ..SessionFilter::default() };
    let own = if is_exact || what.is_empty() { Vec::new() } else { log.list_sessions(&prefix)? };
    logged.retain(|session| session.own.as_ref().is_none_or(|known| !own.iter().any(|session| session.id == known.id)));
    let own = own.into_iter().map(|session| ResumeCandidate::Own(session.id));
    Ok(own.chain(logged.into_iter().map(|session| ResumeCandidate::Logged(Box::new(session)))).collect())
}

impl ResumeCandidate {
    fn describe(&self, log: &dyn SessionLog) -> Result<String, Failure> {
        Ok(match self {
            Self::Own(id) => match log.get_session(id)? {
                Some(session) => sessions::summary_line(&session, host::now()),
                None => format!("  {id}"),
            },
            Self::Logged(session) => format!("  {}", session.summary_line()),
        })
    }
}

fn open_library(data: &SessionHost) -> Result<LogLibrary, Failure> {
    let homes = candidate_homes(&host::host_environment()?, &[], None);
    let own = Some(data.engine.log().clone().into());
    let library = LogLibrary::open(LibraryConfig { data: data.folder.clone(), homes, alone: false, keep: false, own })?;
    library.refresh_index(ScanDepth::Tokens, &|_| {})?;
    Ok(library)
}

fn explain_adopt_error(error: AdoptError) -> Failure {
    match error {
        AdoptError::Logs(LogsError::NoSession(what)) => Failure::Refused(format!(
            "no session `{what}`\nhint: `switchboard sessions list --all` and `switchboard logs list` list them"
        )),
        AdoptError::Logs(error) => error.into(),
        other => Failure::Refused(other.to_string()),
    }
}
