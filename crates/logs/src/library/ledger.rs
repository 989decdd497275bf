//! What was used: every reply once, wherever it lies.

use std::{
    collections::{HashMap, HashSet},
    hash::BuildHasher as _,
    sync::Arc,
};

use hashbrown::HashTable;
use rusqlite::Connection;
use switchboard_event::Timestamp;

use super::{Library, matching::Matching, totals::Totals};
use crate::{
    Entry, Filter, Ledger, LogsError, Name,
    index::{
        spent::{self, Reply, Row},
        units::Unit,
    },
    usage::{self, By, Gather, Question, Usage},
};

type Quick = foldhash::fast::FixedState;

/// All replies there are, packed.
const ALL: &str = "SELECT unit, packed FROM spent";

impl Library {
    /// What was used, put together as asked for.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn usage(&self, filter: &Filter, question: &Question<'_>) -> Result<Usage, LogsError> {
        let mut gather = Gather::new(question);
        let ledger = self.replies(filter, |ledger, entry| gather.add(ledger, entry))?;
        let mut usage = gather.close(&ledger);
        if question.by == By::Session {
            self.entitle(&mut usage.rows)?;
        }
        Ok(usage)
    }

    /// An id says nothing to people.
    fn entitle(&self, rows: &mut [usage::Row]) -> Result<(), LogsError> {
        let sessions = self.sessions(&Filter::default())?;
        let sessions: HashMap<_, _> = sessions.iter().map(|session| (session.id.as_str(), &session.facts)).collect();
        for row in rows {
            if let Some(facts) = sessions.get(row.key.as_str()) {
                row.title = facts.title.clone().or_else(|| facts.prompt.clone());
                row.project = facts.cwd.clone();
            }
        }
        Ok(())
    }

    /// What was used, each reply once.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn ledger(&self, filter: &Filter) -> Result<Ledger, LogsError> {
        let mut entries = Vec::new();
        let ledger = self.replies(filter, |_, entry| entries.push(*entry))?;
        Ok(Ledger { entries, ..ledger })
    }

    /// Gives each reply once to `each`, with a ledger that has the names so far: there are too many replies to keep them
    /// for nothing. At the end, the ledger has all names and no replies.
    ///
    /// # Errors
    /// If the index cannot be read; some replies may have been given before that was seen.
    pub fn replies(&self, filter: &Filter, each: impl FnMut(&Ledger, &Entry)) -> Result<Ledger, LogsError> {
        let index = self.index();
        let _moment = index.still()?;
        let units = self.meant(&self.all_units(&index)?);
        let matching = Matching::new(filter, &units);
        let mut books = Books::new(&units, &matching, each);
        let read = books.read(&index.connection).map_err(|error| index.error(error))?;
        read.map(|()| books.ledger).ok_or(LogsError::Damaged("replies"))
    }
}

/// Replies that are being brought together. There are very many, and hardly one of them lies in several logs: those that
/// do are found first, by their keys, and all others are told as they are read.
struct Books<'a, F> {
    owners: Vec<Owner>,
    /// The ranks of logs: their places among the owners.
    ranks: HashMap<i64, u32, Quick>,
    names: Names<'a>,
    lists: Lists,
    /// The names and lists so far.
    ledger: Ledger,
    /// What is given each reply.
    each: F,
    /// Replies that may lie in several logs, and where each is among them, by its key.
    shared: Vec<Shared>,
    known: HashMap<u128, usize, Quick>,
    totals: Totals,
    matching: &'a Matching,
}

/// A reply that may lie in several logs, and where.
struct Shared {
    reply: Reply,
    places: Vec<Place>,
}

/// A log that has a reply, and how.
struct Place {
    copied: bool,
    at: i64,
    rank: u32,
    cwd: u32,
    subagent: u32,
}

impl<'a, F: FnMut(&Ledger, &Entry)> Books<'a, F> {
    /// Which session a reply belongs to that lies in several is the same whatever the order in which they were read.
    fn new(units: &'a [Arc<Unit>], matching: &'a Matching, each: F) -> Self {
        let mut order: Vec<&Unit> = units.iter().map(|unit| &**unit).collect();
        order.sort_by_key(|unit| (unit.facts.began, &unit.session, &unit.name));
        let (mut ledger, mut names) = (Ledger { tools: vec![Vec::new()], ..Ledger::default() }, Names::new(matching));
        names.number("", &mut ledger);
        Self {
            ranks: (0..).zip(&order).map(|(rank, unit)| (unit.id, rank)).collect(),
            owners: order.into_iter().map(|unit| Owner::of(unit, &mut names, &mut ledger)).collect(),
            names,
            lists: Lists::default(),
            ledger,
            each,
            shared: Vec::new(),
            known: HashMap::default(),
            totals: Totals::default(),
            matching,
        }
    }

    /// Reads all replies of these logs. Nothing if some are damaged.
    fn read(&mut self, connection: &Connection) -> rusqlite::Result<Option<()>> {
        let Some(several) = self.several(connection)? else { return Ok(None) };
        let mut rows = connection.prepare_cached(ALL)?;
        let mut rows = rows.query([])?;
        let (mut reply, mut numbers) = (Reply::default(), Vec::new());
        while let Some(row) = rows.next()? {
            let Some(rank) = self.ranks.get(&row.get(0)?).copied() else { continue };
            let Some(mut replies) = Row::read(row.get_ref(1)?.as_blob()?) else { return Ok(None) };
            numbers.clear();
            numbers.push(0);
            numbers.extend(replies.names.iter().map(|name| self.names.number(name, &mut self.ledger)));
            while replies.next(&mut reply).is_some() {
                rename(&mut reply, &numbers);
                if reply.is_total {
                    let session = self.session(rank);
                    self.totals.add(rank, session, &reply);
                } else if several.contains(&part(reply.key)) {
                    self.share(rank, &reply);
                } else {
                    self.own(rank, &reply);
                }
            }
            if !replies.is_over() {
                return Ok(None);
            }
        }
        self.settle();
        for (rank, missing) in std::mem::take(&mut self.totals).into_missing() {
            self.tell(rank, &missing);
        }
        Ok(Some(()))
    }

    /// Parts of the keys that are there more than once, and perhaps of a few others. Nothing if some are damaged.
    fn several(&self, connection: &Connection) -> rusqlite::Result<Option<HashSet<u32, Quick>>> {
        let mut rows = connection.prepare_cached(ALL)?;
        let mut rows = rows.query([])?;
        let mut parts: Vec<u32> = Vec::new();
        while let Some(row) = rows.next()? {
            if self.ranks.contains_key(&row.get(0)?) {
                let Some(keys) = spent::keys(row.get_ref(1)?.as_blob()?) else { return Ok(None) };
                parts.extend(keys.map(part));
            }
        }
        parts.sort_unstable();
        let several = parts.iter().zip(parts.iter().skip(1)).filter(|(one, next)| one == next);
        Ok(Some(several.map(|(one, _)| *one).collect()))
    }

    /// A reply that no other log has.
    fn own(&mut self, rank: u32, reply: &Reply) {
        if let Some(owner) = self.owners.get_mut(rank as usize) {
            owner.went_on = Some(owner.went_on.map_or(reply.at, |first| first.min(reply.at)));
        }
        let session = self.session(rank);
        self.totals.cover(session, reply);
        self.tell(rank, reply);
    }

    fn session(&self, rank: u32) -> Name {
        self.owners.get(rank as usize).map(|owner| owner.session).unwrap_or_default()
    }

    /// A reply that another log may have, too.
    fn share(&mut self, rank: u32, reply: &Reply) {
        let Reply { copied, at, cwd, subagent, .. } = *reply;
        let place = Place { copied, at, rank, cwd, subagent };
        match self.known.get(&reply.key).and_then(|&at| self.shared.get_mut(at)) {
            Some(known) => {
                known.places.push(place);
                known.reply.unite(reply.clone());
            }
            None => {
                self.known.insert(reply.key, self.shared.len());
                self.shared.push(Shared { reply: reply.clone(), places: vec![place] });
            }
        }
    }

    /// Whose each reply is that lies in several logs: of the one that has it first. A copy has the times of what it was
    /// copied from; then it is the main agent's before a subagent's, which may begin with what was said before, and of the
    /// session that went on first, or has nothing but what others have, too: a session that was copied was there before
    /// the copy went on.
    fn settle(&mut self) {
        let shared = std::mem::take(&mut self.shared);
        for Shared { reply, places } in &shared {
            if let [place] = places.as_slice() {
                self.own(place.rank, reply);
            }
        }
        for Shared { mut reply, places } in shared.into_iter().filter(|shared| shared.places.len() > 1) {
            let mut sessions: Vec<_> = places.iter().map(|place| self.session(place.rank)).collect();
            sessions.sort_unstable();
            sessions.dedup();
            sessions.into_iter().for_each(|session| self.totals.cover(session, &reply));
            if let Some(first) = places.iter().min_by_key(|place| self.precedence(place)) {
                (reply.cwd, reply.subagent) = (first.cwd, first.subagent);
                self.tell(first.rank, &reply);
            }
        }
    }

    fn precedence(&self, place: &Place) -> (bool, i64, bool, Option<i64>, u32) {
        let owner = self.owners.get(place.rank as usize);
        let is_sub = place.subagent != 0 || owner.is_some_and(|owner| owner.subagent != Name::default());
        (place.copied, place.at, is_sub, owner.and_then(|owner| owner.went_on), place.rank)
    }

    /// Tells of a reply of a log, if it was asked for.
    fn tell(&mut self, rank: u32, reply: &Reply) {
        let Some(owner) = self.owners.get(rank as usize).filter(|owner| owner.is_meant) else { return };
        let mut entry = owner.complete(entry(reply));
        if self.matching.at(entry.at) && self.names.is_model(entry.model) && self.names.is_project(entry.project) {
            entry.tools = self.lists.number(&reply.tools, &mut self.ledger.tools);
            (self.each)(&self.ledger, &entry);
        }
    }
}

/// A part of a key, which is a hash.
#[expect(clippy::cast_possible_truncation, reason = "a part of a hash is a hash")]
fn part(key: u128) -> u32 {
    key as u32
}

/// The numbers of names, and which of them fit what was asked for.
struct Names<'a> {
    matching: &'a Matching,
    numbers: HashMap<String, u32, Quick>,
    /// As the name of a model, and as that of a project.
    fits: Vec<(bool, bool)>,
}

impl<'a> Names<'a> {
    fn new(matching: &'a Matching) -> Self {
        Self { matching, numbers: HashMap::default(), fits: Vec::new() }
    }

    fn number(&mut self, name: &str, ledger: &mut Ledger) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(ledger.names.len()).unwrap_or(u32::MAX);
        ledger.names.push(name.to_owned());
        self.fits.push((self.matching.model(name), self.matching.project(name)));
        self.numbers.insert(name.to_owned(), number);
        number
    }

    fn is_model(&self, name: Name) -> bool {
        self.fits.get(name.0 as usize).is_some_and(|fits| fits.0)
    }

    fn is_project(&self, name: Name) -> bool {
        self.fits.get(name.0 as usize).is_some_and(|fits| fits.1)
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

/// What all replies of a log share.
struct Owner {
    agent: Name,
    machine: Name,
    session: Name,
    subagent: Name,
    project: Name,
    /// Its replies are asked for.
    is_meant: bool,
    /// When its first reply came that no other log has.
    went_on: Option<i64>,
}

impl Owner {
    fn of(unit: &Unit, names: &mut Names<'_>, ledger: &mut Ledger) -> Self {
        let is_meant = names.matching.unit(unit.id);
        let mut name = |name: Option<&str>| Name(names.number(name.unwrap_or_default(), ledger));
        let subagent = unit.facts.subagent.as_deref().or(Some(unit.session.as_str()));
        Self {
            agent: name(Some(&unit.agent)),
            machine: name(unit.machine.as_deref()),
            session: name(unit.parent.as_deref().or(Some(&unit.session))),
            subagent: name(subagent.filter(|_| unit.parent.is_some())),
            project: name(unit.facts.cwd.as_deref()),
            is_meant,
            went_on: None,
        }
    }

    /// Fills in what follows from the log.
    fn complete(&self, mut entry: Entry) -> Entry {
        (entry.agent, entry.machine, entry.session) = (self.agent, self.machine, self.session);
        for (known, of_log) in [(&mut entry.subagent, self.subagent), (&mut entry.project, self.project)] {
            if *known == Name::default() {
                *known = of_log;
            }
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::params;
    use switchboard_agents::Spent;
    use switchboard_event::Timestamp;

    use crate::{Entry, Filter, Library, Setup, index::spent::Replies};

    /// A log of another machine with a reply that has this key.
    fn add(library: &Library, unit: i64, key: u128, at: i64) {
        add_of(library, unit, key, at, None);
    }

    /// The same, of a subagent.
    fn add_of(library: &Library, unit: i64, key: u128, at: i64, subagent: Option<&str>) {
        let mut replies = Replies::default();
        let (cwd, subagent) = (Some(format!("/{unit}")), subagent.map(str::to_owned));
        replies.add(&Spent { at: Timestamp::from_micros(at), output: 10, cwd, subagent, ..Spent::default() }, 0);
        let mut row = replies.take();
        // Their number comes first, then the keys.
        row[1..17].copy_from_slice(&key.to_le_bytes());
        let log = "INSERT OR IGNORE INTO unit (id, name, agent, machine, path, session, archived, bytes, inode, facts)
                   VALUES (?1, 'log' || ?1, 'a', 'm', 'log' || ?1, 's' || ?1, 0, 0, 0, '{}')";
        let index = library.index();
        index.connection.execute(log, [unit]).unwrap();
        index.connection.execute("INSERT INTO spent (unit, packed) VALUES (?1, ?2)", params![unit, row]).unwrap();
    }

    fn library(folder: &tempfile::TempDir) -> Library {
        let data = folder.path().to_owned();
        Library::open(Setup { data, homes: Vec::new(), alone: false, keep: false, own: None }).unwrap()
    }

    #[test]
    fn a_reply_of_several_logs_is_all_of_the_one_that_it_belongs_to() {
        // Whichever was indexed first.
        for (main, sub) in [(1, 2), (2, 1)] {
            let folder = tempfile::tempdir().unwrap();
            let library = library(&folder);
            for unit in [1, 2] {
                add_of(&library, unit, 9, 50, (unit == sub).then_some("helper"));
            }
            let ledger = library.ledger(&Filter::default()).unwrap();
            let of =
                |entry: &Entry| [entry.session, entry.project, entry.subagent].map(|name| ledger.name(name).to_owned());
            let got: Vec<_> = ledger.entries.iter().map(of).collect();
            assert_eq!(got, [[format!("s{main}"), format!("/{main}"), String::new()]]);
        }
    }

    #[test]
    fn a_part_of_a_key_makes_no_two_replies_one() {
        let folder = tempfile::tempdir().unwrap();
        let library = library(&folder);
        // Two that only look alike, and one that lies in two logs: in that which went on first it belongs to.
        for (unit, key, at) in [(1, 7 << 64 | 5, 200), (2, 8 << 64 | 5, 100), (1, 9, 50), (2, 9, 50)] {
            add(&library, unit, key, at);
        }
        let ledger = library.ledger(&Filter::default()).unwrap();
        let mut got: Vec<_> = ledger
            .entries
            .iter()
            .map(|entry| (ledger.name(entry.session), entry.at.as_micros(), entry.output))
            .collect();
        got.sort_unstable();
        assert_eq!(got, [("s1", 200, 10), ("s2", 50, 10), ("s2", 100, 10)]);
    }
}
