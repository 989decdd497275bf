//! The session that is continued: one of ours, or one that an agent has on disk, whoever began it.

use std::path::Path;

use switchboard_agents::Depth;
use switchboard_engine::{Adopted, StartRequest};
use switchboard_event::{Id, Usage};
use switchboard_logs::{Filter, Library, LogsError, Session, Setup, homes};

use crate::{data::Data, failure::Failure, host, sessions};

/// Finds what is continued, and puts it into the request. What we ran ourselves is found first, then what agents left
/// on this machine.
pub fn find(what: &str, data: &Data, request: &mut StartRequest) -> Result<(), Failure> {
    match sessions::find(&**data.engine.log(), what) {
        Ok(session) => request.resume = Some(session.id),
        Err(Failure::NoSession(_)) if is_id(what) => in_logs(what, data, request)?,
        Err(failure) => return Err(failure),
    }
    Ok(())
}

/// Not `last`, and not a number that counts sessions: these are ours.
fn is_id(what: &str) -> bool {
    what != "last" && (what.len() > 3 || what.parse::<u32>().is_err())
}

fn in_logs(what: &str, data: &Data, request: &mut StartRequest) -> Result<(), Failure> {
    let library = library(data)?;
    let session = library.session(what).map_err(|error| match error {
        LogsError::NoSession(what) => Failure::Refused(format!(
            "no session `{what}`\nhint: `switchboard sessions list --all` and `switchboard logs list` list them"
        )),
        other => other.into(),
    })?;
    if let Some(own) = &session.own {
        request.resume = Some(own.id.clone());
        return Ok(());
    }
    can_go_on(&session, &request.agent)?;
    request.agent.clone_from(&session.agent);
    if request.config.working_directory.is_none() {
        request.config.working_directory = folder(&session)?;
    }
    let used = used(&library, &session)?;
    request.adopt = Some(Adopted { session: Id::from(session.id.as_str()), used });
    Ok(())
}

/// What agents left on this machine, as it is now.
fn library(data: &Data) -> Result<Library, Failure> {
    let homes = homes(&host::machine()?, &[], None);
    let own = Some(data.engine.log().clone());
    let library = Library::open(Setup { data: data.folder.clone(), homes, keep: false, own })?;
    library.refresh(Depth::Tokens, &|_| {})?;
    Ok(library)
}

/// Only its own agent can go on with it, where it has kept it.
fn can_go_on(session: &Session, agent: &str) -> Result<(), Failure> {
    let Session { id, agent: its, .. } = session;
    let refusal = if let Some(machine) = &session.machine {
        format!("session {id} is of the machine {machine}\nhint: continue it there")
    } else if session.gone {
        format!(
            "session {id} cannot be continued: {its} has deleted its log\nhint: `switchboard logs show {id}` shows what \
             was said"
        )
    } else if let Some(parent) = &session.facts.parent {
        format!("session {id} is of a subagent\nhint: continue the session that it worked for, {parent}")
    } else if !agent.is_empty() && agent != its {
        format!("session {id} is of {its}, and {agent} cannot continue it")
    } else {
        return Ok(());
    };
    Err(Failure::Refused(refusal))
}

/// The folder that it began in: agents look for their sessions there.
fn folder(session: &Session) -> Result<Option<String>, Failure> {
    match &session.facts.cwd {
        Some(cwd) if !Path::new(cwd).is_dir() => Err(Failure::Refused(format!(
            "session {} worked in {cwd}, which is not there any more\nhint: --cwd names another folder",
            session.id
        ))),
        cwd => Ok(cwd.clone()),
    }
}

/// What it has used so far. A copy began with what another had used, which nobody has written down.
fn used(library: &Library, session: &Session) -> Result<Option<Usage>, Failure> {
    if session.facts.base.is_some() {
        return Ok(None);
    }
    let ledger = library.ledger(&Filter { session: Some(session.id.clone()), ..Filter::default() })?;
    let own = ledger.entries.iter().filter(|entry| ledger.name(entry.subagent).is_empty());
    let sum = own.fold(Usage::default(), |sum, entry| Usage {
        input: sum.input + entry.input,
        output: sum.output + entry.output,
        cache_read: sum.cache_read + entry.cache_read,
        cache_write_5m: sum.cache_write_5m + entry.cache_write,
        cache_write_1h: sum.cache_write_1h + entry.cache_write_1h,
        reasoning: sum.reasoning + entry.reasoning,
        cost_usd: entry.cost_usd.map(|cost| cost + sum.cost_usd.unwrap_or(0.0)).or(sum.cost_usd),
        ..sum
    });
    Ok(Some(sum).filter(|sum| !sum.is_zero()))
}
