//! Transcripts of sessions, from their logs or from the text kept in the index.

use std::{collections::HashMap, sync::Arc};

use rusqlite::Connection;
use switchboard_agents::{
    LOGS, LogFile, Record, RecordTranslator, ReplyKey, ScanDepth, SessionContext, TranslatorOptions, find_source,
    own_reply_key,
};
use switchboard_event::{Details, Event, EventBody, Id};

use super::replies::UnitEvents;
use super::sessions::belongs_to_session;
use super::{LogLibrary, ReplyDeduplicator};
use crate::index::LogUnit;
use crate::index::block::TextBlock;
use crate::{KeptPassage, LogSession, LogsError, Transcript, read};

/// Limits the chain of forks, in case it is circular.
const MAX_FORK_DEPTH: usize = 64;

impl LogLibrary {
    /// Returns the transcript of a session with its subagents, from its logs or from the kept text.
    ///
    /// # Errors
    /// If neither can be read.
    pub fn read_transcript(&self, session: &LogSession) -> Result<Transcript, LogsError> {
        self.read_transcript_after(session, &mut ReplyDeduplicator::default())
    }

    /// Like `transcript`, for one of several sessions: usage counted in earlier sessions is not repeated.
    ///
    /// # Errors
    /// If neither can be read.
    pub fn read_transcript_after(
        &self,
        session: &LogSession,
        counted: &mut ReplyDeduplicator,
    ) -> Result<Transcript, LogsError> {
        let all = self.selected_units()?;
        let units = all.iter().filter(|unit| belongs_to_session(unit, session));
        let (mut logs, mut unreadable) = (Vec::new(), None);
        for told in units.map(|unit| self.read_unit_events(unit, session)) {
            match told {
                Ok(told) => logs.push(told),
                // The other logs are still useful.
                Err(error @ LogsError::Unreadable { .. }) => unreadable = Some(error),
                Err(error) => return Err(error),
            }
        }
        if logs.iter().all(|log| log.events.is_empty()) {
            let passages = self.kept_passages(session)?;
            return unreadable.filter(|_| passages.is_empty()).map_or(Ok(Transcript::Kept(passages)), Err);
        }
        counted.deduplicate_usage(&mut logs);
        let before = self.read_fork_base(session, &all)?;
        let events = logs.into_iter().map(|log| log.events).collect();
        Ok(Transcript::Events(interleave_events([before, events].concat())))
    }

    /// Reads one log of a session.
    fn read_unit_events(&self, unit: &LogUnit, session: &LogSession) -> Result<UnitEvents, LogsError> {
        let logs = LOGS.iter().find(|logs| logs.agent == unit.agent && !unit.is_own());
        let key = logs.map_or(own_reply_key as ReplyKey, |logs| logs.key);
        Ok(UnitEvents { session: unit.session.clone(), key, events: self.translate_unit(unit, &session.id, u64::MAX)? })
    }

    /// Returns the events before a fork, which the session's own log only references, earliest first. Usage is left
    /// out, since it is counted in the original session.
    fn read_fork_base(&self, session: &LogSession, all: &[Arc<LogUnit>]) -> Result<Vec<Vec<Event>>, LogsError> {
        let (mut logs, mut base) = (Vec::new(), session.facts.base.as_ref());
        while let Some(known) = base.filter(|_| logs.len() < MAX_FORK_DEPTH) {
            let is = |unit: &&Arc<LogUnit>| {
                unit.session == known.session && unit.agent == session.agent && unit.machine == session.machine
            };
            let Some(unit) = all.iter().find(is) else { break };
            let mut events = self.translate_unit(unit, &session.id, known.bytes)?;
            events.retain(|event| !matches!(event.body, EventBody::Usage(_) | EventBody::SessionEnded(_)));
            logs.push(events);
            base = unit.facts.base.as_ref();
        }
        logs.reverse();
        Ok(logs)
    }

    /// Returns the text that the index kept of a session.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn kept_passages(&self, session: &LogSession) -> Result<Vec<KeptPassage>, LogsError> {
        let units = self.selected_units()?;
        let index = self.index.lock();
        let mut passages = Vec::new();
        for unit in units.iter().filter(|unit| belongs_to_session(unit, session)) {
            let blocks = read_blocks(&index.connection, unit.id).map_err(|error| index.wrap_error(error))?;
            passages.extend(blocks.iter().flat_map(TextBlock::iter_passages).map(|(line, text)| KeptPassage {
                kind: line.kind,
                at: line.at,
                tool: line.tool.clone(),
                text: text.to_owned(),
            }));
        }
        passages.sort_by_key(|passages| passages.at);
        Ok(passages)
    }

    /// Returns the events of a log as events of `session`: from the file if it exists, else from copies of its records.
    /// Records at or after `end` are ignored.
    fn translate_unit(&self, unit: &LogUnit, session: &str, end: u64) -> Result<Vec<Event>, LogsError> {
        if unit.is_own() {
            return self.read_own_events(unit);
        }
        let Some((logs, source)) =
            LOGS.iter().find(|logs| logs.agent == unit.agent).and_then(|logs| Some((logs, find_source(logs.source)?)))
        else {
            return Ok(Vec::new());
        };
        // The home may no longer be configured. The longest path that is recognized identifies the file best.
        let folders: Vec<_> = unit.path.ancestors().skip(1).collect();
        let mut below = folders.iter().rev().filter_map(|folder| unit.path.strip_prefix(folder).ok());
        let file = below.find_map(|path| (logs.file)(path));
        let session = Id::from(session);
        let mut start = SessionContext::default();
        start.config.working_directory.clone_from(&unit.facts.cwd);
        let options = TranslatorOptions {
            made_up: session.clone(),
            session: Some(session),
            run: 1,
            start,
            ..TranslatorOptions::default()
        };
        let mut translator = RecordTranslator::new(source, options);
        let mut events = Vec::new();
        self.read_unit_records(unit, file.as_ref(), &mut |at, line| {
            if at < end {
                Record::for_each_in_line(line, |record| translator.translate_record(record, &mut events));
            }
        })?;
        if !events.is_empty() {
            translator.finish(&mut events);
        }
        if unit.parent.is_some() {
            let thread = Id::from(unit.facts.subagent.as_deref().unwrap_or(&unit.session));
            events
                .iter_mut()
                .filter(|event| event.thread.is_none())
                .for_each(|event| event.thread = Some(thread.clone()));
        }
        Ok(events)
    }

    /// Returns the events of a session that Switchboard ran.
    fn read_own_events(&self, unit: &LogUnit) -> Result<Vec<Event>, LogsError> {
        let mut events = Vec::new();
        let mut each =
            |_, row: &[u8]| events.extend(std::str::from_utf8(row).ok().and_then(|row| Event::from_json(row).ok()));
        if let (Some(own), Some(part)) = (self.own_log_source()?, &unit.part) {
            let unreadable = |error| LogsError::Unreadable { path: unit.path.clone(), error };
            own.read_records(part, &mut each).map_err(unreadable)?;
        }
        Ok(events)
    }

    fn read_unit_records(
        &self,
        unit: &LogUnit,
        file: Option<&LogFile>,
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<(), LogsError> {
        let mut unreadable = None;
        if let Some(file) = file.filter(|_| !unit.gone) {
            let mut given = false;
            let mut give = |at, record: &[u8]| {
                given = true;
                each(at, record);
            };
            match read::read_records(&unit.path, &file.form, unit.part.as_deref(), 0, ScanDepth::All, &mut give) {
                Ok(_) => return Ok(()),
                // The readable part is useful; `troubles` reports that it is incomplete.
                Err(_) if given => return Ok(()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => unreadable = Some(LogsError::Unreadable { path: unit.path.clone(), error }),
            }
        }
        let index = self.index.lock();
        let copies = read_copies(&index.connection, unit.id).map_err(|error| index.wrap_error(error))?;
        if let Some(error) = unreadable.filter(|_| copies.is_empty()) {
            return Err(error);
        }
        for (mut at, copy) in copies {
            let bytes =
                zstd::stream::decode_all(copy.as_slice()).map_err(|_| LogsError::Damaged("copies of records"))?;
            for record in bytes.split(|byte| *byte == b'\n') {
                each(at, record);
                at += record.len() as u64 + 1;
            }
        }
        Ok(())
    }
}

fn read_copies(connection: &Connection, unit: i64) -> rusqlite::Result<Vec<(u64, Vec<u8>)>> {
    let mut rows = connection.prepare_cached("SELECT begin, records FROM raw WHERE unit = ?1 ORDER BY id")?;
    rows.query_map([unit], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn read_blocks(connection: &Connection, unit: i64) -> rusqlite::Result<Vec<TextBlock>> {
    let sql = "SELECT passages FROM text WHERE block IN (SELECT block FROM words WHERE unit = ?1) ORDER BY block";
    let mut rows = connection.prepare_cached(sql)?;
    let rows = rows.query_map([unit], |row| row.get::<_, Vec<u8>>(0))?;
    Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?.iter().filter_map(|stored| TextBlock::decode(stored)).collect())
}

/// Merges the events of a session and its subagents in the order of their times, and renumbers them. The events of a
/// subagent get the item that started it as their parent, if it is known.
fn interleave_events(logs: Vec<Vec<Event>>) -> Vec<Event> {
    let mut parents: HashMap<Id, Id> = HashMap::new();
    for event in logs.iter().flatten() {
        if let (Some(item), EventBody::ItemStarted(started) | EventBody::ItemCompleted(started)) =
            (&event.item, &event.body)
            && let Details::Subagent(subagent) = &started.details
            && let Some(thread) = &subagent.thread
        {
            parents.insert(thread.clone(), item.clone());
        }
    }
    let mut all: Vec<(usize, Event)> = logs
        .into_iter()
        .enumerate()
        .flat_map(|(log, events)| events.into_iter().map(move |event| (log, event)))
        .collect();
    // Within a log the order stays, even if its times jump.
    let mut latest: HashMap<usize, switchboard_event::Timestamp> = HashMap::new();
    let mut keyed: Vec<_> = all
        .drain(..)
        .map(|(log, event)| {
            let at = latest.entry(log).and_modify(|last| *last = (*last).max(event.at)).or_insert(event.at);
            (*at, log, event)
        })
        .collect();
    keyed.sort_by_key(|(at, log, event)| (*at, *log, event.seq));
    let mut numbers: HashMap<(usize, u64), u64> = HashMap::new();
    let mut events = Vec::with_capacity(keyed.len());
    for (seq, (_, log, mut event)) in (1..).zip(keyed) {
        numbers.insert((log, event.seq), seq);
        event.seq = seq;
        event.cause = event.cause.and_then(|cause| numbers.get(&(log, cause)).copied());
        if let (None, Some(thread)) = (&event.parent, &event.thread) {
            event.parent = parents.get(thread).cloned();
        }
        events.push(event);
    }
    events
}
