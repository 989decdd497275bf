//! What was said and done in a session: read anew from its logs, or what the index kept of them.

use std::{collections::HashMap, sync::Arc};

use rusqlite::Connection;
use switchboard_agents::{Depth, LOGS, LogFile, Options, Record, ReplyKey, Start, Translator, own_key, source};
use switchboard_event::{Body, Details, Event, Id};

use super::{Counted, Library, counted::Told, sessions::belongs};
use crate::{
    Kept, LogsError, Session, Transcript,
    index::{block::Block, units::Unit},
    read,
};

/// A copy of a copy, and so on: no more than so many are followed, in case they go round in a circle.
const MOST_COPIES: usize = 64;

impl Library {
    /// What was said and done in a session, with its subagents: read from its log, or what was kept of it.
    ///
    /// # Errors
    /// If neither can be read.
    pub fn transcript(&self, session: &Session) -> Result<Transcript, LogsError> {
        self.transcript_after(session, &mut Counted::default())
    }

    /// The same behind other sessions: what it repeats of them has no tokens again.
    ///
    /// # Errors
    /// If neither can be read.
    pub fn transcript_after(&self, session: &Session, counted: &mut Counted) -> Result<Transcript, LogsError> {
        let all = self.units()?;
        let units = all.iter().filter(|unit| belongs(unit, session));
        let (mut logs, mut unreadable) = (Vec::new(), None);
        for told in units.map(|unit| self.told(unit, session)) {
            match told {
                Ok(told) => logs.push(told),
                // The others are worth having all the same.
                Err(error @ LogsError::Unreadable { .. }) => unreadable = Some(error),
                Err(error) => return Err(error),
            }
        }
        if logs.iter().all(|log| log.events.is_empty()) {
            let kept = self.kept(session)?;
            return unreadable.filter(|_| kept.is_empty()).map_or(Ok(Transcript::Kept(kept)), Err);
        }
        counted.once(&mut logs);
        let before = self.before(session, &all)?;
        let events = logs.into_iter().map(|log| log.events).collect();
        Ok(Transcript::Events(woven([before, events].concat())))
    }

    /// One of the logs of a session.
    fn told(&self, unit: &Unit, session: &Session) -> Result<Told, LogsError> {
        let logs = LOGS.iter().find(|logs| logs.agent == unit.agent && !unit.is_own());
        let key = logs.map_or(own_key as ReplyKey, |logs| logs.key);
        Ok(Told { session: unit.session.clone(), key, events: self.events(unit, &session.id, u64::MAX)? })
    }

    /// What a session that began as a copy does not have in its own log: what was said up to then, the earliest first.
    /// What that used is counted where it was used.
    fn before(&self, session: &Session, all: &[Arc<Unit>]) -> Result<Vec<Vec<Event>>, LogsError> {
        let (mut logs, mut base) = (Vec::new(), session.facts.base.as_ref());
        while let Some(known) = base.filter(|_| logs.len() < MOST_COPIES) {
            let is = |unit: &&Arc<Unit>| {
                unit.session == known.session && unit.agent == session.agent && unit.machine == session.machine
            };
            let Some(unit) = all.iter().find(is) else { break };
            let mut events = self.events(unit, &session.id, known.bytes)?;
            events.retain(|event| !matches!(event.body, Body::Usage(_) | Body::SessionEnded(_)));
            logs.push(events);
            base = unit.facts.base.as_ref();
        }
        logs.reverse();
        Ok(logs)
    }

    /// What the index keeps of a session's text.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn kept(&self, session: &Session) -> Result<Vec<Kept>, LogsError> {
        let units = self.units()?;
        let index = self.index();
        let mut kept = Vec::new();
        for unit in units.iter().filter(|unit| belongs(unit, session)) {
            let blocks = blocks(&index.connection, unit.id).map_err(|error| index.error(error))?;
            kept.extend(blocks.iter().flat_map(Block::passages).map(|(line, text)| Kept {
                kind: line.kind,
                at: line.at,
                tool: line.tool.clone(),
                text: text.to_owned(),
            }));
        }
        kept.sort_by_key(|kept| kept.at);
        Ok(kept)
    }

    /// The events of one log, as those of this session: from the file while it is there, else from copies of its records.
    /// Only of records that begin before `end`.
    fn events(&self, unit: &Unit, session: &str, end: u64) -> Result<Vec<Event>, LogsError> {
        if unit.is_own() {
            return self.own_events(unit);
        }
        let Some((logs, source)) =
            LOGS.iter().find(|logs| logs.agent == unit.agent).and_then(|logs| Some((logs, source(logs.source)?)))
        else {
            return Ok(Vec::new());
        };
        // The home may be one that was looked in long ago. As much of the path as can be says best what the file is.
        let folders: Vec<_> = unit.path.ancestors().skip(1).collect();
        let mut below = folders.iter().rev().filter_map(|folder| unit.path.strip_prefix(folder).ok());
        let file = below.find_map(|path| (logs.file)(path));
        let session = Id::from(session);
        let mut start = Start::default();
        start.config.working_directory.clone_from(&unit.facts.cwd);
        let options = Options { made_up: session.clone(), session: Some(session), run: 1, start, ..Options::default() };
        let mut translator = Translator::new(source, options);
        let mut events = Vec::new();
        self.records(unit, file.as_ref(), &mut |at, line| {
            if at < end {
                Record::for_each_in_line(line, |record| translator.record(record, &mut events));
            }
        })?;
        if !events.is_empty() {
            translator.end(&mut events);
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

    /// The events of a session that Switchboard ran itself.
    fn own_events(&self, unit: &Unit) -> Result<Vec<Event>, LogsError> {
        let mut events = Vec::new();
        let mut each =
            |_, row: &[u8]| events.extend(std::str::from_utf8(row).ok().and_then(|row| Event::from_json(row).ok()));
        if let (Some(own), Some(part)) = (self.own()?, &unit.part) {
            let unreadable = |error| LogsError::Unreadable { path: unit.path.clone(), error };
            own.records(part, &mut each).map_err(unreadable)?;
        }
        Ok(events)
    }

    fn records(&self, unit: &Unit, file: Option<&LogFile>, each: &mut dyn FnMut(u64, &[u8])) -> Result<(), LogsError> {
        let mut unreadable = None;
        if let Some(file) = file.filter(|_| !unit.gone) {
            let mut given = false;
            let mut give = |at, record: &[u8]| {
                given = true;
                each(at, record);
            };
            match read::records(&unit.path, &file.form, unit.part.as_deref(), 0, Depth::All, &mut give) {
                Ok(_) => return Ok(()),
                // What can be read is worth having; `troubles` tells that it is not all.
                Err(_) if given => return Ok(()),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => unreadable = Some(LogsError::Unreadable { path: unit.path.clone(), error }),
            }
        }
        let index = self.index();
        let copies = copies(&index.connection, unit.id).map_err(|error| index.error(error))?;
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

fn copies(connection: &Connection, unit: i64) -> rusqlite::Result<Vec<(u64, Vec<u8>)>> {
    let mut rows = connection.prepare_cached("SELECT begin, records FROM raw WHERE unit = ?1 ORDER BY id")?;
    rows.query_map([unit], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

fn blocks(connection: &Connection, unit: i64) -> rusqlite::Result<Vec<Block>> {
    let sql = "SELECT passages FROM text WHERE block IN (SELECT block FROM words WHERE unit = ?1) ORDER BY block";
    let mut rows = connection.prepare_cached(sql)?;
    let rows = rows.query_map([unit], |row| row.get::<_, Vec<u8>>(0))?;
    Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?.iter().filter_map(|stored| Block::read(stored)).collect())
}

/// The events of a session and of its subagents, in the order in which they happened, numbered anew. What a subagent did
/// hangs below the item that started it, where that is known.
fn woven(logs: Vec<Vec<Event>>) -> Vec<Event> {
    let mut parents: HashMap<Id, Id> = HashMap::new();
    for event in logs.iter().flatten() {
        if let (Some(item), Body::ItemStarted(started) | Body::ItemCompleted(started)) = (&event.item, &event.body)
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
    // Within one log the order stays: its times may jump.
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
