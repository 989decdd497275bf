//! Sessions as an editor lists them: with a title that says what they were about.

use agent_client_protocol::v1::schema::SessionInfo;
use switchboard_event::{Body, Event};
use switchboard_store::{Filter, Log, Page, Session as Stored, StoreError};

/// So many sessions are listed at once.
pub const PAGE: usize = 50;

/// How much of a prompt stands for a title.
const TITLE: usize = 80;

/// The first turn is found in so much of a session, or it has no title.
const BEGINNING: Page = Page { after: 0, limit: 200, max_bytes: 256 << 10 };

/// What every first turn has in it.
const MARK: &str = r#""kind":"turn.started""#;

/// A page of a list.
pub struct Listed {
    pub sessions: Vec<SessionInfo>,
    /// Where the next page begins, if there is one.
    pub next: Option<String>,
}

/// The sessions that fit, the latest first. One that was opened and never used is not worth a line.
pub fn page(log: &dyn Log, filter: &Filter) -> Result<Listed, StoreError> {
    let found = log.sessions(filter)?;
    let next = found.last().filter(|_| found.len() == PAGE).map(|last| last.number.to_string());
    let used = found.iter().filter(|session| session.turns > 0);
    let sessions = used.map(|session| Ok(info(session, title(log, session)?))).collect::<Result<_, StoreError>>()?;
    Ok(Listed { sessions, next })
}

fn info(session: &Stored, title: String) -> SessionInfo {
    SessionInfo::new(session.id.to_string(), session.cwd.clone())
        .title(Some(title).filter(|title| !title.is_empty()))
        .updated_at(session.updated.to_string())
}

/// What the session is called, or what was asked first.
fn title(log: &dyn Log, session: &Stored) -> Result<String, StoreError> {
    let known = session.title.as_deref().unwrap_or(&session.prompt);
    let asked = if known.trim().is_empty() { first_prompt(log, session)? } else { known.to_owned() };
    let words = asked.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(words.get(..words.floor_char_boundary(TITLE)).unwrap_or_default().to_owned())
}

/// A session that began without a prompt got its first one later.
fn first_prompt(log: &dyn Log, session: &Stored) -> Result<String, StoreError> {
    let (rows, _) = log.sound_rows(&session.id, BEGINNING)?;
    let first = rows.iter().filter(|row| row.json.contains(MARK)).find_map(|row| {
        match Event::from_json(&row.json).ok()?.body {
            Body::TurnStarted(turn) => turn.prompt,
            _ => None,
        }
    });
    Ok(first.unwrap_or_default())
}
