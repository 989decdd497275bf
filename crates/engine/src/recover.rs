//! After a crash: sessions whose process is gone are ended, and what is left of their agents is killed.

use std::sync::Arc;

use switchboard_agents::Mender;
use switchboard_event::{Body, ErrorCode, Event, Fault};
use switchboard_store::{Abandoned, Batch, Chunk, End, Log, Page, Row, Run, State, StoreError, Update};

use crate::{Machine, owner, session, supervise};

/// So much of a log is read at once.
const PAGE: usize = 4096;

/// Ends all sessions that a dead process left open. Says how many.
pub fn recover(log: &dyn Log, machine: &Machine) -> Result<usize, StoreError> {
    session::clean(&machine.temp);
    supervise::remove_abandoned_cgroups();
    if log.abandoned()?.is_empty() {
        return Ok(0);
    }
    let abandoned = log.take_over()?;
    for Abandoned { session, runs } in &abandoned {
        sweep(&session.id, runs);
        let fault = Fault::new(ErrorCode::Aborted, "interrupted: the process that ran the session ended before it");
        end(log, machine, session, fault.with_info("interrupted"))?;
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

/// Closes what is open in a session of ours, for a reason.
pub fn end(
    log: &dyn Log,
    machine: &Machine,
    session: &switchboard_store::Session,
    fault: Fault,
) -> Result<(), StoreError> {
    let mut mender = Mender::new(session.id.clone(), &session.agent);
    let mut after = 0;
    while after < session.head {
        let (rows, _) = log.sound_rows(&session.id, Page { after, limit: PAGE, max_bytes: 8 << 20 })?;
        let Some(last) = rows.last() else { break };
        after = last.seq;
        let read =
            |row: &Row| Event::from_json(&row.json).map_err(|error| StoreError::Event(session.id.clone(), error));
        rows.iter().try_for_each(|row| read(row).map(|event| mender.event(&event)))?;
    }
    append(log, mender.finish(fault, (machine.now)()))
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
