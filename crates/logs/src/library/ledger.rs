//! What was used: every reply once, wherever it lies.

use std::{collections::HashMap, hash::BuildHasher as _};

use hashbrown::HashTable;
use rusqlite::Connection;
use switchboard_event::Timestamp;

use super::{Library, matching::Matching};
use crate::{
    Entry, Filter, Ledger, LogsError, Name,
    index::{
        spent::{self, Reply},
        units::Unit,
    },
};

type Quick = foldhash::fast::FixedState;

/// A packed reply has at least about so many bytes.
const LEAST: usize = 32;

impl Library {
    /// What was used, each reply once.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn ledger(&self, filter: &Filter) -> Result<Ledger, LogsError> {
        let units = self.units()?;
        let index = self.index();
        let mut books = Books::new(&units);
        books.read(&index.connection).map_err(|error| index.error(error))?;
        if books.damaged {
            return Err(LogsError::Damaged("replies"));
        }
        Ok(books.close(&Matching::new(filter, &units)))
    }
}

/// Replies that are being brought together.
struct Books<'a> {
    units: HashMap<i64, (usize, &'a Unit), Quick>,
    names: Names,
    /// Where each reply is among `replies`, by its key.
    known: HashTable<u32>,
    replies: Vec<(u32, Reply)>,
    /// In which logs a reply lies that lies in several.
    shared: HashMap<u32, Vec<Place>, Quick>,
    order: Vec<&'a Unit>,
    damaged: bool,
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
    fn new(units: &'a [Unit]) -> Self {
        let mut order: Vec<&Unit> = units.iter().collect();
        order.sort_by_key(|unit| (unit.facts.began, &unit.session, unit.id));
        let units = order.iter().enumerate().map(|(rank, unit)| (unit.id, (rank, *unit))).collect();
        let mut names = Names::default();
        names.number("");
        Self {
            units,
            names,
            known: HashTable::new(),
            replies: Vec::new(),
            shared: HashMap::default(),
            order,
            damaged: false,
        }
    }

    fn read(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.make_room(connection)?;
        let mut rows = connection.prepare_cached("SELECT unit, replies FROM spent")?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let rank = self.units.get(&row.get(0)?).map(|(rank, _)| *rank);
            let Some(rank) = rank.and_then(|rank| u32::try_from(rank).ok()) else { continue };
            let Some((names, replies)) = spent::read(row.get_ref(1)?.as_blob()?) else {
                self.damaged = true;
                continue;
            };
            let numbers: Vec<u32> = [0].into_iter().chain(names.iter().map(|name| self.names.number(name))).collect();
            for reply in replies {
                self.add(rank, renamed(reply, &numbers));
            }
        }
        Ok(())
    }

    /// As much as there will be: what grows is copied again and again.
    fn make_room(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let bytes: usize =
            connection.query_row("SELECT coalesce(sum(length(replies)), 0) FROM spent", [], |row| row.get(0))?;
        self.replies.reserve(bytes / LEAST);
        self.known.reserve(bytes / LEAST, |_| 0);
        Ok(())
    }

    fn add(&mut self, rank: u32, reply: Reply) {
        let key = |replies: &[(u32, Reply)], at: u32| replies.get(at as usize).map(|(_, reply)| reply.key);
        let hash = |key| Quick::default().hash_one(key);
        let known = self.known.find(hash(Some(reply.key)), |at| key(&self.replies, *at) == Some(reply.key)).copied();
        match known.and_then(|at| Some((at, self.replies.get_mut(at as usize)?))) {
            Some((at, (owner, known))) => {
                let first = || vec![Place { copied: known.copied, at: known.at, rank: *owner }];
                let places = self.shared.entry(at).or_insert_with(first);
                places.push(Place { copied: reply.copied, at: reply.at, rank });
                known.unite(reply);
            }
            None => {
                let next = u32::try_from(self.replies.len()).unwrap_or(u32::MAX);
                self.known.insert_unique(hash(Some(reply.key)), next, |at| hash(key(&self.replies, *at)));
                self.replies.push((rank, reply));
            }
        }
    }

    /// Whose each reply is that lies in several logs: of the one that has it first. A copy has the times of what it was
    /// copied from; then it is of the session that went on first, or has nothing but what others have, too: a session
    /// that was copied was there before the copy went on.
    fn settle(&mut self) {
        let mut went_on: Vec<Option<i64>> = vec![None; self.order.len()];
        for (at, (rank, reply)) in (0..).zip(&self.replies) {
            if let Some(first) = went_on.get_mut(*rank as usize).filter(|_| !self.shared.contains_key(&at)) {
                *first = Some(first.map_or(reply.at, |first| first.min(reply.at)));
            }
        }
        for (at, places) in &self.shared {
            let of = |place: &&Place| (place.copied, place.at, went_on.get(place.rank as usize).copied(), place.rank);
            if let (Some((owner, _)), Some(first)) = (self.replies.get_mut(*at as usize), places.iter().min_by_key(of))
            {
                *owner = first.rank;
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
        let fits = |name: u32| fits.get(name as usize).copied().unwrap_or_default();
        ledger.entries.reserve(self.replies.len());
        for (rank, reply) in self.replies {
            let Some((owner, unit)) = owners.get(rank as usize).zip(self.order.get(rank as usize)) else { continue };
            let project = if reply.cwd == 0 { owner.project } else { Name(reply.cwd) };
            let at = Timestamp::from_micros(reply.at).unwrap_or_default();
            if !matching.unit(unit.id) || !matching.at(at) || !fits(reply.model).0 || !fits(project.0).1 {
                continue;
            }
            let tools = lists.number(&reply.tools, &mut ledger.tools);
            ledger.entries.push(owner.entry(&reply, at, project, tools));
        }
        ledger.names = self.names.names;
        ledger
    }
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

fn renamed(mut reply: Reply, numbers: &[u32]) -> Reply {
    let of = |name: u32| numbers.get(name as usize).copied().unwrap_or_default();
    (reply.model, reply.cwd, reply.subagent) = (of(reply.model), of(reply.cwd), of(reply.subagent));
    for (_, tool) in &mut reply.tools {
        *tool = of(*tool);
    }
    reply
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

    fn entry(&self, reply: &Reply, at: Timestamp, project: Name, tools: u32) -> Entry {
        let [input, output, cache_read, cache_write, cache_write_1h, reasoning] = reply.tokens;
        Entry {
            at,
            agent: self.agent,
            machine: self.machine,
            session: self.session,
            subagent: if reply.subagent == 0 { self.subagent } else { Name(reply.subagent) },
            project,
            model: Name(reply.model),
            tools,
            input,
            output,
            cache_read,
            cache_write,
            cache_write_1h,
            reasoning,
            cost_usd: reply.cost_usd,
        }
    }
}
