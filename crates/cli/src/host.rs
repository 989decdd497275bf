//! What the machine gives: the clock, fresh ids, files and pipes. The only place that asks for them.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use switchboard_event::{Id, Timestamp};

/// The time now.
#[expect(clippy::disallowed_methods, reason = "this is the one place with a clock")]
pub fn now() -> Timestamp {
    Timestamp::from_micros(jiff::Timestamp::now().as_microsecond()).unwrap_or_default()
}

/// An id that nothing else has.
pub fn fresh_id() -> Id {
    Id::from(uuid::Uuid::now_v7().to_string())
}

/// Opens a file, or standard input if it is `-` or not named.
pub fn open(path: Option<&Path>) -> io::Result<Box<dyn Read>> {
    match path {
        Some(path) if path != Path::new("-") => Ok(Box::new(File::open(path)?)),
        _ => Ok(Box::new(io::stdin().lock())),
    }
}
