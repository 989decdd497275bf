//! The folder where sessions are kept, and the engine that works on it.

use std::{path::PathBuf, sync::Arc};

use switchboard_engine::{Engine, this_process};
use switchboard_store::{Options, Store};

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
