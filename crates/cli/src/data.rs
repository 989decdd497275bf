//! The folder where sessions are kept, and the engine that works on it.

use std::{path::PathBuf, sync::Arc};

use switchboard_engine::{Engine, this_process};
use switchboard_store::{Log as _, Options, Store};

use crate::{failure::Failure, host};

/// Opens the log to run sessions, and ends what a crash left open.
pub fn engine(folder: Option<PathBuf>) -> Result<Engine, Failure> {
    let folder = host::data_folder(folder)?;
    let options = Options { owner: Some(this_process()), ..Options::default() };
    let store = Store::open(&folder, &options)?;
    let engine = Engine::new(Arc::new(store), host::machine_with(folder.join("tmp"))?);
    engine.recover()?;
    Ok(engine)
}

/// Opens the log to look at sessions, or to delete some. What a crash left open is ended first, so that nothing is said
/// to run that does not.
pub fn log(folder: Option<PathBuf>) -> Result<Arc<Store>, Failure> {
    let folder = host::data_folder(folder)?;
    let store = Store::open(&folder, &Options::default())?;
    if !store.is_read_only() && !store.abandoned()?.is_empty() {
        drop(engine(Some(folder))?);
    }
    Ok(Arc::new(store))
}
