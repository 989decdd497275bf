//! The identity of a node on disk. Several processes can share a data directory: each has a slot of its own, with a lock
//! and an index.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use switchboard_store::StoreError;
use uuid::Uuid;

/// The maximum number of processes that share a data directory.
const MAX_SLOTS: u32 = 64;

/// The identity of this process in the cluster.
pub struct NodeIdentity {
    /// The ID of the data directory.
    pub node: String,
    /// The slot in the data directory.
    pub slot: u32,
    /// The ID of this process.
    pub incarnation: String,
    /// The file of the index.
    pub index: PathBuf,
    /// Held until the process ends: its holder knows that earlier processes of the slot have ended.
    _lock: File,
}

impl NodeIdentity {
    /// Takes the first free slot of a data directory.
    pub fn acquire(data_directory: &Path) -> Result<Self, StoreError> {
        let directory = data_directory.join("cluster");
        DirBuilder::new().mode(0o700).recursive(true).create(&directory).map_err(path_error(&directory))?;
        for slot in 0..MAX_SLOTS {
            let path = directory.join(format!("slot-{slot}.lock"));
            let lock = private_file().create(true).truncate(false).open(&path).map_err(path_error(&path))?;
            match lock.try_lock() {
                Ok(()) => {
                    let node = read_or_create_id(&directory.join("node-id"))?;
                    let index = directory.join(format!("index-{slot}.db"));
                    return Ok(Self { node, slot, incarnation: Uuid::now_v7().to_string(), index, _lock: lock });
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(path_error(&path)(error)),
            }
        }
        Err(StoreError::Cluster(format!("{} is used by {MAX_SLOTS} processes already", directory.display())))
    }
}

fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// Reads the ID of the data directory. It is complete as soon as it exists, because it is linked into place.
fn read_or_create_id(path: &Path) -> Result<String, StoreError> {
    if let Some(id) = read_id(path)? {
        return Ok(id);
    }
    let new = path.with_extension(Uuid::now_v7().to_string());
    let mut file = private_file().create_new(true).open(&new).map_err(path_error(&new))?;
    file.write_all(Uuid::now_v7().to_string().as_bytes()).and_then(|()| file.sync_all()).map_err(path_error(&new))?;
    let linked = fs::hard_link(&new, path);
    fs::remove_file(&new).map_err(path_error(&new))?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(path_error(path)(error)),
        _ => read_id(path)?.ok_or_else(|| StoreError::Cluster(format!("{} is empty", path.display()))),
    }
}

fn read_id(path: &Path) -> Result<Option<String>, StoreError> {
    match fs::read_to_string(path) {
        Ok(id) => Ok(Some(id.trim().to_owned()).filter(|id| !id.is_empty())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(path_error(path)(error)),
    }
}

fn path_error(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full,
        _ => StoreError::Folder(path, error),
    }
}

#[cfg(test)]
mod tests {
    use super::NodeIdentity;

    #[test]
    fn processes_share_a_directory_and_keep_its_id() {
        let directory = tempfile::tempdir().unwrap();
        let first = NodeIdentity::acquire(directory.path()).unwrap();
        let second = NodeIdentity::acquire(directory.path()).unwrap();
        assert_eq!((first.slot, second.slot), (0, 1));
        assert_eq!(first.node, second.node);
        assert_ne!(first.incarnation, second.incarnation);
        let before = first.incarnation.clone();
        drop(first);
        let again = NodeIdentity::acquire(directory.path()).unwrap();
        assert_eq!((again.slot, &again.node), (0, &second.node));
        assert_ne!(again.incarnation, before);
    }
}
