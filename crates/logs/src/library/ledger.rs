//! What was used: every reply once, wherever it lies.

use std::{collections::HashMap, hash::BuildHasher as _, sync::Arc};

use hashbrown::HashTable;
use rusqlite::Connection;
use switchboard_event::Timestamp;

use super::{Library, matching::Matching};
use crate::{
    Entry, Filter, Ledger, LogsError, Name,
    index::{
        spent::{Reply, Row},
        units::Unit,
    },
};

type Quick = foldhash::fast::FixedState;

/// A packed reply has at least about so many bytes.
const LEAST: usize = 48;

impl Library {
    /// What was used, each reply once.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn ledger(&self, filter: &Filter) -> Result<Ledger, LogsError> {
        let index = self.index();
        let _moment = index.still()?;
        let units = self.meant(&self.all_units(&index)?);
        let mut books = Books::new(&units);
        books.read(&index.connection).map_err(|error| index.error(error))?;
        if books.damaged {
            return Err(LogsError::Damaged("replies"));
        }
        Ok(books.close(&Matching::new(filter, &units)))
    }
}

/// Replies that are being brought together. There are very many: each has one place in each list, and no memory of its
/// own.
struct Books<'a> {
    /// The ranks of logs.
    ranks: HashMap<i64, u32, Quick>,
    names: Names,
    /// Where each reply is, by its key.
    known: HashTable<u32>,
    /// The replies, as they will be told; what follows from their logs is filled in at the end.
    entries: Vec<Entry>,
    /// What else is known of each.
    notes: Vec<Note>,
    /// The calls of all of them.
    calls: Vec<(u32, u32)>,
    /// In which logs a reply lies that lies in several.
    shared: HashMap<u32, Vec<Place>, Quick>,
    order: Vec<&'a Unit>,
    damaged: bool,
}

/// What is known of a reply besides what will be told.
struct Note {
    key: u128,
    /// The log that has it.
    rank: u32,
    copied: bool,
    /// Its calls, from one to another.
    calls: (u32, u32),
}

/// A log that has a reply, and how.
struct Place {
    copied: bool,
    at: i64,
    rank: u32,
}

#[derive(Default)]
struct Names {
    numbers: HashMap<String, u32, Quick>,
    names: Vec<String>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

impl<'a> Books<'a> {
    /// Which session a reply belongs to that lies in several is the same whatever the order in which they were read.
    fn new(units: &'a [Arc<Unit>]) -> Self {
        let mut order: Vec<&Unit> = units.iter().map(|unit| &**unit).collect();
        order.sort_by_key(|unit| (unit.facts.began, &unit.session, unit.id));
        let mut names = Names::default();
        names.number("");
        Self {
            ranks: (0..).zip(&order).map(|(rank, unit)| (unit.id, rank)).collect(),
            names,
            known: HashTable::new(),
            entries: Vec::new(),
            notes: Vec::new(),
            calls: Vec::new(),
            shared: HashMap::default(),
            order,
            damaged: false,
        }
    }

    fn read(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.make_room(connection)?;
        let mut rows = connection.prepare_cached("SELECT unit, replies FROM spent")?;
        let mut rows = rows.query([])?;
        let (mut reply, mut numbers) = (Reply::default(), Vec::new());
        while let Some(row) = rows.next()? {
            let Some(rank) = self.ranks.get(&row.get(0)?).copied() else { continue };
            let Some(mut replies) = Row::read(row.get_ref(1)?.as_blob()?) else {
                self.damaged = true;
                continue;
            };
            numbers.clear();
            numbers.push(0);
            numbers.extend(replies.names.iter().map(|name| self.names.number(name)));
            while replies.next(&mut reply).is_some() {
                rename(&mut reply, &numbers);
                self.add(rank, &reply);
            }
            self.damaged |= !replies.is_over();
        }
        Ok(())
    }

    /// As much as there will be: what grows is copied again and again.
    fn make_room(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let bytes: usize =
            connection.query_row("SELECT coalesce(sum(length(replies)), 0) FROM spent", [], |row| row.get(0))?;
        self.entries.reserve(bytes / LEAST);
        self.notes.reserve(bytes / LEAST);
        self.known.reserve(bytes / LEAST, |_| 0);
        Ok(())
    }

    fn add(&mut self, rank: u32, reply: &Reply) {
        let is = |at: &u32| self.notes.get(*at as usize).is_some_and(|note| note.key == reply.key);
        match self.known.find(hash(reply.key), is).copied() {
            Some(at) => self.unite(at, rank, reply),
            None => {
                let next = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
                let key = |at: &u32| self.notes.get(*at as usize).map_or(0, |note| hash(note.key));
                self.known.insert_unique(hash(reply.key), next, key);
                let calls = self.keep_calls(&reply.tools);
                self.notes.push(Note { key: reply.key, rank, copied: reply.copied, calls });
                self.entries.push(entry(reply));
            }
        }
    }

    /// The same reply in another log.
    fn unite(&mut self, at: u32, rank: u32, reply: &Reply) {
        let Some((note, known)) = self.notes.get(at as usize).zip(self.entries.get(at as usize)) else { return };
        let first = || vec![Place { copied: note.copied, at: known.at.as_micros(), rank: note.rank }];
        self.shared.entry(at).or_insert_with(first).push(Place { copied: reply.copied, at: reply.at, rank });
        let calls = self.calls.get(note.calls.0 as usize..note.calls.1 as usize).unwrap_or_default();
        let mut both = Reply { key: note.key, copied: note.copied, tools: calls.to_vec(), ..of_entry(known) };
        both.unite(reply.clone());
        let calls = if both.tools.len() == calls.len() { note.calls } else { self.keep_calls(&both.tools) };
        if let Some((note, known)) = self.notes.get_mut(at as usize).zip(self.entries.get_mut(at as usize)) {
            (note.copied, note.calls, *known) = (both.copied, calls, entry(&both));
        }
    }

    fn keep_calls(&mut self, calls: &[(u32, u32)]) -> (u32, u32) {
        let place = |calls: &[(u32, u32)]| u32::try_from(calls.len()).unwrap_or(u32::MAX);
        let begin = place(&self.calls);
        self.calls.extend_from_slice(calls);
        (begin, place(&self.calls))
    }

    /// Whose each reply is that lies in several logs: of the one that has it first. A copy has the times of what it was
    /// copied from; then it is of the session that went on first, or has nothing but what others have, too: a session
    /// that was copied was there before the copy went on.
    fn settle(&mut self) {
        let mut went_on: Vec<Option<i64>> = vec![None; self.order.len()];
        for (at, (note, reply)) in (0..).zip(self.notes.iter().zip(&self.entries)) {
            if let Some(first) = went_on.get_mut(note.rank as usize).filter(|_| !self.shared.contains_key(&at)) {
                let at = reply.at.as_micros();
                *first = Some(first.map_or(at, |first| first.min(at)));
            }
        }
        for (at, places) in &self.shared {
            let of = |place: &&Place| (place.copied, place.at, went_on.get(place.rank as usize).copied(), place.rank);
            if let (Some(note), Some(first)) = (self.notes.get_mut(*at as usize), places.iter().min_by_key(of)) {
                note.rank = first.rank;
            }
        }
    }

    fn close(mut self, matching: &Matching) -> Ledger {
        self.settle();
        let mut ledger = Ledger { tools: vec![Vec::new()], ..Ledger::default() };
        let mut lists = Lists::default();
        let owners: Vec<Owner> = self.order.iter().map(|unit| Owner::of(unit, &mut self.names)).collect();
        let fits = self.names.names.iter().map(|name| (matching.model(name), matching.project(name)));
        let fits: Vec<(bool, bool)> = fits.collect();
        let fits = |name: Name| fits.get(name.0 as usize).copied().unwrap_or_default();
        let mut notes = self.notes.iter();
        self.entries.retain_mut(|entry| {
            let Some(note) = notes.next() else { return false };
            let owner = owners.get(note.rank as usize).zip(self.order.get(note.rank as usize));
            let Some((owner, unit)) = owner else { return false };
            owner.complete(entry);
            if !matching.unit(unit.id) || !matching.at(entry.at) || !fits(entry.model).0 || !fits(entry.project).1 {
                return false;
            }
            let calls = self.calls.get(note.calls.0 as usize..note.calls.1 as usize).unwrap_or_default();
            entry.tools = lists.number(calls, &mut ledger.tools);
            true
        });
        (ledger.entries, ledger.names) = (self.entries, self.names.names);
        ledger
    }
}

/// A key is a hash already.
#[expect(clippy::cast_possible_truncation, reason = "half of a hash is a hash")]
fn hash(key: u128) -> u64 {
    key as u64
}

/// Lists of tools that were called, each once: most replies call the same few.
#[derive(Default)]
struct Lists {
    known: HashTable<u32>,
}

impl Lists {
    /// The number of the list of these calls. The first one is empty.
    fn number(&mut self, calls: &[(u32, u32)], lists: &mut Vec<Vec<Name>>) -> u32 {
        if calls.is_empty() {
            return 0;
        }
        let names = || calls.iter().map(|(_, name)| Name(*name));
        let list = |at: u32| lists.get(at as usize).map(Vec::as_slice).unwrap_or_default();
        let hash = |list: &mut dyn Iterator<Item = Name>| {
            list.fold(0, |hash: u64, name| Quick::default().hash_one((hash, name.0)))
        };
        let wanted = hash(&mut names());
        if let Some(known) = self.known.find(wanted, |at| list(*at).iter().copied().eq(names())) {
            return *known;
        }
        let next = u32::try_from(lists.len()).unwrap_or_default();
        self.known.insert_unique(wanted, next, |at| hash(&mut list(*at).iter().copied()));
        lists.push(names().collect());
        next
    }
}

fn rename(reply: &mut Reply, numbers: &[u32]) {
    let of = |name: u32| numbers.get(name as usize).copied().unwrap_or_default();
    (reply.model, reply.cwd, reply.subagent) = (of(reply.model), of(reply.cwd), of(reply.subagent));
    for (_, tool) in &mut reply.tools {
        *tool = of(*tool);
    }
}

/// What is told of a reply. What follows from its log is not there yet.
fn entry(reply: &Reply) -> Entry {
    let [input, output, cache_read, cache_write, cache_write_1h, reasoning] = reply.tokens;
    Entry {
        at: Timestamp::from_micros(reply.at).unwrap_or_default(),
        subagent: Name(reply.subagent),
        project: Name(reply.cwd),
        model: Name(reply.model),
        input,
        output,
        cache_read,
        cache_write,
        cache_write_1h,
        reasoning,
        cost_usd: reply.cost_usd,
        ..Entry::default()
    }
}

/// The reply that will be told so.
fn of_entry(entry: &Entry) -> Reply {
    let Entry { input, output, cache_read, cache_write, cache_write_1h, reasoning, .. } = *entry;
    Reply {
        at: entry.at.as_micros(),
        model: entry.model.0,
        cwd: entry.project.0,
        subagent: entry.subagent.0,
        tokens: [input, output, cache_read, cache_write, cache_write_1h, reasoning],
        cost_usd: entry.cost_usd,
        ..Reply::default()
    }
}

/// What all replies of a log share.
struct Owner {
    agent: Name,
    machine: Name,
    session: Name,
    subagent: Name,
    project: Name,
}

impl Owner {
    fn of(unit: &Unit, names: &mut Names) -> Self {
        let mut name = |name: Option<&str>| Name(names.number(name.unwrap_or_default()));
        let subagent = unit.facts.subagent.as_deref().or(Some(unit.session.as_str()));
        Self {
            agent: name(Some(&unit.agent)),
            machine: name(unit.machine.as_deref()),
            session: name(unit.parent.as_deref().or(Some(&unit.session))),
            subagent: name(subagent.filter(|_| unit.parent.is_some())),
            project: name(unit.facts.cwd.as_deref()),
        }
    }

    /// Fills in what follows from the log.
    fn complete(&self, entry: &mut Entry) {
        (entry.agent, entry.machine, entry.session) = (self.agent, self.machine, self.session);
        for (known, of_log) in [(&mut entry.subagent, self.subagent), (&mut entry.project, self.project)] {
            if *known == Name::default() {
                *known = of_log;
            }
        }
    }
}
