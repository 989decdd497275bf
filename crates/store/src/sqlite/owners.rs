//! Which processes run sessions, which of them live, and what the dead have left behind. A process lives as long as it
//! holds the lock of its file; the kernel lets go of it, however the process ends.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
};

use rusqlite::{Connection, Row};
use switchboard_event::Id;

use super::{file, read};
use crate::{Abandoned, Owner, Process, Registered, StoreError};

/// The folder with the locks.
#[derive(Clone, Debug)]
pub(super) struct Owners(Arc<Path>);

impl Owners {
    pub fn new(folder: &Path) -> Result<Self, StoreError> {
        let folder = folder.join("owners");
        file::make_folder(&folder)?;
        Ok(Self(folder.into()))
    }

    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Enters this process. The lock is held before anybody can see the entry.
    pub fn register(&self, connection: &Connection, owner: &Owner) -> Result<(u64, File), StoreError> {
        let transaction = file::begin(connection)?;
        self.prune(&transaction)?;
        transaction.execute(
            "INSERT INTO owners (pid, start, boot) VALUES (?1, ?2, ?3)",
            (owner.process.pid, owner.process.start, owner.boot.as_str()),
        )?;
        let number = transaction.last_insert_rowid().unsigned_abs();
        let path = self.lock_path(number);
        let lock = file::create(&path)?;
        lock.try_lock().map_err(|error| file::at(&path)(error.into()))?;
        transaction.commit()?;
        Ok((number, lock))
    }

    /// All that are entered.
    pub fn all(&self, connection: &Connection) -> Result<Vec<Registered>, StoreError> {
        let mut select = connection.prepare_cached("SELECT number, pid, start, boot FROM owners ORDER BY number")?;
        let owners = select.query_map([], |row| self.registered(row))?;
        Ok(owners.collect::<Result<_, _>>()?)
    }

    /// Somebody holds the lock. If that cannot be told, somebody does.
    pub fn is_alive(&self, number: u64) -> bool {
        match File::open(self.lock_path(number)) {
            // A shared lock, so that two who look at once do not take each other for the owner.
            Ok(lock) => !matches!(lock.try_lock_shared(), Ok(())),
            Err(error) => error.kind() != std::io::ErrorKind::NotFound,
        }
    }

    /// Open sessions of others who are dead.
    pub fn abandoned(&self, connection: &Connection, me: Option<u64>) -> Result<Vec<Abandoned>, StoreError> {
        let mut select = connection.prepare_cached("SELECT DISTINCT owner FROM sessions WHERE open = 1")?;
        let owners: Vec<Option<u64>> = select.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let is_dead = |owner: &Option<u64>| *owner != me && owner.is_none_or(|owner| !self.is_alive(owner));
        let mut found = Vec::new();
        for owner in owners.into_iter().filter(is_dead) {
            for session in read::open_of(connection, owner)? {
                let mut runs = read::runs(connection, session.number)?;
                runs.retain(|run| run.ended.is_none());
                found.push(Abandoned { session, runs });
            }
        }
        Ok(found)
    }

    /// Gives them to one of the living. Transactions that write exclude each other, so nobody else gets them too.
    pub fn take_over(&self, connection: &Connection, me: u64) -> Result<Vec<Abandoned>, StoreError> {
        let mut abandoned = self.abandoned(connection, Some(me))?;
        let mut update = connection.prepare_cached("UPDATE sessions SET owner = ?2 WHERE number = ?1")?;
        for left in &mut abandoned {
            update.execute((left.session.number, me))?;
            left.session.owner = Some(me);
        }
        Ok(abandoned)
    }

    /// Forgets the dead who left nothing open, and removes all that is named after them.
    fn prune(&self, connection: &Connection) -> Result<(), StoreError> {
        let mut left = connection.prepare("SELECT EXISTS (SELECT 1 FROM sessions WHERE open = 1 AND owner = ?1)")?;
        for Registered { number, .. } in self.all(connection)?.into_iter().filter(|owner| !owner.alive) {
            if !left.query_row([number], |row| row.get::<_, bool>(0))? {
                connection.execute("DELETE FROM owners WHERE number = ?1", [number])?;
                for ending in ["lock", "sock"] {
                    // If it is not there or stays there, nobody is hurt: the number is not used again.
                    drop(fs::remove_file(self.0.join(format!("{number}.{ending}"))));
                }
            }
        }
        Ok(())
    }

    fn registered(&self, row: &Row<'_>) -> rusqlite::Result<Registered> {
        let number = row.get(0)?;
        let process = Process { pid: row.get(1)?, start: row.get(2)? };
        let owner = Owner { process, boot: Id::from(row.get::<_, String>(3)?) };
        Ok(Registered { number, owner, alive: self.is_alive(number) })
    }

    fn lock_path(&self, number: u64) -> PathBuf {
        self.0.join(format!("{number}.lock"))
    }
}
