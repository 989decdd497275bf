//! A session for machines: messages of a dialect, one JSON object a line, as they come.

use std::io::{self, Write as _};

use switchboard_dialects::{Dialect, Messages};
use switchboard_engine::Session;

use crate::failure::Failure;

/// Writes the session to its end.
pub async fn follow(session: &Session, dialect: &Dialect) -> Result<(), Failure> {
    let mut projection = (dialect.projection)();
    let mut messages = Messages::default();
    let mut follower = session.follow();
    while let Some(events) = follower.next().await? {
        for event in events {
            projection.event(&event, &mut messages);
        }
        write(&messages).map_err(Failure::Output)?;
        messages.clear();
    }
    Ok(())
}

fn write(messages: &Messages) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for message in messages.iter() {
        out.write_all(message)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}
