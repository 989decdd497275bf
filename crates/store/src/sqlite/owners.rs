//! The processes that run sessions, their liveness, and the sessions that dead ones left open. A process is alive as
//! long as it holds the lock of its file; the kernel releases the lock however the process ends.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::{Connection, Row};
use switchboard_event::Id;

use super::{file, read};
use crate::{AbandonedSession, LogOwner, ProcessIdentity, RegisteredOwner, StoreError};

/// The directory of the lock files.
#[derive(Clone, Debug)]
pub(super) struct OwnerDirectory(Arc<Path>);

impl OwnerDirectory {
    pub fn new(folder: &Path) -> Result<Self, StoreError> {
        let folder = folder.join("owners");
        file::create_private_dir(&folder)?;
        Ok(Self(folder.into()))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Registers this process. The lock is held before the entry becomes visible.
    pub fn register_owner(&self, connection: &Connection, owner: &LogOwner) -> Result<(u64, File), StoreError> {
        let transaction = file::begin_write(connection)?;
        self.prune_dead_owners(&transaction)?;
        transaction.execute(
            "INSERT INTO owners (pid, start, boot) VALUES (?1, ?2, ?3)",
            (owner.process.pid, owner.process.start, owner.boot.as_str()),
        )?;
        let number = transaction.last_insert_rowid().unsigned_abs();
        let path = self.lock_path(number);
        let lock = file::create_private_file(&path)?;
        lock.try_lock().map_err(|error| file::path_error(&path)(error.into()))?;
        transaction.commit()?;
        Ok((number, lock))
    }

    /// Lists all registered owners.
    pub fn list_owners(&self, connection: &Connection) -> Result<Vec<RegisteredOwner>, StoreError> {
        let mut select = connection.prepare_cached("SELECT number, pid, start, boot FROM owners ORDER BY number")?;
        let owners = select.query_map([], |row| self.to_registered_owner(row))?;
        Ok(owners.collect::<Result<_, _>>()?)
    }

    /// Returns whether the lock is held. In doubt, it is.
    pub fn is_alive(&self, number: u64) -> bool {
        match File::open(self.lock_path(number)) {
            // A shared lock, so that two concurrent checks do not mistake each other for the owner.
            Ok(lock) => !matches!(lock.try_lock_shared(), Ok(())),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    }

    /// Lists the open sessions of dead owners, except those of `me`.
    pub fn list_abandoned(
        &self,
        connection: &Connection,
        me: Option<u64>,
    ) -> Result<Vec<AbandonedSession>, StoreError> {
        let mut select = connection.prepare_cached("SELECT DISTINCT owner FROM sessions WHERE open = 1")?;
        let owners: Vec<Option<u64>> = select.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let is_dead = |owner: &Option<u64>| *owner != me && owner.is_none_or(|owner| !self.is_alive(owner));
        let mut found = Vec::new();
        for owner in owners.into_iter().filter(is_dead) {
            for session in read::list_open_sessions(connection, owner)? {
                let mut runs = read::list_runs(connection, session.number)?;
                runs.retain(|run| run.ended.is_none());
                found.push(AbandonedSession { session, runs });
            }
        }
        Ok(found)
    }

    /// Assigns the abandoned sessions to `me`. Write transactions exclude each other, so no other process gets them
    /// too.
    pub fn take_over(&self, connection: &Connection, me: u64) -> Result<Vec<AbandonedSession>, StoreError> {
        let mut abandoned = self.list_abandoned(connection, Some(me))?;
        let mut update = connection.prepare_cached("UPDATE sessions SET owner = ?2 WHERE number = ?1")?;
        for left in &mut abandoned {
            update.execute((left.session.number, me))?;
            left.session.owner = Some(me);
        }
        Ok(abandoned)
    }

    /// Removes dead owners without open sessions, and their files.
    fn prune_dead_owners(&self, connection: &Connection) -> Result<(), StoreError> {
        let mut left = connection.prepare("SELECT EXISTS (SELECT 1 FROM sessions WHERE open = 1 AND owner = ?1)")?;
        for RegisteredOwner { number, .. } in self.list_owners(connection)?.into_iter().filter(|owner| !owner.alive) {
            if !left.query_row([number], |row| row.get::<_, bool>(0))? {
                connection.execute("DELETE FROM owners WHERE number = ?1", [number])?;
                for ending in ["lock", "sock"] {
                    // A missing or remaining file is harmless: the number is never reused.
                    drop(fs::remove_file(self.0.join(format!("{number}.{ending}"))));
                }
            }
        }
        Ok(())
    }

    fn to_registered_owner(&self, row: &Row<'_>) -> rusqlite::Result<RegisteredOwner> {
        let number = row.get(0)?;
        let process = ProcessIdentity { pid: row.get(1)?, start: row.get(2)? };
        let owner = LogOwner { process, boot: Id::from(row.get::<_, String>(3)?) };
        Ok(RegisteredOwner { number, owner, alive: self.is_alive(number) })
    }

    fn lock_path(&self, number: u64) -> PathBuf {
        self.0.join(format!("{number}.lock"))
    }
}
