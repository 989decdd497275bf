//! A checkup where the index is damaged: the logs are read into another one, which is thrown away.

use switchboard_agents::ScanDepth;
use switchboard_logs::{LogLibrary, LogsError};

use super::checkup::Checkup;
use crate::{
    failure::Failure,
    host,
    logs::place::{Place, refresh},
};

/// All that can be told without the index, and what is wrong with it. Fails with the error if that was something else, or
/// if there is no room for another index.
pub fn checkup(place: &Place, error: LogsError) -> Result<Checkup, Failure> {
    let data = place.data()?;
    let Some(health) = LogLibrary::describe_damage(&data, &error) else { return Err(error.into()) };
    let Ok(folder) = tempfile::Builder::new().prefix("checkup-").tempdir_in(&data) else { return Err(error.into()) };
    let library = place.library_in(folder.path())?;
    refresh(&library, ScanDepth::All)?;
    Ok(Checkup { health, ..Checkup::of(&library, &place.looked_in()?, host::now())? })
}
