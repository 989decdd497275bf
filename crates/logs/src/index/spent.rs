//! What was used, packed: one row of the index has the replies of one stretch of a log. Each reply is known by a hash of
//! its key. The keys come first, so that those of all logs can be compared without unpacking anything else; names
//! stand once a row.

use std::collections::HashMap;

use rusqlite::{Connection, params};
use switchboard_agents::Spent;
use switchboard_event::Timestamp;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::bytes::{Packed, Unpacked};

type Quick = foldhash::fast::FixedState;

/// Replies that are being collected, those of one key as one.
#[derive(Default)]
pub struct Replies {
    names: HashMap<String, u32, Quick>,
    order: Vec<String>,
    known: HashMap<u128, usize, Quick>,
    replies: Vec<Reply>,
}

/// One reply. Names are numbers in the list of their row; 0 is no name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// A hash of its key.
    pub key: u128,
    /// When, in microseconds.
    pub at: i64,
    /// The model.
    pub model: u32,
    /// The folder.
    pub cwd: u32,
    /// The subagent.
    pub subagent: u32,
    /// Another log has it as its own.
    pub copied: bool,
    /// Input, output, cache read, cache write, cache write for an hour, reasoning.
    pub tokens: [u64; 6],
    /// What it cost.
    pub cost_usd: Option<f64>,
    /// The calls: a hash of the id, and the tool.
    pub tools: Vec<(u32, u32)>,
    /// It is the running total of a session, and no reply.
    pub is_total: bool,
}

impl Reply {
    /// All tokens that count: reasoning is part of the output.
    pub fn total(&self) -> u64 {
        self.tokens.iter().take(5).fold(0, |sum, tokens| sum.saturating_add(*tokens))
    }

    /// The same reply in another record: the larger figures, the earlier time, all calls.
    pub fn unite(&mut self, other: Self) {
        if other.total() > self.total() || (other.total() == self.total() && self.model == 0) {
            (self.tokens, self.model) = (other.tokens, if other.model == 0 { self.model } else { other.model });
        }
        self.cost_usd = [self.cost_usd, other.cost_usd].into_iter().flatten().reduce(f64::max);
        self.unite_calls(other.tools);
        if (other.copied, other.at) < (self.copied, self.at) {
            (self.copied, self.at, self.cwd, self.subagent) = (other.copied, other.at, other.cwd, other.subagent);
        }
    }

    /// Calls are the same by their id.
    pub fn unite_calls(&mut self, tools: Vec<(u32, u32)>) {
        for call in tools {
            if !self.tools.iter().any(|known| known.0 == call.0) {
                self.tools.push(call);
            }
        }
    }
}

impl Replies {
    /// Adds one. A record without a time happened when the one before did.
    pub fn add(&mut self, spent: &Spent, before: i64) {
        let reply = Reply {
            key: xxh3_128(spent.key.as_bytes()),
            at: spent.at.map_or(before, Timestamp::as_micros),
            model: self.name(spent.model.as_deref()),
            cwd: self.name(spent.cwd.as_deref()),
            subagent: self.name(spent.subagent.as_deref()),
            copied: spent.copied,
            tokens: [
                spent.input,
                spent.output,
                spent.cache_read,
                spent.cache_write,
                spent.cache_write_1h,
                spent.reasoning,
            ],
            cost_usd: spent.cost_usd,
            tools: spent
                .tools
                .iter()
                .map(|call| (half(xxh3_64(call.id.as_bytes())), self.name(Some(&call.name))))
                .collect(),
            is_total: spent.is_total,
        };
        match self.known.get(&reply.key).and_then(|&at| self.replies.get_mut(at)) {
            Some(known) => known.unite(reply),
            None => {
                self.known.insert(reply.key, self.replies.len());
                self.replies.push(reply);
            }
        }
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.replies.is_empty()
    }

    fn name(&mut self, name: Option<&str>) -> u32 {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return 0 };
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        self.order.push(name.to_owned());
        let number = u32::try_from(self.order.len()).unwrap_or(u32::MAX);
        self.names.insert(name.to_owned(), number);
        number
    }

    /// Packs them and begins anew.
    pub fn take(&mut self) -> Vec<u8> {
        let Self { order, replies, .. } = std::mem::take(self);
        let mut packed = Packed::default();
        packed.number(replies.len() as u64);
        replies.iter().for_each(|reply| packed.raw(&reply.key.to_le_bytes()));
        packed.number(order.len() as u64);
        order.iter().for_each(|name| packed.text(name));
        let mut time = 0;
        for reply in &replies {
            packed.signed(reply.at - time);
            time = reply.at;
            [reply.model, reply.cwd, reply.subagent].into_iter().for_each(|name| packed.number(name.into()));
            let flags = [reply.copied, reply.cost_usd.is_some(), reply.is_total];
            packed.number((0..).zip(flags).map(|(bit, is_set)| u64::from(is_set) << bit).sum());
            reply.tokens.into_iter().for_each(|tokens| packed.number(tokens));
            if let Some(cost) = reply.cost_usd {
                packed.raw(&cost.to_le_bytes());
            }
            packed.number(reply.tools.len() as u64);
            for (id, name) in &reply.tools {
                packed.raw(&id.to_le_bytes());
                packed.number((*name).into());
            }
        }
        packed.0
    }
}

#[expect(clippy::cast_possible_truncation, reason = "half of a hash is a hash")]
fn half(hash: u64) -> u32 {
    hash as u32
}

/// The keys of a row. Nothing if they are not all there.
pub fn keys(row: &[u8]) -> Option<impl Iterator<Item = u128>> {
    keys_of(&mut Unpacked(row)).map(|keys| keys.iter().map(|key| u128::from_le_bytes(*key)))
}

fn keys_of<'a>(from: &mut Unpacked<'a>) -> Option<&'a [Key]> {
    let length = from.count()?.checked_mul(size_of::<Key>())?;
    Some(from.raw(length)?.as_chunks().0)
}

type Key = [u8; 16];

/// The replies of a row, one after the other.
pub struct Row<'a> {
    /// The names; those of a reply are numbers in this list, from 1 on.
    pub names: Vec<&'a str>,
    keys: &'a [Key],
    from: Unpacked<'a>,
    time: i64,
}

impl<'a> Row<'a> {
    /// Reads its names. Nothing if they are damaged.
    pub fn read(row: &'a [u8]) -> Option<Self> {
        let mut from = Unpacked(row);
        let keys = keys_of(&mut from)?;
        let count = from.count()?;
        let names = (0..count).map_while(|_| from.text()).collect::<Vec<_>>();
        (names.len() == count).then_some(Self { names, keys, from, time: 0 })
    }

    /// Reads the next reply into one that is there, so that its calls need no memory of their own. Nothing after the last,
    /// and nothing more where it is damaged.
    pub fn next(&mut self, reply: &mut Reply) -> Option<()> {
        let (key, keys) = self.keys.split_first()?;
        let from = &mut self.from;
        reply.key = u128::from_le_bytes(*key);
        self.time = self.time.checked_add(from.signed()?)?;
        reply.at = self.time;
        for name in [&mut reply.model, &mut reply.cwd, &mut reply.subagent] {
            *name = u32::try_from(from.number()?).ok()?;
        }
        let flags = from.number()?;
        (reply.copied, reply.is_total) = (flags & 1 != 0, flags & 4 != 0);
        for count in &mut reply.tokens {
            *count = from.number()?;
        }
        reply.cost_usd = if flags & 2 == 0 { None } else { Some(f64::from_le_bytes(from.array()?)) };
        reply.tools.clear();
        for _ in 0..from.count()? {
            reply.tools.push((u32::from_le_bytes(from.array()?), u32::try_from(from.number()?).ok()?));
        }
        self.keys = keys;
        Some(())
    }

    /// All replies were read.
    pub fn is_over(&self) -> bool {
        self.keys.is_empty()
    }
}

/// Brings rows up to this format; in the one before, each reply began with its key. One that is damaged is emptied, which
/// is damaged too.
pub fn keys_first(connection: &Connection) -> rusqlite::Result<()> {
    let mut rows = connection.prepare("SELECT id FROM spent")?;
    let rows: Vec<i64> = rows.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut read = connection.prepare("SELECT packed FROM spent WHERE id = ?1")?;
    let mut write = connection.prepare("UPDATE spent SET packed = ?2 WHERE id = ?1")?;
    for id in rows {
        let row: Vec<u8> = read.query_row([id], |row| row.get(0))?;
        write.execute(params![id, with_keys_first(&row).unwrap_or_default()])?;
    }
    Ok(())
}

fn with_keys_first(row: &[u8]) -> Option<Vec<u8>> {
    let mut from = Unpacked(row);
    for _ in 0..from.count()? {
        from.text()?;
    }
    let names = row.get(..row.len() - from.0.len())?;
    let count = from.count()?;
    let (mut keys, mut replies) = (Packed::default(), Packed::default());
    keys.number(count as u64);
    for _ in 0..count {
        keys.raw(&from.array::<16>()?);
        let reply = from.0;
        // The time, three names, what it has, six counts, perhaps the cost, and the calls.
        (0..4).try_for_each(|_| from.number().map(drop))?;
        let flags = from.number()?;
        (0..6).try_for_each(|_| from.number().map(drop))?;
        from.raw(if flags & 2 == 0 { 0 } else { 8 })?;
        for _ in 0..from.count()? {
            from.raw(4)?;
            from.number()?;
        }
        replies.raw(reply.get(..reply.len() - from.0.len())?);
    }
    keys.raw(names);
    keys.raw(&replies.0);
    Some(keys.0)
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params};
    use switchboard_agents::{Called, Spent};
    use switchboard_event::Timestamp;

    use super::{Replies, Reply, Row, keys};
    use crate::index::{Index, bytes::Packed};

    fn spent(key: &str, at: i64, output: u64, tool: &str) -> Spent {
        let tools = vec![Called { id: format!("{key}{tool}"), name: tool.to_owned() }];
        let at = Timestamp::from_micros(at);
        Spent { key: key.to_owned(), at, output, tools, model: Some("m".to_owned()), ..Spent::default() }
    }

    #[test]
    fn a_row_that_is_cut_off_is_not_over() {
        let mut replies = Replies::default();
        replies.add(&spent("a", 5, 3, "Bash"), 0);
        let row = replies.take();
        for end in 0..=row.len() {
            let Some(mut part) = Row::read(&row[..end]) else { continue };
            while part.next(&mut Reply::default()).is_some() {}
            assert_eq!(part.is_over(), end == row.len(), "{end}");
        }
    }

    fn all(row: &[u8]) -> Vec<Reply> {
        let mut row = Row::read(row).unwrap();
        let (mut next, mut got) = (Reply::default(), Vec::new());
        while row.next(&mut next).is_some() {
            got.push(next.clone());
        }
        assert!(row.is_over());
        got
    }

    /// A row as it was before keys came first.
    fn as_before(row: &[u8]) -> Vec<u8> {
        let mut old = Packed::default();
        let (names, replies) = (Row::read(row).unwrap().names, all(row));
        old.number(names.len() as u64);
        names.iter().for_each(|name| old.text(name));
        old.number(replies.len() as u64);
        let mut time = 0;
        for reply in replies {
            old.raw(&reply.key.to_le_bytes());
            old.signed(reply.at - time);
            time = reply.at;
            [reply.model, reply.cwd, reply.subagent].into_iter().for_each(|name| old.number(name.into()));
            old.number(u64::from(reply.copied) | u64::from(reply.cost_usd.is_some()) << 1);
            reply.tokens.into_iter().for_each(|tokens| old.number(tokens));
            old.raw(&reply.cost_usd.map_or(Vec::new(), |cost| cost.to_le_bytes().to_vec()));
            old.number(reply.tools.len() as u64);
            for (id, name) in reply.tools {
                old.raw(&id.to_le_bytes());
                old.number(name.into());
            }
        }
        old.0
    }

    #[test]
    fn rows_of_an_earlier_format_are_kept() {
        let mut replies = Replies::default();
        replies.add(&spent("a", 5, 3, "Bash"), 0);
        replies.add(&Spent { cost_usd: Some(0.5), copied: true, ..spent("b", 4, 1 << 40, "Read") }, 0);
        replies.add(&Spent { tools: Vec::new(), ..spent("c", 9, 7, "") }, 0);
        let row = replies.take();
        let before = as_before(&row);
        let formats = [include_str!("schema.sql"), include_str!("format2.sql"), include_str!("format3.sql")];
        for format in 1..=formats.len() {
            let folder = tempfile::tempdir().unwrap();
            let old = Connection::open(folder.path().join(Index::FILE)).unwrap();
            formats[..format].iter().for_each(|statements| old.execute_batch(statements).unwrap());
            for row in [&before, &before[..before.len() - 1]] {
                old.execute("INSERT INTO spent (unit, replies) VALUES (1, ?1)", params![row]).unwrap();
            }
            old.pragma_update(None, "user_version", format).unwrap();
            drop(old);
            // Once more changes nothing more.
            for _ in 0..2 {
                let index = Index::open(folder.path()).unwrap();
                let read = |id: i64| {
                    let row = "SELECT packed FROM spent WHERE id = ?1";
                    index.connection.query_row(row, [id], |row| row.get::<_, Vec<u8>>(0)).unwrap()
                };
                assert_eq!(read(1), row, "{format}");
                // The damaged one says so.
                assert!(keys(&read(2)).is_none() && Row::read(&read(2)).is_none());
            }
        }
        assert_eq!(all(&row).len(), 3);
    }

    #[test]
    fn a_reply_in_several_records_is_one() {
        let mut replies = Replies::default();
        replies.add(&spent("a", 5, 3, "Bash"), 0);
        replies.add(&spent("a", 6, 40, "Read"), 0);
        replies.add(&spent("a", 7, 3, "Read"), 0);
        replies.add(&Spent { at: None, cost_usd: Some(0.5), ..spent("b", 0, u64::MAX, "Bash") }, 9);
        let row = replies.take();
        assert!(replies.is_empty());
        let got = all(&row);
        assert_eq!(Row::read(&row).unwrap().names, ["m", "Bash", "Read"]);
        assert_eq!((got.len(), keys(&row).unwrap().count()), (2, 2));
        assert_eq!((got[0].at, got[0].tokens[1], got[0].model, got[0].tools.len()), (5, 40, 1, 2));
        assert_eq!((got[1].at, got[1].tokens[1], got[1].cost_usd), (9, u64::MAX, Some(0.5)));
    }
}
