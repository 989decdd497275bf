//! Token usage from the index, each reply counted once.

use std::{
    collections::{HashMap, HashSet},
    hash::BuildHasher as _,
    sync::Arc,
};

use hashbrown::HashTable;
use rusqlite::Connection;
use switchboard_event::Timestamp;

use super::LogLibrary;
use super::replies::SessionTotals;
use super::sessions::UnitFilter;
use crate::index::reply_rows::{ReplyRowReader, StoredReply};
use crate::index::{LogUnit, reply_rows};
use crate::usage::{Usage, UsageAggregator, UsageGrouping, UsageQuestion};
use crate::{LedgerEntry, LedgerName, LogFilter, LogsError, UsageLedger, usage};

type LedgerHasher = foldhash::fast::FixedState;

/// All encoded replies.
const SELECT_REPLIES_SQL: &str = "SELECT unit, packed FROM spent";

impl LogLibrary {
    /// Returns aggregated usage.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn usage_report(&self, filter: &LogFilter, question: &UsageQuestion<'_>) -> Result<Usage, LogsError> {
        let mut gather = UsageAggregator::new(question);
        let ledger = self.for_each_reply(filter, |ledger, entry| gather.add_reply(ledger, entry))?;
        let mut usage = gather.finish(&ledger);
        if question.by == UsageGrouping::Session {
            self.set_session_titles(&mut usage.rows)?;
        }
        Ok(usage)
    }

    /// Adds titles, since IDs mean nothing to people.
    fn set_session_titles(&self, rows: &mut [usage::Row]) -> Result<(), LogsError> {
        let sessions = self.list_sessions(&LogFilter::default())?;
        let sessions: HashMap<_, _> = sessions.iter().map(|session| (session.id.as_str(), &session.facts)).collect();
        for row in rows {
            if let Some(facts) = sessions.get(row.key.as_str()) {
                row.title = facts.title.clone().or_else(|| facts.prompt.clone());
                row.project = facts.cwd.clone();
            }
        }
        Ok(())
    }

    /// Returns all replies, each once.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn usage_ledger(&self, filter: &LogFilter) -> Result<UsageLedger, LogsError> {
        let mut entries = Vec::new();
        let ledger = self.for_each_reply(filter, |_, entry| entries.push(*entry))?;
        Ok(UsageLedger { entries, ..ledger })
    }

    /// Calls `each` once per reply, with a ledger that has the names so far: there are too many replies to collect them
    /// needlessly. Returns the ledger with all names and no replies.
    ///
    /// # Errors
    /// If the index cannot be read. Some replies may already have been passed to `each`.
    pub fn for_each_reply(
        &self,
        filter: &LogFilter,
        each: impl FnMut(&UsageLedger, &LedgerEntry),
    ) -> Result<UsageLedger, LogsError> {
        let index = self.index.lock();
        let _moment = index.begin_snapshot()?;
        let units = self.select_units(&self.all_units(&index)?);
        let matching = UnitFilter::new(filter, &units);
        let mut books = ReplyCollector::new(&units, &matching, each);
        let read = books.read_replies(&index.connection).map_err(|error| index.wrap_error(error))?;
        read.map(|()| books.ledger).ok_or(LogsError::Damaged("replies"))
    }
}

/// Collects replies. There are very many, and few occur in several logs: those are found first, by their keys, and all
/// others are emitted as they are read.
struct ReplyCollector<'a, F> {
    owners: Vec<ReplyOwner>,
    /// Positions of logs among the owners.
    ranks: HashMap<i64, u32, LedgerHasher>,
    names: NameTable<'a>,
    lists: ToolListTable,
    /// The names and lists so far.
    ledger: UsageLedger,
    /// Called for each reply.
    each: F,
    /// Replies that may occur in several logs, and their positions by key.
    shared: Vec<SharedReply>,
    known: HashMap<u128, usize, LedgerHasher>,
    totals: SessionTotals,
    matching: &'a UnitFilter,
}

/// A reply that may occur in several logs.
struct SharedReply {
    reply: StoredReply,
    places: Vec<ReplyOccurrence>,
}

/// An occurrence of a reply in a log.
struct ReplyOccurrence {
    copied: bool,
    at: i64,
    rank: u32,
    cwd: u32,
    subagent: u32,
}

impl<'a, F: FnMut(&UsageLedger, &LedgerEntry)> ReplyCollector<'a, F> {
    /// Sorts the logs so that the owner of a shared reply does not depend on the order in which they were read.
    fn new(units: &'a [Arc<LogUnit>], matching: &'a UnitFilter, each: F) -> Self {
        let mut order: Vec<&LogUnit> = units.iter().map(|unit| &**unit).collect();
        order.sort_by_key(|unit| (unit.facts.began, &unit.session, &unit.name));
        let (mut ledger, mut names) =
            (UsageLedger { tools: vec![Vec::new()], ..UsageLedger::default() }, NameTable::new(matching));
        names.intern("", &mut ledger);
        Self {
            ranks: (0..).zip(&order).map(|(rank, unit)| (unit.id, rank)).collect(),
            owners: order.into_iter().map(|unit| ReplyOwner::from_unit(unit, &mut names, &mut ledger)).collect(),
            names,
            lists: ToolListTable::default(),
            ledger,
            each,
            shared: Vec::new(),
            known: HashMap::default(),
            totals: SessionTotals::default(),
            matching,
        }
    }

    /// Reads all replies of the logs. Returns `None` if some are damaged.
    fn read_replies(&mut self, connection: &Connection) -> rusqlite::Result<Option<()>> {
        let Some(several) = self.find_repeated_keys(connection)? else { return Ok(None) };
        let mut rows = connection.prepare_cached(SELECT_REPLIES_SQL)?;
        let mut rows = rows.query([])?;
        let (mut reply, mut numbers) = (StoredReply::default(), Vec::new());
        while let Some(row) = rows.next()? {
            let Some(rank) = self.ranks.get(&row.get(0)?).copied() else { continue };
            let Some(mut replies) = ReplyRowReader::read(row.get_ref(1)?.as_blob()?) else { return Ok(None) };
            numbers.clear();
            numbers.push(0);
            numbers.extend(replies.names.iter().map(|name| self.names.intern(name, &mut self.ledger)));
            while replies.read_next(&mut reply).is_some() {
                remap_names(&mut reply, &numbers);
                if reply.is_total {
                    let session = self.session_name(rank);
                    self.totals.add_total(rank, session, &reply);
                } else if several.contains(&short_key(reply.key)) {
                    self.record_shared_reply(rank, &reply);
                } else {
                    self.record_own_reply(rank, &reply);
                }
            }
            if !replies.is_finished() {
                return Ok(None);
            }
        }
        self.assign_shared_replies();
        for (rank, missing) in std::mem::take(&mut self.totals).into_unaccounted() {
            self.emit_reply(rank, &missing);
        }
        Ok(Some(()))
    }

    /// Returns short keys that occur more than once; a few may collide. Returns `None` if some are damaged.
    fn find_repeated_keys(&self, connection: &Connection) -> rusqlite::Result<Option<HashSet<u32, LedgerHasher>>> {
        let mut rows = connection.prepare_cached(SELECT_REPLIES_SQL)?;
        let mut rows = rows.query([])?;
        let mut parts: Vec<u32> = Vec::new();
        while let Some(row) = rows.next()? {
            if self.ranks.contains_key(&row.get(0)?) {
                let Some(keys) = reply_rows::reply_keys(row.get_ref(1)?.as_blob()?) else { return Ok(None) };
                parts.extend(keys.map(short_key));
            }
        }
        parts.sort_unstable();
        let several = parts.iter().zip(parts.iter().skip(1)).filter(|(one, next)| one == next);
        Ok(Some(several.map(|(one, _)| *one).collect()))
    }

    /// Handles a reply that no other log has.
    fn record_own_reply(&mut self, rank: u32, reply: &StoredReply) {
        if let Some(owner) = self.owners.get_mut(rank as usize) {
            owner.went_on = Some(owner.went_on.map_or(reply.at, |first| first.min(reply.at)));
        }
        let session = self.session_name(rank);
        self.totals.add_covered(session, reply);
        self.emit_reply(rank, reply);
    }

    fn session_name(&self, rank: u32) -> LedgerName {
        self.owners.get(rank as usize).map(|owner| owner.session).unwrap_or_default()
    }

    /// Handles a reply that other logs may have too.
    fn record_shared_reply(&mut self, rank: u32, reply: &StoredReply) {
        let StoredReply { copied, at, cwd, subagent, .. } = *reply;
        let place = ReplyOccurrence { copied, at, rank, cwd, subagent };
        match self.known.get(&reply.key).and_then(|&at| self.shared.get_mut(at)) {
            Some(known) => {
                known.places.push(place);
                known.reply.merge_record(reply.clone());
            }
            None => {
                self.known.insert(reply.key, self.shared.len());
                self.shared.push(SharedReply { reply: reply.clone(), places: vec![place] });
            }
        }
    }

    /// Assigns each shared reply to the log that has it first. A copy has the times of its original; in a tie, the main
    /// agent wins over a subagent, whose log may begin with earlier messages, and then the session whose own replies
    /// began first, or that has only shared replies: a copied session existed before its copy continued.
    fn assign_shared_replies(&mut self) {
        let shared = std::mem::take(&mut self.shared);
        for SharedReply { reply, places } in &shared {
            if let [place] = places.as_slice() {
                self.record_own_reply(place.rank, reply);
            }
        }
        for SharedReply { mut reply, places } in shared.into_iter().filter(|shared| shared.places.len() > 1) {
            let mut sessions: Vec<_> = places.iter().map(|place| self.session_name(place.rank)).collect();
            sessions.sort_unstable();
            sessions.dedup();
            sessions.into_iter().for_each(|session| self.totals.add_covered(session, &reply));
            if let Some(first) = places.iter().min_by_key(|place| self.occurrence_order(place)) {
                (reply.cwd, reply.subagent) = (first.cwd, first.subagent);
                self.emit_reply(first.rank, &reply);
            }
        }
    }

    fn occurrence_order(&self, place: &ReplyOccurrence) -> (bool, i64, bool, Option<i64>, u32) {
        let owner = self.owners.get(place.rank as usize);
        let is_sub = place.subagent != 0 || owner.is_some_and(|owner| owner.subagent != LedgerName::default());
        (place.copied, place.at, is_sub, owner.and_then(|owner| owner.went_on), place.rank)
    }

    /// Emits a reply if it is selected.
    fn emit_reply(&mut self, rank: u32, reply: &StoredReply) {
        let Some(owner) = self.owners.get(rank as usize).filter(|owner| owner.is_meant) else { return };
        let mut entry = owner.fill_defaults(reply_entry(reply));
        if self.matching.matches_time(entry.at)
            && self.names.matches_model(entry.model)
            && self.names.matches_project(entry.project)
        {
            entry.tools = self.lists.intern(&reply.tools, &mut self.ledger.tools);
            (self.each)(&self.ledger, &entry);
        }
    }
}

/// Returns a part of a key, which is a hash itself.
#[expect(clippy::cast_possible_truncation, reason = "a part of a hash is a hash")]
fn short_key(key: u128) -> u32 {
    key as u32
}

/// Interns names and caches which of them match the filter.
struct NameTable<'a> {
    matching: &'a UnitFilter,
    numbers: HashMap<String, u32, LedgerHasher>,
    /// Whether the name matches as a model, and as a project.
    fits: Vec<(bool, bool)>,
}

impl<'a> NameTable<'a> {
    fn new(matching: &'a UnitFilter) -> Self {
        Self { matching, numbers: HashMap::default(), fits: Vec::new() }
    }

    fn intern(&mut self, name: &str, ledger: &mut UsageLedger) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(ledger.names.len()).unwrap_or(u32::MAX);
        ledger.names.push(name.to_owned());
        self.fits.push((self.matching.matches_model(name), self.matching.matches_project(name)));
        self.numbers.insert(name.to_owned(), number);
        number
    }

    fn matches_model(&self, name: LedgerName) -> bool {
        self.fits.get(name.0 as usize).is_some_and(|fits| fits.0)
    }

    fn matches_project(&self, name: LedgerName) -> bool {
        self.fits.get(name.0 as usize).is_some_and(|fits| fits.1)
    }
}

/// Interns lists of called tools: most replies call the same few.
#[derive(Default)]
struct ToolListTable {
    known: HashTable<u32>,
}

impl ToolListTable {
    /// Returns the index of the list of these calls. The first list is empty.
    fn intern(&mut self, calls: &[(u32, u32)], lists: &mut Vec<Vec<LedgerName>>) -> u32 {
        if calls.is_empty() {
            return 0;
        }
        let names = || calls.iter().map(|(_, name)| LedgerName(*name));
        let list = |at: u32| lists.get(at as usize).map(Vec::as_slice).unwrap_or_default();
        let hash = |list: &mut dyn Iterator<Item = LedgerName>| {
            list.fold(0, |hash: u64, name| LedgerHasher::default().hash_one((hash, name.0)))
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

fn remap_names(reply: &mut StoredReply, numbers: &[u32]) {
    let of = |name: u32| numbers.get(name as usize).copied().unwrap_or_default();
    (reply.model, reply.cwd, reply.subagent) = (of(reply.model), of(reply.cwd), of(reply.subagent));
    for (_, tool) in &mut reply.tools {
        *tool = of(*tool);
    }
}

/// Converts a reply to an entry, without the fields that depend on its log.
fn reply_entry(reply: &StoredReply) -> LedgerEntry {
    let [input, output, cache_read, cache_write, cache_write_1h, reasoning] = reply.tokens;
    LedgerEntry {
        at: Timestamp::from_micros(reply.at).unwrap_or_default(),
        subagent: LedgerName(reply.subagent),
        project: LedgerName(reply.cwd),
        model: LedgerName(reply.model),
        input,
        output,
        cache_read,
        cache_write,
        cache_write_1h,
        reasoning,
        cost_usd: reply.cost_usd,
        ..LedgerEntry::default()
    }
}

/// Fields shared by all replies of a log.
struct ReplyOwner {
    agent: LedgerName,
    machine: LedgerName,
    session: LedgerName,
    subagent: LedgerName,
    project: LedgerName,
    /// Whether the log is selected.
    is_meant: bool,
    /// The time of its first reply that no other log has.
    went_on: Option<i64>,
}

impl ReplyOwner {
    fn from_unit(unit: &LogUnit, names: &mut NameTable<'_>, ledger: &mut UsageLedger) -> Self {
        let is_meant = names.matching.matches_unit(unit.id);
        let mut name = |name: Option<&str>| LedgerName(names.intern(name.unwrap_or_default(), ledger));
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

    /// Fills in the fields that depend on the log.
    fn fill_defaults(&self, mut entry: LedgerEntry) -> LedgerEntry {
        (entry.agent, entry.machine, entry.session) = (self.agent, self.machine, self.session);
        for (known, of_log) in [(&mut entry.subagent, self.subagent), (&mut entry.project, self.project)] {
            if *known == LedgerName::default() {
                *known = of_log;
            }
        }
        entry
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::params;
    use switchboard_agents::ReplyTokens;
    use switchboard_event::Timestamp;

    use crate::{LedgerEntry, LibraryConfig, LogFilter, LogLibrary, index::reply_rows::ReplyEncoder};

    /// Adds a log of another machine with a reply that has this key.
    fn add_reply(library: &LogLibrary, unit: i64, key: u128, at: i64) {
        add_subagent_reply(library, unit, key, at, None);
    }

    /// Like `add`, with a subagent.
    fn add_subagent_reply(library: &LogLibrary, unit: i64, key: u128, at: i64, subagent: Option<&str>) {
        let mut replies = ReplyEncoder::default();
        let (cwd, subagent) = (Some(format!("/{unit}")), subagent.map(str::to_owned));
        replies.add_reply(
            &ReplyTokens { at: Timestamp::from_micros(at), output: 10, cwd, subagent, ..ReplyTokens::default() },
            0,
        );
        let mut row = replies.take_encoded();
        // The count comes first, then the keys.
        row[1..17].copy_from_slice(&key.to_le_bytes());
        let log = "INSERT OR IGNORE INTO unit (id, name, agent, machine, path, session, archived, bytes, inode, facts)
                   VALUES (?1, 'log' || ?1, 'a', 'm', 'log' || ?1, 's' || ?1, 0, 0, 0, '{}')";
        let index = library.index.lock();
        index.connection.execute(log, [unit]).unwrap();
        index.connection.execute("INSERT INTO spent (unit, packed) VALUES (?1, ?2)", params![unit, row]).unwrap();
    }

    fn open_library(folder: &tempfile::TempDir) -> LogLibrary {
        let data = folder.path().to_owned();
        LogLibrary::open(LibraryConfig { data, homes: Vec::new(), alone: false, keep: false, own: None }).unwrap()
    }

    #[test]
    fn a_reply_of_several_logs_is_all_of_the_one_that_it_belongs_to() {
        // In either order of indexing.
        for (main, sub) in [(1, 2), (2, 1)] {
            let folder = tempfile::tempdir().unwrap();
            let library = open_library(&folder);
            for unit in [1, 2] {
                add_subagent_reply(&library, unit, 9, 50, (unit == sub).then_some("helper"));
            }
            let ledger = library.usage_ledger(&LogFilter::default()).unwrap();
            let of = |entry: &LedgerEntry| {
                [entry.session, entry.project, entry.subagent].map(|name| ledger.resolve_name(name).to_owned())
            };
            let got: Vec<_> = ledger.entries.iter().map(of).collect();
            assert_eq!(got, [[format!("s{main}"), format!("/{main}"), String::new()]]);
        }
    }

    #[test]
    fn a_part_of_a_key_makes_no_two_replies_one() {
        let folder = tempfile::tempdir().unwrap();
        let library = open_library(&folder);
        // Two keys that only share a part, and one reply in two logs: it belongs to the log that continued first.
        for (unit, key, at) in [(1, 7 << 64 | 5, 200), (2, 8 << 64 | 5, 100), (1, 9, 50), (2, 9, 50)] {
            add_reply(&library, unit, key, at);
        }
        let ledger = library.usage_ledger(&LogFilter::default()).unwrap();
        let mut got: Vec<_> = ledger
            .entries
            .iter()
            .map(|entry| (ledger.resolve_name(entry.session), entry.at.as_micros(), entry.output))
            .collect();
        got.sort_unstable();
        assert_eq!(got, [("s1", 200, 10), ("s2", 50, 10), ("s2", 100, 10)]);
    }
}
