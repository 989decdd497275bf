//! After a crash: sessions whose process is gone are ended, and what is left of their agents is killed.

use std::sync::Arc;

use switchboard_agents::Mender;
use switchboard_event::{Body, ErrorCode, Event, Fault};
use switchboard_store::{Abandoned, Batch, Chunk, End, Log, Page, Run, State, StoreError, Update};

use crate::{Machine, owner, session, supervise};

/// So much of a log is read at once.
const PAGE: usize = 4096;

/// Ends all sessions that a dead process left open. Says how many.
pub fn recover(log: &dyn Log, machine: &Machine) -> Result<usize, StoreError> {
    session::clean(&machine.temp);
    if log.abandoned()?.is_empty() {
        return Ok(0);
    }
    let abandoned = log.take_over()?;
    for Abandoned { session, runs } in &abandoned {
        sweep(&session.id, runs);
        end(log, machine, session)?;
    }
    Ok(abandoned.len())
}

/// Kills what runs of an earlier process left, if this is still the same boot of the machine.
fn sweep(session: &str, runs: &[Run]) {
    let boot = owner::boot();
    let here = runs.iter().filter(|run| run.boot == boot);
    let processes = here.flat_map(|run| [run.supervisor, run.agent]).flatten();
    let known: Vec<_> =
        processes.map(|process| supervise::Process { pid: process.pid, start_time: process.start }).collect();
    // What cannot be killed belongs to another user, and is not ours to end.
    drop(supervise::sweep(session, &known));
}

/// Closes what is open in a session of ours.
pub fn end(log: &dyn Log, machine: &Machine, session: &switchboard_store::Session) -> Result<(), StoreError> {
    let mut mender = Mender::new(session.id.clone(), &session.agent);
    let mut after = 0;
    while after < session.head {
        let events = log.page(&session.id, Page { after, limit: PAGE, max_bytes: 8 << 20 })?;
        let Some(last) = events.last() else { break };
        after = last.seq;
        events.iter().for_each(|event| mender.event(event));
    }
    let fault = Fault::new(ErrorCode::Aborted, "interrupted: the process that ran the session ended before it");
    append(log, mender.finish(fault.with_info("interrupted"), (machine.now)()))
}

fn append(log: &dyn Log, events: Vec<Event>) -> Result<(), StoreError> {
    let Some(last) = events.last() else { return Ok(()) };
    let end = match &last.body {
        Body::SessionEnded(ended) => Some(End { at: last.at, how: (**ended).clone() }),
        _ => None,
    };
    let session = last.session.clone();
    let (done, committed) = std::sync::mpsc::sync_channel(1);
    log.append(Batch {
        session,
        events: Arc::new(Chunk::try_from(events)?),
        update: Update { state: Some(State::Failed), end, ..Update::default() },
        done: Box::new(move |result| drop(done.send(result))),
    });
    committed.recv().unwrap_or(Err(StoreError::Closed))
}
