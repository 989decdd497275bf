//! The session that is continued: one of ours, or one that an agent has on disk, whoever began it.

use switchboard_agents::Depth;
use switchboard_engine::StartRequest;
use switchboard_logs::{Library, LogsError, Setup, looked_in};
use switchboard_serve::{AdoptError, adopt};

use crate::{data::Data, failure::Failure, host, sessions};

/// Finds what is continued, and puts it into the request. What we ran ourselves is found first, then what agents left
/// on this machine.
pub fn find(what: &str, data: &Data, request: &mut StartRequest) -> Result<(), Failure> {
    match sessions::find(&**data.engine.log(), what) {
        Ok(session) => request.resume = Some(session.id),
        Err(Failure::NoSession(_)) if is_id(what) => adopt(&library(data)?, what, request).map_err(explained)?,
        Err(failure) => return Err(failure),
    }
    Ok(())
}

/// Not `last`, and not a number that counts sessions: these are ours.
fn is_id(what: &str) -> bool {
    what != "last" && (what.len() > 3 || what.parse::<u32>().is_err())
}

/// What agents left on this machine, as it is now.
fn library(data: &Data) -> Result<Library, Failure> {
    let homes = looked_in(&host::machine()?, &[], None);
    let own = Some(data.engine.log().clone().into());
    let library = Library::open(Setup { data: data.folder.clone(), homes, alone: false, keep: false, own })?;
    library.refresh(Depth::Tokens, &|_| {})?;
    Ok(library)
}

fn explained(error: AdoptError) -> Failure {
    match error {
        AdoptError::Logs(LogsError::NoSession(what)) => Failure::Refused(format!(
            "no session `{what}`\nhint: `switchboard sessions list --all` and `switchboard logs list` list them"
        )),
        AdoptError::Logs(error) => error.into(),
        other => Failure::Refused(other.to_string()),
    }
}
