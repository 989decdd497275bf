//! Watches all homes for logs that grow, and derives the state of running sessions.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::{Duration, Instant},
};

use switchboard_event::{Event, Timestamp};
use switchboard_store::{SessionLog, SessionRecord};

use super::file_watcher::{FileWatcher, WatchSignal};
use super::follower::{DatabaseFollower, IdleLog, LogFollower, LogGrowth, LogKey};
use super::log_files::LiveLogFile;
use super::own_sessions::OwnSessionTracker;
use super::running_session::{RunningSession, SessionUsageCache};
use super::{log_files, running_session};
use crate::{AgentHome, LogFilter, LogsError, read::database_of_side_file, usage::TokenPrices};

pub struct WatcherConfig {
    /// The agents' directories.
    pub homes: Vec<AgentHome>,
    /// Switchboard's own log.
    pub own: Option<OwnLogLocation>,
    /// Sessions that grew within this time are running.
    pub within: Duration,
    /// Restricts the watcher to this session, by its ID, a prefix of it, or `last`, even if it is not running.
    pub only: Option<String>,
    /// Restricts the sessions; its times are ignored.
    pub wanted: LogFilter,
    pub prices: Cow<'static, TokenPrices>,
    pub now: fn() -> Timestamp,
}

/// Switchboard's own log, to be watched.
pub struct OwnLogLocation {
    pub log: Arc<dyn SessionLog>,
    /// The directory that contains it.
    pub folder: PathBuf,
}

/// The result of waiting.
#[derive(Debug)]
pub enum WatchUpdate {
    /// These sessions changed.
    Changed(Vec<SessionChange>),
    /// Nothing changed before the timeout.
    Quiet,
    /// The watcher was stopped.
    Stopped,
}

#[derive(Debug)]
pub struct SessionChange {
    /// The session, as in [`Running::id`].
    pub id: String,
    pub agent: String,
    /// New events, if only this session is watched.
    pub events: Vec<Event>,
}

/// Stops a waiting watcher from another thread.
#[derive(Clone)]
pub struct WatcherStopHandle(Sender<WatchSignal>);

/// Polling intervals if watching does not work: for growing files, and for all directories.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
const FULL_RESCAN_INTERVAL: Duration = Duration::from_secs(10);

/// A file being copied is written without pauses of this length.
const MIN_APPEND_PAUSE: Duration = Duration::from_millis(500);

pub struct LogWatcher {
    pub(super) setup: WatcherConfig,
    pub(super) file_watcher: FileWatcher,
    inbox: Receiver<WatchSignal>,
    tell: Sender<WatchSignal>,
    pub(super) logs: BTreeMap<LogKey, LogFollower>,
    pub(super) bases: BTreeMap<PathBuf, DatabaseFollower>,
    /// Known files, and when each last changed.
    changed_paths: HashMap<PathBuf, Option<Instant>>,
    /// Logs that do not grow, by session. A session that waits for a subagent is one of them.
    pub(super) asleep: HashMap<String, IdleLog>,
    pub(super) own: Option<OwnSessionTracker>,
    /// The cached usage of sessions.
    pub(super) sums: SessionUsageCache,
    own_is_due: bool,
    /// The only watched session was resolved.
    pub(super) is_found: bool,
    /// Events of the only session from before it was watched.
    pub(super) first: Vec<Event>,
    looked: Instant,
    looked_around: Instant,
}

impl WatcherStopHandle {
    pub fn stop(&self) {
        // A watcher that is gone has stopped.
        self.0.send(WatchSignal::Stop).ok();
    }
}

impl LogWatcher {
    /// Starts watching.
    ///
    /// # Errors
    /// If the only session does not exist or is ambiguous.
    pub fn open(mut setup: WatcherConfig) -> Result<Self, LogsError> {
        setup.homes.retain(|home| setup.wanted.has_agent(home.logs.agent));
        let (tell, inbox) = channel();
        let file_watcher = FileWatcher::new(tell.clone());
        let own = setup.own.as_ref().map(|ours| OwnSessionTracker::new(ours.log.clone()));
        let now = Instant::now();
        let mut watcher = Self {
            setup,
            file_watcher,
            inbox,
            tell,
            logs: BTreeMap::new(),
            bases: BTreeMap::new(),
            changed_paths: HashMap::new(),
            asleep: HashMap::new(),
            own,
            sums: SessionUsageCache::new(),
            own_is_due: true,
            is_found: false,
            first: Vec::new(),
            looked: now,
            looked_around: now,
        };
        if let Some(ours) = &watcher.setup.own {
            watcher.file_watcher.watch_directory(&ours.folder);
        }
        watcher.resolve_last_session()?;
        watcher.rescan_homes();
        let changes = watcher.read_due();
        watcher.resolve_only_session()?;
        watcher.keep_initial_events(changes);
        Ok(watcher)
    }

    /// Takes the last events of the only session from before it was watched.
    pub fn take_initial_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.first)
    }

    /// Returns why changes are polled instead of watched, if so.
    #[must_use]
    pub fn watch_error(&self) -> Option<&str> {
        self.file_watcher.watch_error()
    }

    /// Returns a handle that stops the watcher.
    #[must_use]
    pub fn stop_handle(&self) -> WatcherStopHandle {
        WatcherStopHandle(self.tell.clone())
    }

    /// Returns the running sessions, latest first.
    pub fn running_sessions(&mut self) -> Vec<RunningSession> {
        running_session::collect_running_sessions(self)
    }

    /// Waits for a change, at most this long.
    pub fn next_update(&mut self, at_most: Duration) -> WatchUpdate {
        let deadline = Instant::now() + at_most;
        loop {
            let changes = self.read_due();
            if !changes.is_empty() {
                return WatchUpdate::Changed(changes);
            }
            let now = Instant::now();
            if now >= deadline {
                self.find_new_homes();
                let ended = self.drop_idle_logs();
                return if ended.is_empty() { WatchUpdate::Quiet } else { WatchUpdate::Changed(ended) };
            }
            match self.inbox.recv_timeout(self.next_wake(deadline).saturating_duration_since(now)) {
                Ok(WatchSignal::Stop) | Err(RecvTimeoutError::Disconnected) => return WatchUpdate::Stopped,
                Ok(changed_paths) => {
                    if self.handle_signals(changed_paths).is_break() {
                        return WatchUpdate::Stopped;
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.poll_if_due(),
            }
        }
    }

    /// Returns when to wake up without a signal.
    fn next_wake(&self, deadline: Instant) -> Instant {
        let due = self.logs.values().filter_map(|log| log.due).min();
        let look = self.watch_error().is_some().then(|| self.looked + POLL_INTERVAL);
        [Some(deadline), due, look].into_iter().flatten().min().unwrap_or(deadline)
    }

    fn handle_signals(&mut self, first: WatchSignal) -> ControlFlow<()> {
        let mut next = Some(first);
        let mut last = None;
        while let Some(changed_paths) = next {
            match changed_paths {
                WatchSignal::Stop => return ControlFlow::Break(()),
                WatchSignal::EventsLost => self.rescan_homes(),
                // One write causes several signals.
                WatchSignal::Changed(path) if last.as_ref() == Some(&path) => {}
                WatchSignal::Changed(path) => {
                    self.handle_path(&path);
                    last = Some(path);
                }
            }
            next = self.inbox.try_recv().ok();
        }
        ControlFlow::Continue(())
    }

    fn handle_path(&mut self, path: &PathBuf) {
        if self.setup.own.as_ref().is_some_and(|ours| path.parent() == Some(&ours.folder)) {
            self.own_is_due = true;
        }
        if let Some(log) = self.logs.get_mut(&LogKey::for_file(path)) {
            log.mark_due();
            return;
        }
        if path.is_dir() {
            self.file_watcher.remove_directory(path);
        }
        // SQLite first writes the files next to the database.
        let database = database_of_side_file(path).map(|(database, _)| database);
        let path = database.as_ref().unwrap_or(path);
        for home in log_files::homes_containing(&self.setup.homes, path) {
            self.scan_below(home, path);
        }
    }

    fn scan_below(&mut self, home: usize, path: &Path) {
        let mut found = Vec::new();
        log_files::find_below(&self.setup.homes, home, path, &mut self.file_watcher, &mut |log| found.push(log));
        // It was written just now, whatever its modification time.
        for log in found {
            let growth = match self.changed_paths.insert(log.path.clone(), Some(Instant::now())) {
                Some(before) if before.is_none_or(|before| before.elapsed() >= MIN_APPEND_PAUSE) => LogGrowth::Seen,
                _ => LogGrowth::Recent,
            };
            self.note_log(log, growth);
        }
    }

    /// Polls if watching does not work.
    fn poll_if_due(&mut self) {
        if self.watch_error().is_none() || self.looked.elapsed() < POLL_INTERVAL {
            return;
        }
        self.looked = Instant::now();
        self.own_is_due = true;
        if self.looked_around.elapsed() >= FULL_RESCAN_INTERVAL {
            self.rescan_homes();
        }
        self.logs.values_mut().for_each(LogFollower::mark_due);
    }

    /// An agent may run for the first time.
    fn find_new_homes(&mut self) {
        let is_new = |home: &AgentHome| !self.file_watcher.is_watching(&home.folder) && home.folder.is_dir();
        let new = self.setup.homes.iter().enumerate().filter(|(_, home)| is_new(home)).map(|(number, _)| number);
        let (new, mut found): (Vec<usize>, _) = (new.collect(), Vec::new());
        for number in new {
            log_files::find_in_home(&self.setup.homes, number, &mut self.file_watcher, &mut |log| found.push(log));
        }
        found.into_iter().for_each(|log| self.add_found_log(log));
    }

    fn rescan_homes(&mut self) {
        self.looked_around = Instant::now();
        let mut found = Vec::new();
        log_files::find_log_files(&self.setup.homes, &mut self.file_watcher, &mut |log| found.push(log));
        found.into_iter().for_each(|log| self.add_found_log(log));
    }

    fn add_found_log(&mut self, log: LiveLogFile) {
        self.changed_paths.entry(log.path.clone()).or_default();
        let age = Duration::from_millis((self.setup.now)().millis_since(log.written));
        self.note_log(log, if age <= self.setup.within { LogGrowth::Recent } else { LogGrowth::None });
    }

    fn read_due(&mut self) -> Vec<SessionChange> {
        let mut changes = self.read_logs();
        // A log that turned out to be a copy is not active.
        let slept = self.drop_idle_logs();
        changes.retain(|change| !slept.iter().any(|gone| (&gone.id, &gone.agent) == (&change.id, &change.agent)));
        changes.extend(slept);
        if std::mem::take(&mut self.own_is_due) {
            changes.extend(self.read_own_sessions());
        }
        changes
    }

    fn read_own_sessions(&mut self) -> Vec<SessionChange> {
        let Some(mut own) = self.own.take() else { return Vec::new() };
        let changed = own.read(self.setup.only.is_some(), &self.setup.prices);
        self.own = Some(own);
        let change = |(session, events): (SessionRecord, Vec<Event>)| {
            let id = session.agent_session.as_ref().unwrap_or(&session.id).to_string();
            // The agent's log has the same events and more.
            let events = if self.has_log(&id) { Vec::new() } else { events };
            SessionChange { id, agent: session.agent.to_string(), events }
        };
        changed.into_iter().map(change).collect()
    }
}
