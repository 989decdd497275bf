//! Updates of session and run rows.

use rusqlite::Connection;
use serde::Serialize;
use switchboard_event::{Event, EventBody, Id};

use crate::{AgentRun, ProcessIdentity, SessionPatch, StoreError};

/// Advances the head and the counters of a session to the last of some events.
pub(super) fn advance_head(connection: &Connection, number: u64, events: &[Event]) -> Result<(), StoreError> {
    let Some(last) = events.last() else { return Ok(()) };
    let run = events.iter().map(|event| event.run).max();
    let turn = events.iter().filter_map(|event| event.turn).max();
    connection
        .prepare_cached(
            "UPDATE sessions SET head = ?2, updated = ?3, runs = max(runs, ?4), turns = max(turns, ?5),
                 prompt = CASE prompt WHEN '' THEN coalesce(?6, '') ELSE prompt END
             WHERE number = ?1",
        )?
        .execute((
            number,
            last.seq,
            last.at.as_micros(),
            run.unwrap_or_default(),
            turn.unwrap_or_default(),
            events.iter().find_map(turn_prompt),
        ))?;
    Ok(())
}

/// Returns the prompt of a turn, which becomes the prompt of a session that was created without one.
fn turn_prompt(event: &Event) -> Option<&str> {
    match &event.body {
        EventBody::TurnStarted(turn) => turn.prompt.as_deref(),
        _ => None,
    }
}

/// Applies the changes of a session.
pub(super) fn apply_patch(
    connection: &Connection,
    session: &Id,
    number: u64,
    update: &SessionPatch,
) -> Result<(), StoreError> {
    let SessionPatch { state, end, agent_session, title, config, carry, run } = update;
    if let Some(run) = run {
        write_run(connection, number, run)?;
    }
    // Columns used for filtering are stored in addition to the settings.
    let project = config.as_ref().and_then(|config| config.project_id.as_deref());
    let cwd = config.as_ref().and_then(|config| config.working_directory.as_deref());
    let config = config.as_ref().map(|config| to_stored_json(session, "config", config)).transpose()?;
    let how = end.as_ref().map(|end| to_stored_json(session, "end", &end.how)).transpose()?;
    let is_empty = state.is_none() && how.is_none() && agent_session.is_none() && title.is_none();
    if is_empty && config.is_none() && carry.is_none() {
        return Ok(());
    }
    connection
        .prepare_cached(
            "UPDATE sessions SET state = coalesce(?2, state), open = coalesce(?3, open),
                 agent_session = coalesce(?4, agent_session), title = coalesce(?5, title),
                 config = coalesce(?6, config), carry = coalesce(?7, carry),
                 project = coalesce(?10, project), cwd = coalesce(?11, cwd),
                 ended = CASE ?3 WHEN 1 THEN NULL WHEN 0 THEN coalesce(?8, updated) ELSE ended END,
                 ending = CASE ?3 WHEN 1 THEN NULL WHEN 0 THEN ?9 ELSE ending END
             WHERE number = ?1",
        )?
        .execute((
            number,
            state.map(crate::SessionPhase::name),
            state.map(|state| !state.is_final()),
            agent_session.as_deref(),
            title,
            config,
            carry.as_ref().map(|carry| carry.get()),
            end.as_ref().map(|end| end.at.as_micros()),
            how,
            project,
            cwd,
        ))?;
    Ok(())
}

fn write_run(connection: &Connection, number: u64, run: &AgentRun) -> Result<(), StoreError> {
    let pid = |process: Option<ProcessIdentity>| process.map(|process| process.pid);
    let start = |process: Option<ProcessIdentity>| process.map(|process| process.start);
    connection.prepare_cached("INSERT OR REPLACE INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?.execute((
        number,
        run.run,
        run.boot.as_str(),
        pid(run.supervisor),
        start(run.supervisor),
        pid(run.agent),
        start(run.agent),
        run.started.as_micros(),
        run.ended.map(switchboard_event::Timestamp::as_micros),
    ))?;
    Ok(())
}

/// Serializes a value to its stored JSON.
pub(super) fn to_stored_json(session: &Id, what: &'static str, value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Unreadable { session: session.clone(), what, error })
}
