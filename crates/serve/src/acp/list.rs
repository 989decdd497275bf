//! Sessions as an editor lists them: with a title that says what they were about.

use agent_client_protocol::v1::schema::SessionInfo;
use switchboard_event::{Event, EventBody, Kind};
use switchboard_store::{PageQuery, SessionFilter, SessionLog, SessionRecord, StoreError};

/// So many sessions are listed at once.
pub const PAGE: usize = 50;

/// How much of a prompt stands for a title.
const TITLE: usize = 80;

/// The turns in which the first prompt is looked for.
const FIRST_TURNS: PageQuery = PageQuery { after: 0, limit: 8, max_bytes: 256 << 10, kinds: &[Kind::TurnStarted] };

/// A page of a list.
pub struct Listed {
    pub sessions: Vec<SessionInfo>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// The sessions that fit, the latest first. One that was opened and never used is not worth a line.
pub fn page(log: &dyn SessionLog, filter: &SessionFilter) -> Result<Listed, StoreError> {
    let found = log.list_sessions(filter)?;
    let next = found.last().filter(|_| found.len() == PAGE).map(|last| last.number.to_string());
    let used = found.iter().filter(|session| session.turns > 0);
    let sessions = used.map(|session| Ok(info(session, title(log, session)?))).collect::<Result<_, StoreError>>()?;
    Ok(Listed { sessions, next })
}

fn info(session: &SessionRecord, title: String) -> SessionInfo {
    SessionInfo::new(session.id.to_string(), session.cwd.clone())
        .title(Some(title).filter(|title| !title.is_empty()))
        .updated_at(session.updated.to_string())
}

/// What the session is called, or what was asked first.
fn title(log: &dyn SessionLog, session: &SessionRecord) -> Result<String, StoreError> {
    let known = session.title.as_deref().unwrap_or(&session.prompt);
    let asked = if known.trim().is_empty() { first_prompt(log, session)? } else { known.to_owned() };
    let words = asked.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(words.get(..words.floor_char_boundary(TITLE)).unwrap_or_default().to_owned())
}

/// A session that began without a prompt got its first one later.
fn first_prompt(log: &dyn SessionLog, session: &SessionRecord) -> Result<String, StoreError> {
    let (rows, _) = log.read_sound_rows(&session.id, FIRST_TURNS)?;
    let first = rows.iter().find_map(|row| match Event::from_json(&row.json).ok()?.body {
        EventBody::TurnStarted(turn) => turn.prompt,
        _ => None,
    });
    Ok(first.unwrap_or_default())
}
