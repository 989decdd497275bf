//! Follows one log and reads only what is appended.

use std::{
    collections::{HashMap, HashSet},
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use switchboard_agents::{
    AgentLogs, LogFile, LogFormat, LogScanner, Record, RecordBody, RecordTranslator, ReplyTokens, ScanDepth,
    ScanOutput, SessionFacts, TranslatorOptions, find_source,
};
use switchboard_event::{Event, Id, Timestamp};

use super::own_sessions::ActivityTracker;
use crate::read;

/// In a long log, the head describes the session and the tail its activity. Everything between is scanned only for
/// tokens.
const FULL_SCAN_HEAD_BYTES: u64 = 64 << 10;
const FULL_SCAN_TAIL_BYTES: u64 = 256 << 10;

pub struct LogTail {
    logs: &'static AgentLogs,
    file: LogFile,
    path: PathBuf,
    /// The session, if the log is a database.
    part: Option<String>,
    /// Everything before this position was read.
    place: u64,
    /// Device and inode: another file of the same name is read from its beginning.
    identity: Option<(u64, u64)>,
    /// Records from this position on are translated to events.
    deep: u64,
    reported: HashSet<u64>,
    known: LogTailState,
    skim: Box<dyn LogScanner>,
    reader: Option<RecordTranslator>,
}

/// What is known from a log.
#[derive(Default)]
pub struct LogTailState {
    pub facts: SessionFacts,
    /// Replies by key.
    pub spent: HashMap<String, ReplyTokens>,
    /// The activity of the session.
    pub doing: ActivityTracker,
}

impl LogTail {
    /// Creates a tail that has read nothing.
    pub fn new(logs: &'static AgentLogs, file: LogFile, path: &Path, part: Option<&str>) -> Self {
        let skim = (logs.skim)(&file, None);
        let (path, part) = (path.to_owned(), part.map(str::to_owned));
        let (reported, mut known) = (HashSet::new(), LogTailState::default());
        known.facts.cwd = read::working_directory(logs, &path);
        Self { logs, file, path, part, place: 0, identity: None, deep: 0, reported, known, skim, reader: None }
    }

    pub fn agent_name(&self) -> &'static str {
        self.logs.agent
    }

    pub fn log_path(&self) -> &Path {
        &self.path
    }

    pub fn tail_state(&self) -> &LogTailState {
        &self.known
    }

    /// Returns the session that the log belongs to.
    pub fn session_id(&self) -> String {
        let facts = &self.known.facts;
        let named = self.parent_session().or(facts.session.as_deref()).or(self.part.as_deref());
        named.or(self.file.session.as_deref()).map_or_else(|| self.path.to_string_lossy().into_owned(), str::to_owned)
    }

    /// Returns the parent session of a subagent.
    pub fn parent_session(&self) -> Option<&str> {
        self.file.parent.as_deref().or(self.known.facts.parent.as_deref())
    }

    /// Returns whether it is a session of a database.
    pub fn is_database_session(&self) -> bool {
        self.part.is_some()
    }

    /// Returns whether the log has to be read completely after each change.
    pub fn needs_full_read(&self) -> bool {
        !matches!(self.file.form, LogFormat::Lines)
    }

    /// Reads new records and appends their events to `out`. Returns whether there were any.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&mut self, now: Timestamp, out: &mut Vec<Event>) -> io::Result<bool> {
        if self.needs_full_read() { self.reread_all(now, out) } else { self.read_appended(now, out) }
    }

    /// Continues at the last position.
    fn read_appended(&mut self, now: Timestamp, out: &mut Vec<Event>) -> io::Result<bool> {
        let meta = fs::metadata(&self.path)?;
        let identity = (meta.dev(), meta.ino());
        if self.identity.is_some_and(|known| known != identity) || meta.len() < self.place {
            self.reset();
        }
        if self.identity.is_none() {
            self.identity = Some(identity);
            self.deep = meta.len().saturating_sub(FULL_SCAN_TAIL_BYTES);
        }
        let before = self.place;
        self.place = self.read_records(before, now, out)?;
        Ok(self.place != before)
    }

    /// Reads the whole log and appends only new events.
    fn reread_all(&mut self, now: Timestamp, out: &mut Vec<Event>) -> io::Result<bool> {
        let reported = std::mem::take(&mut self.reported);
        self.reset();
        let mut events = Vec::new();
        self.read_records(0, now, &mut events)?;
        let (mut found, mut changed) = (ScanOutput::default(), false);
        self.skim.finish(&mut found);
        self.known.apply_scan(found);
        for event in events {
            let mark = event_hash(&event);
            if !reported.contains(&mark) {
                changed = true;
                out.push(event);
            }
            self.reported.insert(mark);
        }
        Ok(changed)
    }

    fn reset(&mut self) {
        (self.place, self.identity, self.deep) = (0, None, 0);
        (self.known, self.reader) = (LogTailState::default(), None);
        self.known.facts.cwd = read::working_directory(self.logs, &self.path);
        self.skim = (self.logs.skim)(&self.file, None);
    }

    fn read_records(&mut self, from: u64, now: Timestamp, out: &mut Vec<Event>) -> io::Result<u64> {
        let (path, part, form) = (self.path.clone(), self.part.clone(), self.file.form);
        let mut each = |place, bytes: &[u8]| self.scan_record(place, bytes, now, out);
        read::read_records(&path, &form, part.as_deref(), from, ScanDepth::All, &mut each)
    }

    fn scan_record(&mut self, place: u64, bytes: &[u8], now: Timestamp, out: &mut Vec<Event>) {
        let is_deep = place >= self.deep;
        let depth = if is_deep || place < FULL_SCAN_HEAD_BYTES { ScanDepth::All } else { ScanDepth::Tokens };
        if bytes.trim_ascii().is_empty() || (depth == ScanDepth::Tokens && !self.skim.may_affect_usage(bytes)) {
            return;
        }
        Record::for_each_in_line(bytes, |record| {
            if let RecordBody::Json(raw) = record.body
                && (depth == ScanDepth::All || self.skim.may_affect_usage(raw.get().as_bytes()))
            {
                let mut found = ScanOutput::default();
                self.skim.scan_record(raw.get(), depth, &mut found);
                self.known.apply_scan(found);
            }
            if is_deep {
                self.translate_record(record, now, out);
            }
        });
    }

    fn translate_record(&mut self, record: &Record<'_>, now: Timestamp, out: &mut Vec<Event>) {
        if self.reader.is_none() {
            let session = Some(Id::from(self.session_id()));
            // Used until a record has a time.
            let arrival = self.known.facts.updated.unwrap_or(now);
            let Some(source) = find_source(self.logs.source) else { return };
            self.reader = Some(RecordTranslator::new(
                source,
                TranslatorOptions { session, arrival, ..TranslatorOptions::default() },
            ));
        }
        let from = out.len();
        if let Some(reader) = &mut self.reader {
            reader.translate_record(record, out);
        }
        let thread = self.parent_session().is_some().then(|| Id::from(self.subagent_name()));
        for event in out.iter_mut().skip(from) {
            self.known.doing.apply_event(event);
            // Messages of a subagent are not the answer.
            event.thread = event.thread.take().or_else(|| thread.clone());
        }
        let rests = self.reader.as_ref().is_some_and(RecordTranslator::is_idle);
        self.known.doing.set_resting(rests, out.get(from..).and_then(<[Event]>::last).map(|event| event.at));
    }

    /// Returns the name of the subagent, or its ID.
    fn subagent_name(&self) -> String {
        let SessionFacts { subagent, session, .. } = &self.known.facts;
        let named = subagent.as_ref().or(session.as_ref()).or(self.file.session.as_ref());
        named.cloned().unwrap_or_else(|| "subagent".to_owned())
    }
}

impl LogTailState {
    fn apply_scan(&mut self, found: ScanOutput) {
        self.facts.merge_newer(found.facts);
        for spent in found.spent {
            self.add_usage(spent);
        }
    }

    /// Of records with the same key, the largest counts.
    fn add_usage(&mut self, spent: ReplyTokens) {
        let total = |spent: &ReplyTokens| {
            spent.input + spent.output + spent.cache_read + spent.cache_write + spent.cache_write_1h
        };
        match self.spent.get_mut(&spent.key) {
            Some(known) if known.copied && !spent.copied => *known = spent,
            Some(known) if total(known) < total(&spent) && (known.copied || !spent.copied) => *known = spent,
            Some(_) => {}
            None => drop(self.spent.insert(spent.key.clone(), spent)),
        }
    }
}

/// Identifies an event when a log is read again.
fn event_hash(event: &Event) -> u64 {
    let mut hasher = DefaultHasher::new();
    (event.body.kind(), &event.item, &event.thread, event.turn).hash(&mut hasher);
    serde_json::to_string(&event.body).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}
