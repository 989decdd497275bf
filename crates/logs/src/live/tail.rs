//! One log that is followed: what is added to it is read once, and only that.

use std::{
    collections::{HashMap, HashSet},
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use switchboard_agents::{
    Depth, Facts, Finds, Form, LogFile, Logs, Options, Record, RecordBody, Skim, Spent, Translator, source,
};
use switchboard_event::{Event, Id, Timestamp};

use super::doing::Doing;
use crate::read;

/// Of a long log, its beginning says what the session is about, and its end what it is doing. What lies between is only
/// looked through for tokens.
const BEGINNING: u64 = 64 << 10;
const END: u64 = 256 << 10;

/// A log that is followed.
pub struct Tail {
    logs: &'static Logs,
    file: LogFile,
    path: PathBuf,
    /// Of a database, the session.
    part: Option<String>,
    /// What was read is before this place.
    place: u64,
    /// The file that was read: another of the same name is read from its beginning.
    identity: Option<(u64, u64)>,
    /// From here on events are made.
    deep: u64,
    told: HashSet<u64>,
    known: Known,
    skim: Box<dyn Skim>,
    reader: Option<Translator>,
}

/// What is known of a log.
#[derive(Default)]
pub struct Known {
    /// Facts about the session.
    pub facts: Facts,
    /// The replies, by their keys.
    pub spent: HashMap<String, Spent>,
    /// What it is doing.
    pub doing: Doing,
}

impl Tail {
    /// A log that nothing was read of.
    pub fn new(logs: &'static Logs, file: LogFile, path: &Path, part: Option<&str>) -> Self {
        let skim = (logs.skim)(&file, None);
        let (path, part) = (path.to_owned(), part.map(str::to_owned));
        let (told, mut known) = (HashSet::new(), Known::default());
        known.facts.cwd = read::root(logs, &path);
        Self { logs, file, path, part, place: 0, identity: None, deep: 0, told, known, skim, reader: None }
    }

    /// The agent.
    pub fn agent(&self) -> &'static str {
        self.logs.agent
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is known.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// The session that it is a part of.
    pub fn session(&self) -> String {
        let facts = &self.known.facts;
        let named = self.parent().or(facts.session.as_deref()).or(self.part.as_deref());
        named.or(self.file.session.as_deref()).map_or_else(|| self.path.to_string_lossy().into_owned(), str::to_owned)
    }

    /// The session that a subagent works for.
    pub fn parent(&self) -> Option<&str> {
        self.file.parent.as_deref().or(self.known.facts.parent.as_deref())
    }

    /// It is a session of a database.
    pub fn is_part(&self) -> bool {
        self.part.is_some()
    }

    /// All of it has to be read when something is new.
    pub fn is_whole(&self) -> bool {
        !matches!(self.file.form, Form::Lines)
    }

    /// Reads what is new, and gives the events of that. Says whether there was anything.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&mut self, now: Timestamp, out: &mut Vec<Event>) -> io::Result<bool> {
        if self.is_whole() { self.again(now, out) } else { self.on(now, out) }
    }

    /// Goes on where it ended.
    fn on(&mut self, now: Timestamp, out: &mut Vec<Event>) -> io::Result<bool> {
        let meta = fs::metadata(&self.path)?;
        let identity = (meta.dev(), meta.ino());
        if self.identity.is_some_and(|known| known != identity) || meta.len() < self.place {
            self.forget();
        }
        if self.identity.is_none() {
            self.identity = Some(identity);
            self.deep = meta.len().saturating_sub(END);
        }
        let before = self.place;
        self.place = self.records(before, now, out)?;
        Ok(self.place != before)
    }

    /// Reads all of it again, and gives what was not given before.
    fn again(&mut self, now: Timestamp, out: &mut Vec<Event>) -> io::Result<bool> {
        let told = std::mem::take(&mut self.told);
        self.forget();
        let mut events = Vec::new();
        self.records(0, now, &mut events)?;
        let (mut found, mut changed) = (Finds::default(), false);
        self.skim.end(&mut found);
        self.known.learn(found);
        for event in events {
            let mark = mark(&event);
            if !told.contains(&mark) {
                changed = true;
                out.push(event);
            }
            self.told.insert(mark);
        }
        Ok(changed)
    }

    fn forget(&mut self) {
        (self.place, self.identity, self.deep) = (0, None, 0);
        (self.known, self.reader) = (Known::default(), None);
        self.known.facts.cwd = read::root(self.logs, &self.path);
        self.skim = (self.logs.skim)(&self.file, None);
    }

    fn records(&mut self, from: u64, now: Timestamp, out: &mut Vec<Event>) -> io::Result<u64> {
        let (path, part, form) = (self.path.clone(), self.part.clone(), self.file.form);
        let mut each = |place, bytes: &[u8]| self.record(place, bytes, now, out);
        read::records(&path, &form, part.as_deref(), from, Depth::All, &mut each)
    }

    fn record(&mut self, place: u64, bytes: &[u8], now: Timestamp, out: &mut Vec<Event>) {
        let is_deep = place >= self.deep;
        let depth = if is_deep || place < BEGINNING { Depth::All } else { Depth::Tokens };
        if bytes.trim_ascii().is_empty() || (depth == Depth::Tokens && !self.skim.counts(bytes)) {
            return;
        }
        Record::for_each_in_line(bytes, |record| {
            if let RecordBody::Json(raw) = record.body
                && (depth == Depth::All || self.skim.counts(raw.get().as_bytes()))
            {
                let mut found = Finds::default();
                self.skim.record(raw.get(), depth, &mut found);
                self.known.learn(found);
            }
            if is_deep {
                self.translate(record, now, out);
            }
        });
    }

    fn translate(&mut self, record: &Record<'_>, now: Timestamp, out: &mut Vec<Event>) {
        if self.reader.is_none() {
            let session = Some(Id::from(self.session()));
            // Before a record says when it happened.
            let arrival = self.known.facts.updated.unwrap_or(now);
            let Some(source) = source(self.logs.source) else { return };
            self.reader = Some(Translator::new(source, Options { session, arrival, ..Options::default() }));
        }
        let from = out.len();
        if let Some(reader) = &mut self.reader {
            reader.record(record, out);
        }
        let thread = self.parent().is_some().then(|| Id::from(self.subagent()));
        for event in out.iter_mut().skip(from) {
            self.known.doing.see(event);
            // What a subagent says is not the answer.
            event.thread = event.thread.take().or_else(|| thread.clone());
        }
        let rests = self.reader.as_ref().is_some_and(Translator::is_resting);
        self.known.doing.rests(rests, out.get(from..).and_then(<[Event]>::last).map(|event| event.at));
    }

    /// The name of the subagent, or its id.
    fn subagent(&self) -> String {
        let Facts { subagent, session, .. } = &self.known.facts;
        let named = subagent.as_ref().or(session.as_ref()).or(self.file.session.as_ref());
        named.cloned().unwrap_or_else(|| "subagent".to_owned())
    }
}

impl Known {
    fn learn(&mut self, found: Finds) {
        self.facts.learn(found.facts);
        for spent in found.spent {
            self.spend(spent);
        }
    }

    /// Of what has the same key, the largest counts.
    fn spend(&mut self, spent: Spent) {
        let total =
            |spent: &Spent| spent.input + spent.output + spent.cache_read + spent.cache_write + spent.cache_write_1h;
        match self.spent.get_mut(&spent.key) {
            Some(known) if known.copied && !spent.copied => *known = spent,
            Some(known) if total(known) < total(&spent) && (known.copied || !spent.copied) => *known = spent,
            Some(_) => {}
            None => drop(self.spent.insert(spent.key.clone(), spent)),
        }
    }
}

/// What makes an event the same when a log is read again.
fn mark(event: &Event) -> u64 {
    let mut hasher = DefaultHasher::new();
    (event.body.kind(), &event.item, &event.thread, event.turn).hash(&mut hasher);
    serde_json::to_string(&event.body).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}
