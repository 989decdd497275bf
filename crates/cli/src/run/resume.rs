//! The session that `run --resume` continues: one of Switchboard's, or one that an agent left on disk.

use switchboard_agents::ScanDepth;
use switchboard_engine::StartRequest;
use switchboard_event::Id;
use switchboard_logs::{LibraryConfig, LogLibrary, LogSession as LoggedSession, LogsError, candidate_homes};
use switchboard_serve::{AdoptError, adopt, adopt_session};
use switchboard_store::{SessionFilter, SessionLog};

use crate::{data::Data, failure::Failure, host, sessions};

/// A session that the given id can mean.
enum Candidate {
    Own(Id),
    Logged(Box<LoggedSession>),
}

/// Finds what is continued, and puts it into the request: the session with exactly that id or position, else the only one
/// whose id begins with it, among Switchboard's sessions and all that agents left on this machine.
pub fn find(what: &str, data: &Data, request: &mut StartRequest) -> Result<(), Failure> {
    let log = &**data.engine.log();
    let exact = log.get_session(what)?;
    if let Some(session) =
        exact.map_or_else(|| log.session_at(what, &SessionFilter::default()), |found| Ok(Some(found)))?
    {
        request.resume = Some(session.id);
        return Ok(());
    }
    let library = library(data)?;
    let mut candidates = candidates(what, log, &library, &request.agent)?;
    match (candidates.pop(), candidates.is_empty()) {
        // The last session of an agent was not asked for.
        (None, _) if what == "last" => Err(explain(LogsError::NoSession(what.to_owned()).into())),
        // Says what is wrong: there is none, or only another agent has one.
        (None, _) => adopt(&library, what, request).map_err(explain),
        (Some(Candidate::Own(id)), true) => {
            request.resume = Some(id);
            Ok(())
        }
        (Some(Candidate::Logged(session)), true) => adopt_session(&library, &session, request).map_err(explain),
        (Some(last), false) => {
            candidates.push(last);
            let lines: Result<Vec<_>, Failure> = candidates.iter().map(|candidate| candidate.describe(log)).collect();
            Err(Failure::SeveralSessions { what: what.to_owned(), known: lines?.join("\n") })
        }
    }
}

/// Returns every session that an id can mean, each once: one that Switchboard ran is also in its agent's logs. Only the
/// sessions of an agent count if one is named.
fn candidates(what: &str, log: &dyn SessionLog, library: &LogLibrary, agent: &str) -> Result<Vec<Candidate>, Failure> {
    let agents: Vec<String> = Some(agent.to_owned()).filter(|agent| !agent.is_empty()).into_iter().collect();
    let mut logged = library.find_sessions(what, &agents)?;
    let is_exact = logged.iter().any(|session| session.id == what);
    let prefix =
        SessionFilter { prefix: Some(what.to_owned()), agent: agents.first().cloned(), ..SessionFilter::default() };
    let own = if is_exact || what.is_empty() { Vec::new() } else { log.list_sessions(&prefix)? };
    logged.retain(|session| session.own.as_ref().is_none_or(|known| !own.iter().any(|session| session.id == known.id)));
    let own = own.into_iter().map(|session| Candidate::Own(session.id));
    Ok(own.chain(logged.into_iter().map(|session| Candidate::Logged(Box::new(session)))).collect())
}

impl Candidate {
    fn describe(&self, log: &dyn SessionLog) -> Result<String, Failure> {
        Ok(match self {
            Self::Own(id) => match log.get_session(id)? {
                Some(session) => sessions::one_line(&session, host::now()),
                None => format!("  {id}"),
            },
            Self::Logged(session) => format!("  {}", session.summary_line()),
        })
    }
}

/// The sessions that agents left on this machine, as they are now.
fn library(data: &Data) -> Result<LogLibrary, Failure> {
    let homes = candidate_homes(&host::machine()?, &[], None);
    let own = Some(data.engine.log().clone().into());
    let library = LogLibrary::open(LibraryConfig { data: data.folder.clone(), homes, alone: false, keep: false, own })?;
    library.refresh_index(ScanDepth::Tokens, &|_| {})?;
    Ok(library)
}

fn explain(error: AdoptError) -> Failure {
    match error {
        AdoptError::Logs(LogsError::NoSession(what)) => Failure::Refused(format!(
            "no session `{what}`\nhint: `switchboard sessions list --all` and `switchboard logs list` list them"
        )),
        AdoptError::Logs(error) => error.into(),
        other => Failure::Refused(other.to_string()),
    }
}
