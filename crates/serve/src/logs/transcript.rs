//! What was said and done in a session of the logs, in messages of a dialect.

use switchboard_dialects::{Dialect, MessageBuffer};
use switchboard_event::Event;
use switchboard_logs::{LogLibrary, LogSession, Transcript, export};

use crate::Problem;

/// A page has about so many bytes at most; but always a message.
const LARGEST: usize = 4 << 20;

/// A page of messages.
#[derive(Debug, Default)]
pub struct Page {
    /// The messages, each JSON.
    pub messages: Vec<Vec<u8>>,
    /// Where the next page begins; nothing if this is the last.
    pub next: Option<u64>,
    /// The agent has deleted the log: this is what was kept of it.
    pub is_kept: bool,
}

/// All events of a session: from its log, or of what was kept of it.
///
/// # Errors
/// If neither can be read.
fn events(library: &LogLibrary, session: &LogSession) -> Result<(Vec<Event>, bool), Problem> {
    Ok(match library.read_transcript(session)? {
        Transcript::Events(events) => (events, false),
        Transcript::Kept(kept) => (export::kept::rebuild_events(session, &kept), true),
    })
}

/// So many messages of a session, from a place on.
///
/// # Errors
/// If the session cannot be read.
pub fn page(
    library: &LogLibrary,
    session: &LogSession,
    dialect: &Dialect,
    offset: u64,
    limit: usize,
) -> Result<Page, Problem> {
    let (events, is_kept) = events(library, session)?;
    let (mut projection, mut messages) = ((dialect.projection)(), MessageBuffer::default());
    let (mut page, mut place, mut bytes) = (Page { is_kept, ..Page::default() }, 0_u64, 0_usize);
    for event in &events {
        projection.project_event(event, &mut messages);
        for message in messages.iter() {
            if place >= offset {
                let is_full = page.messages.len() >= limit || (bytes > 0 && bytes + message.len() > LARGEST);
                if is_full {
                    page.next = Some(place);
                    return Ok(page);
                }
                bytes += message.len();
                page.messages.push(message.to_vec());
            }
            place += 1;
        }
        messages.clear();
    }
    Ok(page)
}
