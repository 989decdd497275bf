//! Watches all homes: which logs grow, and what that means for the sessions that run.

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
use switchboard_store::{Log, Session as Stored};

use super::{
    ears::{Ears, Heard},
    followed::{Base, Followed, Key},
    ground::{self, Found},
    growth::{Asleep, Growth},
    own::Own,
    running::Running,
    together,
    used::Sums,
};
use crate::{Filter, Home, LogsError, read::database_of, usage::Prices};

/// What a watcher is made of.
pub struct Setup {
    /// The agents' folders.
    pub homes: Vec<Home>,
    /// Switchboard's own sessions.
    pub own: Option<Ours>,
    /// What grew in this time is running.
    pub within: Duration,
    /// Only this session, by its id, the beginning of it, or `last`; also if it does not run.
    pub only: Option<String>,
    /// Only what is whose this says; its times do not matter.
    pub wanted: Filter,
    /// What tokens cost.
    pub prices: Cow<'static, Prices>,
    /// The clock.
    pub now: fn() -> Timestamp,
}

/// Switchboard's own sessions.
pub struct Ours {
    /// The log that they are in.
    pub log: Arc<dyn Log>,
    /// The folder that it lies in.
    pub folder: PathBuf,
}

/// What comes next.
#[derive(Debug)]
pub enum Next {
    /// Sessions changed.
    Changed(Vec<Change>),
    /// Nothing happened for so long.
    Quiet,
    /// Somebody had enough.
    Stopped,
}

/// A session that changed.
#[derive(Debug)]
pub struct Change {
    /// The session, as in [`Running::id`].
    pub id: String,
    /// The agent.
    pub agent: String,
    /// What happened, if it is the only one that is watched.
    pub events: Vec<Event>,
}

/// Stops a watcher that waits, from elsewhere.
#[derive(Clone)]
pub struct Stopper(Sender<Heard>);

/// Where nothing is heard, files that grow are looked at this often, and all folders this often.
const LOOK: Duration = Duration::from_secs(1);
const LOOK_AROUND: Duration = Duration::from_secs(10);

/// A file that is being copied is written to without such pauses.
const COPY_PAUSE: Duration = Duration::from_millis(500);

/// Watches all homes.
pub struct Watcher {
    pub(super) setup: Setup,
    pub(super) ears: Ears,
    inbox: Receiver<Heard>,
    tell: Sender<Heard>,
    pub(super) logs: BTreeMap<Key, Followed>,
    pub(super) bases: BTreeMap<PathBuf, Base>,
    /// The files that were found, and when something was last heard of them.
    heard: HashMap<PathBuf, Option<Instant>>,
    /// Logs that do not grow, by session: one that waits for a subagent is among them.
    pub(super) asleep: HashMap<String, Asleep>,
    pub(super) own: Option<Own>,
    /// What sessions used, as far as that was asked for.
    pub(super) sums: Sums,
    own_is_due: bool,
    /// The only session that is watched was found.
    pub(super) is_found: bool,
    /// What happened in the only session before it was watched.
    pub(super) first: Vec<Event>,
    looked: Instant,
    looked_around: Instant,
}

impl Stopper {
    /// Stops it.
    pub fn stop(&self) {
        // One that is gone has stopped.
        self.0.send(Heard::Stop).ok();
    }
}

impl Watcher {
    /// Begins to watch.
    ///
    /// # Errors
    /// If there is no such session, or several.
    pub fn open(mut setup: Setup) -> Result<Self, LogsError> {
        setup.homes.retain(|home| setup.wanted.has_agent(home.logs.agent));
        let (tell, inbox) = channel();
        let ears = Ears::new(tell.clone());
        let own = setup.own.as_ref().map(|ours| Own::new(ours.log.clone()));
        let now = Instant::now();
        let mut watcher = Self {
            setup,
            ears,
            inbox,
            tell,
            logs: BTreeMap::new(),
            bases: BTreeMap::new(),
            heard: HashMap::new(),
            asleep: HashMap::new(),
            own,
            sums: Sums::new(),
            own_is_due: true,
            is_found: false,
            first: Vec::new(),
            looked: now,
            looked_around: now,
        };
        if let Some(ours) = &watcher.setup.own {
            watcher.ears.listen(&ours.folder);
        }
        watcher.name_last()?;
        watcher.look_around();
        let changes = watcher.read();
        watcher.find_only()?;
        watcher.keep_first(changes);
        Ok(watcher)
    }

    /// The end of what happened in the only session before it was watched.
    pub fn before(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.first)
    }

    /// Why changes are looked for now and then instead of being heard of, if that is so.
    #[must_use]
    pub fn deaf(&self) -> Option<&str> {
        self.ears.deaf()
    }

    /// Something that stops it.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(self.tell.clone())
    }

    /// The sessions that run, the latest first.
    pub fn running(&mut self) -> Vec<Running> {
        together::running(self)
    }

    /// Waits until something changes, for so long at most.
    pub fn next(&mut self, at_most: Duration) -> Next {
        let deadline = Instant::now() + at_most;
        loop {
            let changes = self.read();
            if !changes.is_empty() {
                return Next::Changed(changes);
            }
            let now = Instant::now();
            if now >= deadline {
                self.look_for_homes();
                let ended = self.let_sleep();
                return if ended.is_empty() { Next::Quiet } else { Next::Changed(ended) };
            }
            match self.inbox.recv_timeout(self.wakes(deadline).saturating_duration_since(now)) {
                Ok(Heard::Stop) | Err(RecvTimeoutError::Disconnected) => return Next::Stopped,
                Ok(heard) => {
                    if self.hear_all(heard).is_break() {
                        return Next::Stopped;
                    }
                }
                Err(RecvTimeoutError::Timeout) => self.look(),
            }
        }
    }

    /// When there is something to do, if nothing is heard.
    fn wakes(&self, deadline: Instant) -> Instant {
        let due = self.logs.values().filter_map(|log| log.due).min();
        let look = self.deaf().is_some().then(|| self.looked + LOOK);
        [Some(deadline), due, look].into_iter().flatten().min().unwrap_or(deadline)
    }

    fn hear_all(&mut self, first: Heard) -> ControlFlow<()> {
        let mut next = Some(first);
        let mut last = None;
        while let Some(heard) = next {
            match heard {
                Heard::Stop => return ControlFlow::Break(()),
                Heard::Lost => self.look_around(),
                // One write is told several times.
                Heard::Path(path) if last.as_ref() == Some(&path) => {}
                Heard::Path(path) => {
                    self.hear(&path);
                    last = Some(path);
                }
            }
            next = self.inbox.try_recv().ok();
        }
        ControlFlow::Continue(())
    }

    fn hear(&mut self, path: &PathBuf) {
        if self.setup.own.as_ref().is_some_and(|ours| path.parent() == Some(&ours.folder)) {
            self.own_is_due = true;
        }
        if let Some(log) = self.logs.get_mut(&Key::file(path)) {
            log.is_due();
            return;
        }
        if path.is_dir() {
            self.ears.forget(path);
        }
        // What SQLite writes first lies beside the database.
        let database = database_of(path).map(|(database, _)| database);
        let path = database.as_ref().unwrap_or(path);
        for home in ground::homes_of(&self.setup.homes, path) {
            self.below(home, path);
        }
    }

    fn below(&mut self, home: usize, path: &Path) {
        let mut found = Vec::new();
        ground::below(&self.setup.homes, home, path, &mut self.ears, &mut |log| found.push(log));
        // It was written just now, whatever its own time says.
        for log in found {
            let growth = match self.heard.insert(log.path.clone(), Some(Instant::now())) {
                Some(before) if before.is_none_or(|before| before.elapsed() >= COPY_PAUSE) => Growth::Seen,
                _ => Growth::Recent,
            };
            self.note(log, growth);
        }
    }

    /// Looks where nothing is heard.
    fn look(&mut self) {
        if self.deaf().is_none() || self.looked.elapsed() < LOOK {
            return;
        }
        self.looked = Instant::now();
        self.own_is_due = true;
        if self.looked_around.elapsed() >= LOOK_AROUND {
            self.look_around();
        }
        self.logs.values_mut().for_each(Followed::is_due);
    }

    /// Agents may be at work for the first time.
    fn look_for_homes(&mut self) {
        let is_new = |home: &Home| !self.ears.hears(&home.folder) && home.folder.is_dir();
        let new = self.setup.homes.iter().enumerate().filter(|(_, home)| is_new(home)).map(|(number, _)| number);
        let (new, mut found): (Vec<usize>, _) = (new.collect(), Vec::new());
        for number in new {
            ground::look_in(&self.setup.homes, number, &mut self.ears, &mut |log| found.push(log));
        }
        found.into_iter().for_each(|log| self.found(log));
    }

    fn look_around(&mut self) {
        self.looked_around = Instant::now();
        let mut found = Vec::new();
        ground::look(&self.setup.homes, &mut self.ears, &mut |log| found.push(log));
        found.into_iter().for_each(|log| self.found(log));
    }

    fn found(&mut self, log: Found) {
        self.heard.entry(log.path.clone()).or_default();
        let age = Duration::from_millis((self.setup.now)().millis_since(log.written));
        self.note(log, if age <= self.setup.within { Growth::Recent } else { Growth::None });
    }

    /// Reads what is due.
    fn read(&mut self) -> Vec<Change> {
        let mut changes = self.read_logs();
        // A log that was found to be a copy is not at work.
        let slept = self.let_sleep();
        changes.retain(|change| !slept.iter().any(|gone| (&gone.id, &gone.agent) == (&change.id, &change.agent)));
        changes.extend(slept);
        if std::mem::take(&mut self.own_is_due) {
            changes.extend(self.read_own());
        }
        changes
    }

    fn read_own(&mut self) -> Vec<Change> {
        let Some(mut own) = self.own.take() else { return Vec::new() };
        let changed = own.read(self.setup.only.is_some(), &self.setup.prices);
        self.own = Some(own);
        let change = |(session, events): (Stored, Vec<Event>)| {
            let id = session.agent_session.as_ref().unwrap_or(&session.id).to_string();
            // Its log says the same, and more.
            let events = if self.has_log(&id) { Vec::new() } else { events };
            Change { id, agent: session.agent.to_string(), events }
        };
        changed.into_iter().map(change).collect()
    }
}
