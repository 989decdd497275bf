//! A session for machines: messages of a dialect, one JSON object a line, as they come.

use std::io::{self, Write as _};

use switchboard_dialects::{Dialect, Messages};
use switchboard_engine::Session;

use super::signals::Signals;
use crate::failure::Failure;

/// Writes the session to its end.
pub async fn follow(session: &Session, dialect: &Dialect, signals: &mut Signals) -> Result<(), Failure> {
    let mut projection = (dialect.projection)();
    let mut messages = Messages::default();
    let mut follower = session.follow();
    loop {
        let events = tokio::select! {
            events = follower.next() => events?,
            _ = signals.obey(session) => continue,
        };
        let Some(events) = events else { return Ok(()) };
        events.for_each(|event| projection.event(event, &mut messages))?;
        write(&messages).map_err(Failure::Output)?;
        messages.clear();
    }
}

fn write(messages: &Messages) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for message in messages.iter() {
        out.write_all(message)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}
