//! Recovery after a crash: ends sessions whose process is gone, and kills the remaining processes of their agents.

use std::sync::{Arc, mpsc::sync_channel};

use switchboard_agents::SessionRepair;
use switchboard_event::{ErrorCode, Event, EventBody, Fault};
use switchboard_store::{
    AbandonedSession, AgentRun, EventBatch, EventChunk, PageQuery, SessionEnd, SessionLog, SessionPatch, SessionPhase,
    SessionRecord, StoreError,
};
use tracing::info;

use crate::{
    HostEnvironment,
    host::boot_id,
    session::remove_abandoned_directories,
    supervise::{ProcessRef, remove_abandoned_cgroups, remove_all_abandoned_cgroups, sweep_session},
};

const MAX_PAGE_EVENTS: usize = 4096;
const MAX_PAGE_BYTES: usize = 8 << 20;

/// Ends all sessions that a dead process left open. Returns their number.
pub fn recover_sessions(log: &dyn SessionLog, host: &HostEnvironment) -> Result<usize, StoreError> {
    remove_abandoned_directories(&host.temp);
    remove_abandoned_cgroups();
    if log.list_abandoned()?.is_empty() {
        return Ok(0);
    }
    let abandoned = log.take_over()?;
    if !abandoned.is_empty() {
        remove_all_abandoned_cgroups();
    }
    for AbandonedSession { session, runs } in &abandoned {
        info!(session = %session.id, "ending a session whose process is gone");
        kill_remaining_processes(&session.id, runs);
        let fault = Fault::new(ErrorCode::Aborted, "interrupted: the process that ran the session ended before it");
        end_session(log, host, session, fault.with_info("interrupted"))?;
    }
    Ok(abandoned.len())
}

/// Kills the remaining processes of earlier runs, if this is still the same boot of the machine.
fn kill_remaining_processes(session: &str, runs: &[AgentRun]) {
    let boot = boot_id();
    let processes = runs.iter().filter(|run| run.boot == boot).flat_map(|run| [run.supervisor, run.agent]).flatten();
    let known: Vec<_> = processes.map(|process| ProcessRef { pid: process.pid, start_time: process.start }).collect();
    // Processes that cannot be killed belong to another user.
    drop(sweep_session(session, &known));
}

/// Closes everything that is open in a session, and ends it with a fault.
pub fn end_session(
    log: &dyn SessionLog,
    host: &HostEnvironment,
    session: &SessionRecord,
    fault: Fault,
) -> Result<(), StoreError> {
    let mut repair = SessionRepair::new(session.id.clone(), &session.agent);
    let mut after = 0;
    while after < session.head {
        let page = PageQuery { after, limit: MAX_PAGE_EVENTS, max_bytes: MAX_PAGE_BYTES, kinds: &[] };
        let (rows, _) = log.read_sound_rows(&session.id, page)?;
        let Some(last) = rows.last() else { break };
        after = last.seq;
        for row in &rows {
            repair.replay_event(&row.decode(&session.id)?);
        }
    }
    append_end(log, repair.finish(fault, (host.now)()))
}

fn append_end(log: &dyn SessionLog, events: Vec<Event>) -> Result<(), StoreError> {
    let Some(last) = events.last() else { return Ok(()) };
    let end = match &last.body {
        EventBody::SessionEnded(ended) => Some(SessionEnd { at: last.at, how: (**ended).clone() }),
        _ => None,
    };
    let session = last.session.clone();
    let (done, committed) = sync_channel(1);
    log.append_batch(EventBatch {
        session,
        events: Arc::new(EventChunk::try_from(events)?),
        update: SessionPatch { state: Some(SessionPhase::Failed), end, ..SessionPatch::default() },
        done: Box::new(move |result| drop(done.send(result))),
    });
    committed.recv().unwrap_or(Err(StoreError::Closed))
}
