//! The node's index of the log: a SQLite file that is made of frames and can be rebuilt at any time. One thread writes;
//! it commits what is queued in one transaction and then calls back.

mod apply;
mod read;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};
use switchboard_event::Id;
use switchboard_store::{Checkpoint, StoreError};
use tokio::sync::watch;
use tracing::warn;

pub use self::read::FramePosition;
use crate::{frame::Frame, record::FrameOwner};

/// The version of the schema and of what is stored with it; an index of another version is rebuilt.
const INDEX_VERSION: i64 = 2;

/// `swbi`: distinguishes the index from other files.
const APPLICATION_ID: i64 = 0x7377_6269;

/// The maximum number of requests in one transaction.
const MAX_GROUP: usize = 512;

/// The interval of attempts if the disk is full.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

const MAX_IDLE_READERS: usize = 4;

/// A frame with its stream sequence.
#[derive(Clone, Debug)]
pub struct StoredFrame {
    pub sequence: u64,
    pub frame: Frame,
}

/// A change of the index.
pub enum IndexChange {
    /// Applies frames in order. Those that were applied before are skipped.
    Frames(Vec<StoredFrame>),
    /// Applies all frames up to a stream sequence.
    Progress(Vec<StoredFrame>, u64),
    SaveCheckpoint(Id, Box<Checkpoint>),
    /// Remembers a session that its owner is about to delete, until its frames and objects are removed.
    AddGarbage(Id, FrameOwner),
    RemoveGarbage(Id),
}

/// Called on the index thread once the change is committed. `Err` means that the log was closed before.
pub type IndexCallback = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

type QueuedChange = (Option<IndexChange>, Option<IndexCallback>);

/// The index of a node.
pub struct SessionIndex {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    queue: Mutex<Option<Sender<QueuedChange>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    progress: watch::Receiver<u64>,
    is_failing: Arc<AtomicBool>,
    is_closing: Arc<AtomicBool>,
}

impl SessionIndex {
    /// Opens the index, or creates it anew if it is missing, damaged, of another version or of another stream.
    pub fn open(path: &Path, stream: &str) -> Result<Self, StoreError> {
        let connection = match open_existing(path, stream) {
            Some(connection) => connection,
            None => create(path, stream)?,
        };
        let applied = connection.query_row("SELECT sequence FROM progress", [], |row| row.get(0))?;
        let (sender, progress) = watch::channel(applied);
        let (queue, changes) = channel();
        let (is_failing, is_closing) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let writer = IndexWriter {
            connection,
            changes,
            progress: sender,
            is_failing: is_failing.clone(),
            is_closing: is_closing.clone(),
        };
        let thread = thread::Builder::new().name("log-index".to_owned()).spawn(move || writer.run());
        let thread = thread.map_err(|error| StoreError::Folder(path.to_owned(), error))?;
        Ok(Self {
            path: path.to_owned(),
            idle: Mutex::default(),
            queue: Mutex::new(Some(queue)),
            thread: Mutex::new(Some(thread)),
            progress,
            is_failing,
            is_closing,
        })
    }

    /// Returns the stream sequence up to which all frames are applied.
    pub fn applied(&self) -> u64 {
        *self.progress.borrow()
    }

    /// Waits until all frames up to a stream sequence are applied. Returns `false` if the index is closed.
    pub async fn wait_for(&self, sequence: u64) -> bool {
        self.progress.clone().wait_for(|applied| *applied >= sequence).await.is_ok()
    }

    /// Returns whether changes cannot be written, because the disk is full.
    pub fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Queues a change. The callback runs after all callbacks queued before.
    pub fn submit(&self, change: Option<IndexChange>, callback: Option<IndexCallback>) {
        let queue = self.queue.lock();
        let refused = match &*queue {
            Some(queue) => queue.send((change, callback)).err().map(|refused| refused.0.1),
            None => Some(callback),
        };
        drop(queue);
        if let Some(Some(callback)) = refused {
            callback(Err(StoreError::Closed));
        }
    }

    /// Applies frames and waits until they are committed.
    pub async fn apply(&self, change: IndexChange) -> Result<(), StoreError> {
        let (send, receive) = tokio::sync::oneshot::channel();
        self.submit(Some(change), Some(Box::new(move |outcome| drop(send.send(outcome)))));
        receive.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Runs a query.
    pub fn with_connection<T>(&self, ask: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let kept = self.idle.lock().pop();
        let connection = match kept {
            Some(connection) => connection,
            None => {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let connection = Connection::open_with_flags(&self.path, flags)?;
                connection.busy_timeout(Duration::from_secs(5))?;
                connection
            }
        };
        let answer = ask(&connection);
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE_READERS {
            idle.push(connection);
        }
        answer
    }

    /// Finishes the queue and ends the thread.
    pub fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
        drop(self.queue.lock().take());
        let thread = self.thread.lock().take();
        drop(thread.map(JoinHandle::join));
    }
}

/// The state of the index thread.
struct IndexWriter {
    connection: Connection,
    changes: Receiver<QueuedChange>,
    progress: watch::Sender<u64>,
    is_failing: Arc<AtomicBool>,
    is_closing: Arc<AtomicBool>,
}

impl IndexWriter {
    fn run(mut self) {
        while let Ok(first) = self.changes.recv() {
            let mut group = vec![first];
            while group.len() < MAX_GROUP {
                let Ok(next) = self.changes.try_recv() else { break };
                group.push(next);
            }
            let outcome = self.commit_until_written(&group);
            for (_, callback) in group {
                if let Some(callback) = callback {
                    callback(if outcome { Ok(()) } else { Err(StoreError::Closed) });
                }
            }
        }
    }

    /// Commits a group, as soon as there is space for it. Frames are in the log already, so nothing else can be done.
    fn commit_until_written(&mut self, group: &[QueuedChange]) -> bool {
        loop {
            match self.commit(group) {
                Ok(progress) => {
                    self.is_failing.store(false, Ordering::Relaxed);
                    if let Some(progress) = progress {
                        self.progress.send_replace(progress);
                    }
                    return true;
                }
                Err(error) => {
                    if !self.is_failing.swap(true, Ordering::Relaxed) {
                        warn!(%error, "the index of the log cannot be written");
                    }
                    if self.is_closing.load(Ordering::Relaxed) {
                        return false;
                    }
                    thread::sleep(RETRY_INTERVAL);
                }
            }
        }
    }

    fn commit(&mut self, group: &[QueuedChange]) -> Result<Option<u64>, StoreError> {
        if group.iter().all(|(change, _)| change.is_none()) {
            return Ok(None);
        }
        let transaction = self.connection.transaction()?;
        let mut progress = None;
        for change in group.iter().filter_map(|(change, _)| change.as_ref()) {
            apply::apply_change(&transaction, change)?;
            if let IndexChange::Progress(_, sequence) = change {
                progress = Some(*sequence);
            }
        }
        if let Some(progress) = progress {
            transaction.prepare_cached("UPDATE progress SET sequence = max(sequence, ?1)")?.execute([progress])?;
        }
        transaction.commit()?;
        Ok(progress)
    }
}

/// Opens an index of this version and stream, if there is one.
fn open_existing(path: &Path, stream: &str) -> Option<Connection> {
    if !path.is_file() {
        return None;
    }
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).ok()?;
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).ok();
    let is_known = pragma("application_id") == Some(APPLICATION_ID) && pragma("user_version") == Some(INDEX_VERSION);
    let indexed: String = connection.query_row("SELECT stream FROM progress", [], |row| row.get(0)).ok()?;
    let is_sound: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).ok()?;
    if !is_known || indexed != stream || is_sound != "ok" {
        return None;
    }
    configure(&connection).ok()?;
    Some(connection)
}

fn create(path: &Path, stream: &str) -> Result<Connection, StoreError> {
    for suffix in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(suffix);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::Folder(file.into(), error));
            }
            _ => {}
        }
    }
    let connection = Connection::open(path)?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    configure(&connection)?;
    connection.execute_batch(include_str!("schema.sql"))?;
    connection.execute("INSERT INTO progress (stream, sequence) VALUES (?1, 0)", [stream])?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", INDEX_VERSION)?;
    Ok(connection)
}

fn configure(connection: &Connection) -> Result<(), StoreError> {
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}
