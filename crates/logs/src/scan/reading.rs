//! Reading one log: records in, portions out.

use std::{borrow::Cow, io, mem, sync::Arc};

use switchboard_agents::{Depth, Facts, Finds, Form, LOGS, Skim, own_skim, split_joined_records};
use switchboard_event::Timestamp;

use super::{Own, Task, mark};
use crate::{
    index::{
        block::{self, Block, Line},
        portion::{End, Portion},
        press::Press,
        spent::Replies,
        units::Unit,
    },
    read,
};

/// How much is read before what it gave is written: what a crash can cost.
const STRETCH: u64 = 8 << 20;

/// What is said of a record that makes sense and is new to us.
pub const UNKNOWN_KIND: &str = "a record of an unknown kind";

/// No reply has so many tokens: a figure beyond it is a mistake, and would drown all others.
const MOST_TOKENS: u64 = 1_000_000_000_000;

/// How well raw records are compressed.
const RAW_LEVEL: i32 = 3;

/// How logs are read.
pub struct Way {
    /// For what.
    pub depth: Depth,
    /// Copies of the records are kept.
    pub keep: bool,
    /// Switchboard's own log.
    pub own: Option<Own>,
}

/// What reading begins with.
pub struct Begin {
    /// What the log was left with.
    pub state: Option<Vec<u8>>,
    /// Copies of its records are kept.
    pub keep: bool,
    /// The block to go on with, and the number of the one that it takes the place of.
    pub block: Option<(Option<i64>, Block)>,
}

/// One log that is being read.
pub struct Reading<'a> {
    task: &'a Task,
    way: &'a Way,
    keep: bool,
    skim: Box<dyn Skim>,
    found: Finds,
    block: Block,
    press: &'a mut Press,
    replies: Replies,
    /// Replies before this place are known already.
    counted: u64,
    /// Where the stretch begins.
    from: u64,
    raw: Vec<u8>,
    next: Portion,
    send: &'a mut dyn FnMut(Portion) -> bool,
    stopped: bool,
}

impl<'a> Reading<'a> {
    /// Begins where the log was left, or at its beginning. `send` says whether more is wanted.
    pub fn new(
        task: &'a Task,
        begin: Begin,
        way: &'a Way,
        press: &'a mut Press,
        send: &'a mut dyn FnMut(Portion) -> bool,
    ) -> Option<Self> {
        let logs = LOGS.iter().find(|logs| logs.agent == task.seen.agent);
        let known = task.known.as_ref();
        let old = known.filter(|_| !task.fresh);
        let from = old.map_or(0, |unit| unit.reached(way.depth).at);
        let skim = match task.seen.file.form {
            Form::Events => own_skim(),
            _ => (logs?.skim)(&task.seen.file, begin.state.as_deref().filter(|_| from > 0)),
        };
        let (replaces, block) = begin.block.unwrap_or_default();
        let root = || logs.and_then(|logs| read::root(logs, &task.seen.path));
        let facts = || Facts { cwd: root(), ..Facts::default() };
        let next = Portion {
            fresh: task.fresh,
            at: from,
            replaces,
            facts: old.map_or_else(facts, |unit| unit.facts.clone()),
            time: old.map_or(0, |unit| unit.time),
            ..Portion::new(task.unit, known.map_or(0, |unit| unit.version), way.depth)
        };
        Some(Self {
            skim,
            counted: old.map_or(0, |unit| unit.tokens.at),
            press,
            found: Finds::default(),
            replies: Replies::default(),
            raw: Vec::new(),
            stopped: false,
            keep: (way.keep || begin.keep) && way.depth == Depth::All,
            task,
            way,
            block,
            from,
            next,
            send,
        })
    }

    /// Reads it to its end.
    pub fn run(mut self) {
        let seen = &self.task.seen;
        let (path, form, from) = (seen.path.clone(), seen.file.form, self.from);
        let (part, depth) = (seen.part.as_deref(), self.way.depth);
        let own = self.way.own.as_ref().filter(|_| matches!(form, Form::Events));
        // What is read is written before the end is seen.
        let check = if self.has_more_to_lose() { read::check(&path, &form) } else { Ok(()) };
        let mut each = |offset, record: &[u8]| self.record(offset, record);
        let read = check.and_then(|()| match own {
            Some(own) => own.records(part.unwrap_or_default(), &mut each),
            None => read::records(&path, &form, part, from, depth, &mut each),
        });
        if self.stopped {
            return;
        }
        if let Some(error) = read.as_ref().err().filter(|_| self.has_more_to_lose()) {
            return self.keep_what_is_known(unreadable(error));
        }
        if !matches!(form, Form::Lines) {
            self.skim.end(&mut self.found);
            self.take(self.next.at);
        }
        let (at, whole) = match read {
            Ok(end) => (end, true),
            // It was deleted while it was read: what was read of it is worth having.
            Err(error) => {
                self.trouble(unreadable(&error), None);
                (self.next.at, false)
            }
        };
        let torn = if matches!(form, Form::Lines) && whole { self.task.seen.bytes.saturating_sub(at) } else { 0 };
        let facts = &self.next.facts;
        let named = seen.part.is_some() || seen.file.session.is_some();
        let end = End {
            seen: whole.then(|| seen.seen.clone()),
            torn,
            session: facts.session.clone().filter(|_| !named),
            parent: facts.parent.clone().filter(|_| seen.file.parent.is_none()),
        };
        self.give(at, Some(end));
    }

    /// The log was read before, and nothing of it has gone yet for what is read now.
    fn has_more_to_lose(&self) -> bool {
        let was_read = |unit: &Arc<Unit>| unit.tokens.at > 0 || unit.text.at > 0;
        self.next.fresh && self.task.known.as_ref().is_some_and(was_read)
    }

    /// The log cannot be read now, and may never be again: only that is told.
    fn keep_what_is_known(self, trouble: String) {
        let troubles = vec![(trouble, None, 1)];
        let portion = Portion::new(self.next.unit, self.next.version, self.next.depth);
        (self.send)(Portion { troubles, is_kept: true, ..portion });
    }

    fn record(&mut self, offset: u64, record: &[u8]) {
        if self.stopped {
            return;
        }
        if offset.saturating_sub(self.from) >= STRETCH && offset > self.next.at {
            self.give(offset, None);
        }
        self.next.at = offset;
        if self.keep {
            self.raw.extend_from_slice(record);
            self.raw.push(b'\n');
        }
        if record.is_empty() || (self.way.depth == Depth::Tokens && !self.skim.counts(record)) {
            return;
        }
        if !self.scan_record(offset, record) {
            self.scan_joined_records(offset, record);
        }
    }

    /// Scans a record. False if it is not JSON: then nothing is taken from it.
    fn scan_record(&mut self, offset: u64, record: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(record) else { return false };
        self.skim.record(text, self.way.depth, &mut self.found);
        if self.found.is_not_json() {
            self.found.trouble = None;
            return false;
        }
        self.next.records += 1;
        self.take(offset);
        true
    }

    /// Scans what is on a line that is not JSON: several records, each with a place of its own, or none.
    fn scan_joined_records(&mut self, mut offset: u64, line: &[u8]) {
        let pieces = split_joined_records(line);
        let pieces = if pieces.is_empty() { vec![line] } else { pieces };
        for piece in pieces {
            let counts = self.way.depth == Depth::All || self.skim.counts(piece);
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
            self.trouble("a record is not UTF-8".to_owned(), Some(offset));
        }
        self.skim.record(&text, self.way.depth, &mut self.found);
        self.take(offset);
    }

    /// Takes what a record gave.
    fn take(&mut self, offset: u64) {
        let found = &mut self.found;
        let mut facts = mem::take(&mut found.facts);
        if self.way.depth == Depth::Tokens {
            facts.prompts = 0;
        }
        self.next.facts.learn(facts);
        let mut absurd = false;
        for spent in found.spent.drain(..) {
            self.next.time = spent.at.map_or(self.next.time, Timestamp::as_micros);
            if spent.all() > MOST_TOKENS {
                absurd = true;
            } else if offset >= self.counted {
                self.replies.add(&spent, self.next.time);
            }
        }
        if self.way.depth == Depth::All && !found.passages.is_empty() {
            let begin = self.block.text.len();
            self.block.text.push_str(&found.text);
            for passage in found.passages.drain(..) {
                self.next.time = passage.at.map_or(self.next.time, Timestamp::as_micros);
                let at = Timestamp::from_micros(self.next.time).filter(|_| self.next.time != 0);
                let line = Line { kind: passage.kind, at, tool: passage.tool, offset, end: begin + passage.end };
                self.block.lines.push(line);
            }
        }
        found.passages.clear();
        found.text.clear();
        let (unknown, trouble) = (found.unknown.take(), found.trouble.take());
        if let Some(kind) = unknown {
            self.trouble(format!("{UNKNOWN_KIND}: {kind}"), Some(offset));
        }
        if let Some(trouble) = trouble {
            self.trouble(trouble, Some(offset));
        }
        if absurd {
            self.trouble("more tokens than a reply can have".to_owned(), Some(offset));
        }
        if self.block.text.len() >= block::FULL {
            self.cut();
        }
    }

    /// Counts what is wrong. Records are looked at twice, for tokens and for text; only the second look counts.
    fn trouble(&mut self, what: String, place: Option<u64>) {
        if self.way.depth == Depth::Tokens && place.is_some() {
            return;
        }
        match self.next.troubles.iter_mut().find(|(known, ..)| *known == what) {
            Some((.., times)) => *times += 1,
            None => self.next.troubles.push((what, place, 1)),
        }
    }

    /// The block is full.
    fn cut(&mut self) {
        // Compressing into memory does not fail.
        if let Ok(stored) = self.press.store(&self.block) {
            self.next.blocks.push(stored);
        }
        self.block.go_on();
    }

    /// Gives what there is up to `at`.
    fn give(&mut self, at: u64, end: Option<End>) {
        if !self.block.lines.is_empty() {
            self.cut();
        }
        let next = &mut self.next;
        let after = Portion {
            at,
            facts: next.facts.clone(),
            time: next.time,
            ..Portion::new(next.unit, next.version + 1, next.depth)
        };
        let mut portion = mem::replace(next, after);
        portion.at = at;
        portion.read = at.saturating_sub(self.from);
        portion.end = end;
        portion.state = self.skim.save();
        if !self.replies.is_empty() {
            portion.spent = self.replies.take();
        }
        if !self.raw.is_empty() {
            let raw = zstd::bulk::compress(&mem::take(&mut self.raw), RAW_LEVEL);
            portion.raw = raw.ok().map(|raw| (self.from, raw));
        }
        if matches!(self.task.seen.file.form, Form::Lines) {
            let reached = at.max(self.counted);
            portion.mark = read::open(&self.task.seen.path).and_then(|file| mark::of(&file, reached)).ok();
        }
        self.from = at;
        self.stopped = !(self.send)(portion);
    }
}

fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}
