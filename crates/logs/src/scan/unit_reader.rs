//! Reads one log: records in, batches out.

use std::{borrow::Cow, collections::HashSet, io, mem, path::PathBuf, sync::Arc};

use switchboard_agents::{
    LOGS, LogFile, LogFormat, LogScanner, ScanDepth, ScanOutput, SessionFacts, find_agent, own_log_scanner,
    split_joined_records,
};
use switchboard_event::Timestamp;
use switchboard_store::{PageQuery, SessionFilter, SessionLog, StoreError};

use super::{DiscoveredLog, ScanTask, compute_mark};
use crate::index::block::{BlockEncoder, BlockPassage, TextBlock};
use crate::index::reply_rows::ReplyEncoder;
use crate::index::write::{IndexBatch, LogEnd};
use crate::index::{LogUnit, block};
use crate::read;

/// How much is read before a batch is written, and at most lost by a crash.
const MAX_UNWRITTEN_BYTES: u64 = 8 << 20;

/// Prefix of the error for valid records of an unknown kind.
pub const UNKNOWN_KIND_MESSAGE: &str = "a record of an unknown kind";

/// A larger count is an error in the log and would distort all sums.
const MAX_REPLY_TOKENS: u64 = 1_000_000_000_000;

/// Compression level of raw records.
const RAW_COMPRESSION_LEVEL: i32 = 3;

pub struct ScanOptions {
    /// What logs are read for.
    pub depth: ScanDepth,
    /// Keep copies of the records.
    pub keep: bool,
    pub own: Option<OwnLogSource>,
}

/// The state to resume from.
pub struct ResumeState {
    /// Scanner state.
    pub state: Option<Vec<u8>>,
    /// Keep copies of its records.
    pub keep: bool,
    /// The block to continue, and the ID of the stored block that it replaces.
    pub block: Option<(Option<i64>, TextBlock)>,
}

pub struct UnitReader<'a> {
    task: &'a ScanTask,
    way: &'a ScanOptions,
    keep: bool,
    skim: Box<dyn LogScanner>,
    found: ScanOutput,
    block: TextBlock,
    press: &'a mut BlockEncoder,
    replies: ReplyEncoder,
    /// Replies before this offset are already counted.
    counted: u64,
    /// Offset of the current batch.
    from: u64,
    raw: Vec<u8>,
    next: IndexBatch,
    send: &'a mut dyn FnMut(IndexBatch) -> bool,
    stopped: bool,
}

impl<'a> UnitReader<'a> {
    /// Starts at the last position, or at the beginning. `send` returns whether to continue.
    pub fn new(
        task: &'a ScanTask,
        begin: ResumeState,
        way: &'a ScanOptions,
        press: &'a mut BlockEncoder,
        send: &'a mut dyn FnMut(IndexBatch) -> bool,
    ) -> Option<Self> {
        let logs = LOGS.iter().find(|logs| logs.agent == task.seen.agent);
        let known = task.known.as_ref();
        let old = known.filter(|_| !task.fresh);
        let from = old.map_or(0, |unit| unit.read_position(way.depth).at);
        let skim = match task.seen.file.form {
            LogFormat::Events => own_log_scanner(),
            _ => (logs?.skim)(&task.seen.file, begin.state.as_deref().filter(|_| from > 0)),
        };
        let (replaces, block) = begin.block.unwrap_or_default();
        let root = || logs.and_then(|logs| read::working_directory(logs, &task.seen.path));
        let facts = || SessionFacts { cwd: root(), ..SessionFacts::default() };
        let next = IndexBatch {
            fresh: task.fresh,
            at: from,
            replaces,
            facts: old.map_or_else(facts, |unit| unit.facts.clone()),
            time: old.map_or(0, |unit| unit.time),
            ..IndexBatch::new(task.unit, known.map_or(0, |unit| unit.version), way.depth)
        };
        Some(Self {
            skim,
            counted: old.map_or(0, |unit| unit.tokens.at),
            press,
            found: ScanOutput::default(),
            replies: ReplyEncoder::default(),
            raw: Vec::new(),
            stopped: false,
            keep: (way.keep || begin.keep) && way.depth == ScanDepth::All,
            task,
            way,
            block,
            from,
            next,
            send,
        })
    }

    /// Reads the log to its end.
    pub fn run(mut self) {
        let seen = &self.task.seen;
        let (path, form, from) = (seen.path.clone(), seen.file.form, self.from);
        let (part, depth) = (seen.part.as_deref(), self.way.depth);
        let own = self.way.own.as_ref().filter(|_| matches!(form, LogFormat::Events));
        // Batches are written before the end is reached, so damage must be detected first.
        let check = if self.replaces_known_content() { read::check_readable(&path, &form) } else { Ok(()) };
        let mut each = |offset, record: &[u8]| self.handle_record(offset, record);
        let read = check.and_then(|()| match own {
            Some(own) => own.read_records(part.unwrap_or_default(), &mut each),
            None => read::read_records(&path, &form, part, from, depth, &mut each),
        });
        if self.stopped {
            return;
        }
        if let Some(error) = read.as_ref().err().filter(|_| self.replaces_known_content()) {
            return self.report_unreadable(unreadable_message(error));
        }
        if !matches!(form, LogFormat::Lines) {
            self.skim.finish(&mut self.found);
            self.take_findings(self.next.at);
        }
        let (at, whole) = match read {
            Ok(end) => (end, true),
            // It was deleted while being read: the part that was read is useful.
            Err(error) => {
                self.add_read_error(unreadable_message(&error), None);
                (self.next.at, false)
            }
        };
        let torn = if matches!(form, LogFormat::Lines) && whole { self.task.seen.bytes.saturating_sub(at) } else { 0 };
        let facts = &self.next.facts;
        let named = seen.part.is_some() || seen.file.session.is_some();
        let end = LogEnd {
            seen: whole.then(|| seen.seen.clone()),
            torn,
            session: facts.session.clone().filter(|_| !named),
            parent: facts.parent.clone().filter(|_| seen.file.parent.is_none()),
        };
        self.send_batch(at, Some(end));
    }

    /// Returns whether the log was read before, and its old content was not replaced yet.
    fn replaces_known_content(&self) -> bool {
        let was_read = |unit: &Arc<LogUnit>| unit.tokens.at > 0 || unit.text.at > 0;
        self.next.fresh && self.task.known.as_ref().is_some_and(was_read)
    }

    /// The log cannot be read now, and maybe never again: keeps its content and only reports the error.
    fn report_unreadable(self, trouble: String) {
        let troubles = vec![(trouble, None, 1)];
        let portion = IndexBatch::new(self.next.unit, self.next.version, self.next.depth);
        (self.send)(IndexBatch { troubles, is_kept: true, ..portion });
    }

    fn handle_record(&mut self, offset: u64, record: &[u8]) {
        if self.stopped {
            return;
        }
        if offset.saturating_sub(self.from) >= MAX_UNWRITTEN_BYTES && offset > self.next.at {
            self.send_batch(offset, None);
        }
        self.next.at = offset;
        if self.keep {
            self.raw.extend_from_slice(record);
            self.raw.push(b'\n');
        }
        if record.is_empty() || (self.way.depth == ScanDepth::Tokens && !self.skim.may_affect_usage(record)) {
            return;
        }
        if !self.scan_record(offset, record) {
            self.scan_joined_records(offset, record);
        }
    }

    /// Scans a record. Returns `false` if it is not JSON; then nothing is taken from it.
    fn scan_record(&mut self, offset: u64, record: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(record) else { return false };
        self.skim.scan_record(text, self.way.depth, &mut self.found);
        if self.found.is_not_json() {
            self.found.trouble = None;
            return false;
        }
        self.next.records += 1;
        self.take_findings(offset);
        true
    }

    /// Scans a line that is not JSON: several records, each with its own offset, or none.
    fn scan_joined_records(&mut self, mut offset: u64, line: &[u8]) {
        let pieces = split_joined_records(line);
        let pieces = if pieces.is_empty() { vec![line] } else { pieces };
        for piece in pieces {
            let counts = self.way.depth == ScanDepth::All || self.skim.may_affect_usage(piece);
            if counts && !self.scan_record(offset, piece) {
                self.scan_broken_record(offset, piece);
            }
            offset += piece.len() as u64;
        }
    }

    fn scan_broken_record(&mut self, offset: u64, record: &[u8]) {
        self.next.records += 1;
        let text = String::from_utf8_lossy(record);
        if matches!(text, Cow::Owned(_)) {
            self.add_read_error("a record is not UTF-8".to_owned(), Some(offset));
        }
        self.skim.scan_record(&text, self.way.depth, &mut self.found);
        self.take_findings(offset);
    }

    /// Takes the findings of a record.
    fn take_findings(&mut self, offset: u64) {
        let found = &mut self.found;
        let mut facts = mem::take(&mut found.facts);
        if self.way.depth == ScanDepth::Tokens {
            facts.prompts = 0;
        }
        self.next.facts.merge_newer(facts);
        let mut absurd = false;
        for spent in found.spent.drain(..) {
            self.next.time = spent.at.map_or(self.next.time, Timestamp::as_micros);
            if spent.total_tokens() > MAX_REPLY_TOKENS {
                absurd = true;
            } else if offset >= self.counted {
                self.replies.add_reply(&spent, self.next.time);
            }
        }
        if self.way.depth == ScanDepth::All && !found.passages.is_empty() {
            let begin = self.block.text.len();
            self.block.text.push_str(&found.text);
            for passage in found.passages.drain(..) {
                self.next.time = passage.at.map_or(self.next.time, Timestamp::as_micros);
                let at = Timestamp::from_micros(self.next.time).filter(|_| self.next.time != 0);
                let line =
                    BlockPassage { kind: passage.kind, at, tool: passage.tool, offset, end: begin + passage.end };
                self.block.lines.push(line);
            }
        }
        found.passages.clear();
        found.text.clear();
        let (unknown, trouble) = (found.unknown.take(), found.trouble.take());
        if let Some(kind) = unknown {
            self.add_read_error(format!("{UNKNOWN_KIND_MESSAGE}: {kind}"), Some(offset));
        }
        if let Some(trouble) = trouble {
            self.add_read_error(trouble, Some(offset));
        }
        if absurd {
            self.add_read_error("more tokens than a reply can have".to_owned(), Some(offset));
        }
        if self.block.text.len() >= block::FULL_BLOCK_BYTES {
            self.finish_block();
        }
    }

    /// Counts a read error. Records are scanned twice, for tokens and for text; only the second scan counts.
    fn add_read_error(&mut self, what: String, place: Option<u64>) {
        if self.way.depth == ScanDepth::Tokens && place.is_some() {
            return;
        }
        match self.next.troubles.iter_mut().find(|(known, ..)| *known == what) {
            Some((.., times)) => *times += 1,
            None => self.next.troubles.push((what, place, 1)),
        }
    }

    /// Encodes the full block and starts the next one.
    fn finish_block(&mut self) {
        // Compression into memory does not fail.
        if let Ok(stored) = self.press.encode_block(&self.block) {
            self.next.blocks.push(stored);
        }
        self.block.start_next();
    }

    /// Sends the batch up to `at`.
    fn send_batch(&mut self, at: u64, end: Option<LogEnd>) {
        if !self.block.lines.is_empty() {
            self.finish_block();
        }
        let next = &mut self.next;
        let after = IndexBatch {
            at,
            facts: next.facts.clone(),
            time: next.time,
            ..IndexBatch::new(next.unit, next.version + 1, next.depth)
        };
        let mut portion = mem::replace(next, after);
        portion.at = at;
        portion.read = at.saturating_sub(self.from);
        portion.end = end;
        portion.state = self.skim.save_state();
        if !self.replies.is_empty() {
            portion.spent = self.replies.take_encoded();
        }
        if !self.raw.is_empty() {
            let raw = zstd::bulk::compress(&mem::take(&mut self.raw), RAW_COMPRESSION_LEVEL);
            portion.raw = raw.ok().map(|raw| (self.from, raw));
        }
        if matches!(self.task.seen.file.form, LogFormat::Lines) {
            let reached = at.max(self.counted);
            portion.mark = read::open_log_file(&self.task.seen.path).and_then(|file| compute_mark(&file, reached)).ok();
        }
        self.from = at;
        self.stopped = !(self.send)(portion);
    }
}

fn unreadable_message(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

/// Events read per page.
const SCAN_PAGE: PageQuery = PageQuery { after: 0, limit: 10_000, max_bytes: 8 << 20, kinds: &[] };

#[derive(Clone)]
pub struct OwnLogSource {
    pub log: Arc<dyn SessionLog>,
    pub path: PathBuf,
}

impl OwnLogSource {
    /// Returns the sessions without an agent log, and the units of deleted sessions.
    pub fn discover_sessions(
        &self,
        seen: &[DiscoveredLog],
        units: &[Arc<LogUnit>],
    ) -> Result<(Vec<DiscoveredLog>, Vec<i64>), StoreError> {
        let of_agents = seen.iter().map(|seen| (seen.agent.to_owned(), seen.session_id()));
        let known = units.iter().filter(|unit| !unit.is_own()).map(|unit| (unit.agent.clone(), unit.session.clone()));
        let elsewhere: HashSet<_> = of_agents.chain(known).collect();
        let sessions = self.log.list_sessions(&SessionFilter::default())?;
        let there: HashSet<String> = sessions.iter().map(|session| session.id.to_string()).collect();
        let deleted =
            units.iter().filter(|unit| unit.is_own() && unit.part.as_ref().is_none_or(|id| !there.contains(id)));
        let deleted = deleted.map(|unit| unit.id).collect();
        let own = sessions.into_iter().filter_map(|session| {
            let agent = find_agent(&session.agent)?.name;
            let id = session.agent_session.as_ref().unwrap_or(&session.id).to_string();
            (session.head > 0 && !elsewhere.contains(&(agent.to_owned(), id.clone()))).then(|| DiscoveredLog {
                name: LogUnit::own_unit_name(agent, &session.id),
                agent,
                machine: None,
                path: self.path.clone(),
                part: Some(session.id.to_string()),
                file: LogFile { form: LogFormat::Events, ..LogFile::line_log(Some(id)) },
                bytes: 0,
                inode: 0,
                seen: session.head.to_string(),
            })
        });
        Ok((own.collect(), deleted))
    }

    /// Reads the stored events of a session.
    pub fn read_records(&self, session: &str, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<u64> {
        let mut after = 0;
        loop {
            let (rows, _) =
                self.log.read_sound_rows(session, PageQuery { after, ..SCAN_PAGE }).map_err(io::Error::other)?;
            let Some(last) = rows.last() else { return Ok(after) };
            after = last.seq;
            rows.iter().for_each(|row| each(row.seq, row.json.as_bytes()));
        }
    }
}
