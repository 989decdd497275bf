//! The library, opened when it is first needed and brought up to date before it is asked.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use switchboard_agents::ScanDepth;
use switchboard_logs::LogLibrary;

use crate::{failure::Failure, logs::Place};

/// What was up to date a moment ago still is.
const MOMENT: Duration = Duration::from_secs(2);

/// The library.
pub struct Archive {
    place: Place,
    open: Mutex<Option<(LogLibrary, Option<Instant>)>>,
}

impl Archive {
    /// Nothing is opened yet.
    pub fn new(place: Place) -> Self {
        Self { place, open: Mutex::default() }
    }

    /// Asks the library as it is now. Questions wait for each other: there is one agent who asks.
    pub fn ask<T>(&self, question: impl FnOnce(&LogLibrary) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut open = self.open.lock();
        if open.is_none() {
            *open = Some((self.place.library(false)?, None));
        }
        let Some((library, current)) = &mut *open else {
            return Err(Failure::Machine("the index of logs could not be opened".to_owned()));
        };
        if current.is_none_or(|at| at.elapsed() > MOMENT) {
            library.refresh_index(ScanDepth::All, &|_| {})?;
            *current = Some(Instant::now());
        }
        question(library)
    }
}
