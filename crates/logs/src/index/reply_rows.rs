//! Encoded token usage: one row of the index has the replies from one range of a log. A reply is identified by a hash
//! of its key. Keys come first, so that the keys of all logs can be compared without decoding the rest; each name is
//! stored once per row.

use std::collections::HashMap;

use rusqlite::{Connection, params};
use switchboard_agents::ReplyTokens;
use switchboard_event::Timestamp;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::block::{RowDecoder, RowEncoder};

type ReplyKeyHasher = foldhash::fast::FixedState;

/// Collects replies, merging those with the same key.
#[derive(Default)]
pub struct ReplyEncoder {
    names: HashMap<String, u32, ReplyKeyHasher>,
    order: Vec<String>,
    known: HashMap<u128, usize, ReplyKeyHasher>,
    replies: Vec<StoredReply>,
}

/// A reply. Names are numbers in the name list of the row; 0 is no name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredReply {
    pub key: u128,
    /// In microseconds.
    pub at: i64,
    pub model: u32,
    /// The working directory.
    pub cwd: u32,
    pub subagent: u32,
    /// The reply was copied from another log.
    pub copied: bool,
    /// Input, output, cache read, cache write, cache write for an hour, reasoning.
    pub tokens: [u64; 6],
    pub cost_usd: Option<f64>,
    /// The tool calls: a hash of the call ID, and the tool.
    pub tools: Vec<(u32, u32)>,
    /// A running total of the session, and not a reply.
    pub is_total: bool,
}

impl StoredReply {
    /// Returns the sum of all tokens. Reasoning is part of the output.
    pub fn total_tokens(&self) -> u64 {
        self.tokens.iter().take(5).fold(0, |sum, tokens| sum.saturating_add(*tokens))
    }

    /// Merges another record of the same reply: the larger counts, the earlier time, all calls.
    pub fn merge_record(&mut self, other: Self) {
        if other.total_tokens() > self.total_tokens()
            || (other.total_tokens() == self.total_tokens() && self.model == 0)
        {
            (self.tokens, self.model) = (other.tokens, if other.model == 0 { self.model } else { other.model });
        }
        self.cost_usd = [self.cost_usd, other.cost_usd].into_iter().flatten().reduce(f64::max);
        self.merge_calls(other.tools);
        if (other.copied, other.at) < (self.copied, self.at) {
            (self.copied, self.at, self.cwd, self.subagent) = (other.copied, other.at, other.cwd, other.subagent);
        }
    }

    /// Adds calls with new IDs.
    fn merge_calls(&mut self, tools: Vec<(u32, u32)>) {
        for call in tools {
            if !self.tools.iter().any(|known| known.0 == call.0) {
                self.tools.push(call);
            }
        }
    }
}

impl ReplyEncoder {
    /// Adds a reply. A record without a time gets the time of the previous one.
    pub fn add_reply(&mut self, spent: &ReplyTokens, before: i64) {
        let reply = StoredReply {
            key: xxh3_128(spent.key.as_bytes()),
            at: spent.at.map_or(before, Timestamp::as_micros),
            model: self.intern_name(spent.model.as_deref()),
            cwd: self.intern_name(spent.cwd.as_deref()),
            subagent: self.intern_name(spent.subagent.as_deref()),
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
                .map(|call| (low_half(xxh3_64(call.id.as_bytes())), self.intern_name(Some(&call.name))))
                .collect(),
            is_total: spent.is_total,
        };
        match self.known.get(&reply.key).and_then(|&at| self.replies.get_mut(at)) {
            Some(known) => known.merge_record(reply),
            None => {
                self.known.insert(reply.key, self.replies.len());
                self.replies.push(reply);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.replies.is_empty()
    }

    fn intern_name(&mut self, name: Option<&str>) -> u32 {
        let Some(name) = name.filter(|name| !name.is_empty()) else { return 0 };
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        self.order.push(name.to_owned());
        let number = u32::try_from(self.order.len()).unwrap_or(u32::MAX);
        self.names.insert(name.to_owned(), number);
        number
    }

    /// Encodes the replies and clears them.
    pub fn take_encoded(&mut self) -> Vec<u8> {
        let Self { order, replies, .. } = std::mem::take(self);
        let mut packed = RowEncoder::default();
        packed.write_varint(replies.len() as u64);
        replies.iter().for_each(|reply| packed.write_bytes(&reply.key.to_le_bytes()));
        packed.write_varint(order.len() as u64);
        order.iter().for_each(|name| packed.write_str(name));
        let mut time = 0;
        for reply in &replies {
            packed.write_zigzag(reply.at - time);
            time = reply.at;
            [reply.model, reply.cwd, reply.subagent].into_iter().for_each(|name| packed.write_varint(name.into()));
            let flags = [reply.copied, reply.cost_usd.is_some(), reply.is_total];
            packed.write_varint((0..).zip(flags).map(|(bit, is_set)| u64::from(is_set) << bit).sum());
            reply.tokens.into_iter().for_each(|tokens| packed.write_varint(tokens));
            if let Some(cost) = reply.cost_usd {
                packed.write_bytes(&cost.to_le_bytes());
            }
            packed.write_varint(reply.tools.len() as u64);
            for (id, name) in &reply.tools {
                packed.write_bytes(&id.to_le_bytes());
                packed.write_varint((*name).into());
            }
        }
        packed.0
    }
}

#[expect(clippy::cast_possible_truncation, reason = "half of a hash is a hash")]
fn low_half(hash: u64) -> u32 {
    hash as u32
}

/// Returns the keys of a row, or `None` if they are incomplete.
pub fn reply_keys(row: &[u8]) -> Option<impl Iterator<Item = u128>> {
    read_keys(&mut RowDecoder(row)).map(|keys| keys.iter().map(|key| u128::from_le_bytes(*key)))
}

fn read_keys<'a>(from: &mut RowDecoder<'a>) -> Option<&'a [ReplyKeyBytes]> {
    let length = from.read_len()?.checked_mul(size_of::<ReplyKeyBytes>())?;
    Some(from.read_bytes(length)?.as_chunks().0)
}

type ReplyKeyBytes = [u8; 16];

/// Decodes the replies of a row.
pub struct ReplyRowReader<'a> {
    /// The names; replies refer to them by position, from 1.
    pub names: Vec<&'a str>,
    keys: &'a [ReplyKeyBytes],
    from: RowDecoder<'a>,
    time: i64,
}

impl<'a> ReplyRowReader<'a> {
    /// Reads the keys and names. Returns `None` if they are damaged.
    pub fn read(row: &'a [u8]) -> Option<Self> {
        let mut from = RowDecoder(row);
        let keys = read_keys(&mut from)?;
        let count = from.read_len()?;
        let names = (0..count).map_while(|_| from.read_str()).collect::<Vec<_>>();
        (names.len() == count).then_some(Self { names, keys, from, time: 0 })
    }

    /// Reads the next reply into `reply`, reusing its memory. Returns `None` after the last one, or where the row is
    /// damaged.
    pub fn read_next(&mut self, reply: &mut StoredReply) -> Option<()> {
        let (key, keys) = self.keys.split_first()?;
        let from = &mut self.from;
        reply.key = u128::from_le_bytes(*key);
        self.time = self.time.checked_add(from.read_zigzag()?)?;
        reply.at = self.time;
        for name in [&mut reply.model, &mut reply.cwd, &mut reply.subagent] {
            *name = u32::try_from(from.read_varint()?).ok()?;
        }
        let flags = from.read_varint()?;
        (reply.copied, reply.is_total) = (flags & 1 != 0, flags & 4 != 0);
        for count in &mut reply.tokens {
            *count = from.read_varint()?;
        }
        reply.cost_usd = if flags & 2 == 0 { None } else { Some(f64::from_le_bytes(from.read_array()?)) };
        reply.tools.clear();
        for _ in 0..from.read_len()? {
            reply.tools.push((u32::from_le_bytes(from.read_array()?), u32::try_from(from.read_varint()?).ok()?));
        }
        self.keys = keys;
        Some(())
    }

    /// Returns whether all replies were read.
    pub fn is_finished(&self) -> bool {
        self.keys.is_empty()
    }
}

/// Migrates rows to this format; before, each reply began with its key. A damaged row is emptied, and still counts as
/// damaged.
pub fn migrate_keys_first(connection: &Connection) -> rusqlite::Result<()> {
    let mut rows = connection.prepare("SELECT id FROM spent")?;
    let rows: Vec<i64> = rows.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut read = connection.prepare("SELECT packed FROM spent WHERE id = ?1")?;
    let mut write = connection.prepare("UPDATE spent SET packed = ?2 WHERE id = ?1")?;
    for id in rows {
        let row: Vec<u8> = read.query_row([id], |row| row.get(0))?;
        write.execute(params![id, rewrite_keys_first(&row).unwrap_or_default()])?;
    }
    Ok(())
}

fn rewrite_keys_first(row: &[u8]) -> Option<Vec<u8>> {
    let mut from = RowDecoder(row);
    for _ in 0..from.read_len()? {
        from.read_str()?;
    }
    let names = row.get(..row.len() - from.0.len())?;
    let count = from.read_len()?;
    let (mut keys, mut replies) = (RowEncoder::default(), RowEncoder::default());
    keys.write_varint(count as u64);
    for _ in 0..count {
        keys.write_bytes(&from.read_array::<16>()?);
        let reply = from.0;
        // The time, three names, the flags, six counts, an optional cost, and the calls.
        (0..4).try_for_each(|_| from.read_varint().map(drop))?;
        let flags = from.read_varint()?;
        (0..6).try_for_each(|_| from.read_varint().map(drop))?;
        from.read_bytes(if flags & 2 == 0 { 0 } else { 8 })?;
        for _ in 0..from.read_len()? {
            from.read_bytes(4)?;
            from.read_varint()?;
        }
        replies.write_bytes(reply.get(..reply.len() - from.0.len())?);
    }
    keys.write_bytes(names);
    keys.write_bytes(&replies.0);
    Some(keys.0)
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params};
    use switchboard_agents::{ReplyTokens, ToolCallRef};
    use switchboard_event::Timestamp;

    use super::{ReplyEncoder, ReplyRowReader, StoredReply, reply_keys};
    use crate::index::LogIndex;
    use crate::index::block::RowEncoder;

    fn sample_usage(key: &str, at: i64, output: u64, tool: &str) -> ReplyTokens {
        let tools = vec![ToolCallRef { id: format!("{key}{tool}"), name: tool.to_owned() }];
        let at = Timestamp::from_micros(at);
        ReplyTokens { key: key.to_owned(), at, output, tools, model: Some("m".to_owned()), ..ReplyTokens::default() }
    }

    #[test]
    fn a_row_that_is_cut_off_is_not_over() {
        let mut replies = ReplyEncoder::default();
        replies.add_reply(&sample_usage("a", 5, 3, "Bash"), 0);
        let row = replies.take_encoded();
        for end in 0..=row.len() {
            let Some(mut part) = ReplyRowReader::read(&row[..end]) else { continue };
            while part.read_next(&mut StoredReply::default()).is_some() {}
            assert_eq!(part.is_finished(), end == row.len(), "{end}");
        }
    }

    fn decode_all(row: &[u8]) -> Vec<StoredReply> {
        let mut row = ReplyRowReader::read(row).unwrap();
        let (mut next, mut got) = (StoredReply::default(), Vec::new());
        while row.read_next(&mut next).is_some() {
            got.push(next.clone());
        }
        assert!(row.is_finished());
        got
    }

    /// Encodes a row in the format before the migration.
    fn encode_without_keys_first(row: &[u8]) -> Vec<u8> {
        let mut old = RowEncoder::default();
        let (names, replies) = (ReplyRowReader::read(row).unwrap().names, decode_all(row));
        old.write_varint(names.len() as u64);
        names.iter().for_each(|name| old.write_str(name));
        old.write_varint(replies.len() as u64);
        let mut time = 0;
        for reply in replies {
            old.write_bytes(&reply.key.to_le_bytes());
            old.write_zigzag(reply.at - time);
            time = reply.at;
            [reply.model, reply.cwd, reply.subagent].into_iter().for_each(|name| old.write_varint(name.into()));
            old.write_varint(u64::from(reply.copied) | u64::from(reply.cost_usd.is_some()) << 1);
            reply.tokens.into_iter().for_each(|tokens| old.write_varint(tokens));
            old.write_bytes(&reply.cost_usd.map_or(Vec::new(), |cost| cost.to_le_bytes().to_vec()));
            old.write_varint(reply.tools.len() as u64);
            for (id, name) in reply.tools {
                old.write_bytes(&id.to_le_bytes());
                old.write_varint(name.into());
            }
        }
        old.0
    }

    #[test]
    fn rows_of_an_earlier_format_are_kept() {
        let mut replies = ReplyEncoder::default();
        replies.add_reply(&sample_usage("a", 5, 3, "Bash"), 0);
        replies
            .add_reply(&ReplyTokens { cost_usd: Some(0.5), copied: true, ..sample_usage("b", 4, 1 << 40, "Read") }, 0);
        replies.add_reply(&ReplyTokens { tools: Vec::new(), ..sample_usage("c", 9, 7, "") }, 0);
        let row = replies.take_encoded();
        let before = encode_without_keys_first(&row);
        let formats = [include_str!("schema.sql"), include_str!("format2.sql"), include_str!("format3.sql")];
        for format in 1..=formats.len() {
            let folder = tempfile::tempdir().unwrap();
            let old = Connection::open(folder.path().join(LogIndex::FILE_NAME)).unwrap();
            formats[..format].iter().for_each(|statements| old.execute_batch(statements).unwrap());
            for row in [&before, &before[..before.len() - 1]] {
                old.execute("INSERT INTO spent (unit, replies) VALUES (1, ?1)", params![row]).unwrap();
            }
            old.pragma_update(None, "user_version", format).unwrap();
            drop(old);
            // Opening the index again changes nothing.
            for _ in 0..2 {
                let index = LogIndex::open(folder.path()).unwrap();
                let read = |id: i64| {
                    let row = "SELECT packed FROM spent WHERE id = ?1";
                    index.connection.query_row(row, [id], |row| row.get::<_, Vec<u8>>(0)).unwrap()
                };
                assert_eq!(read(1), row, "{format}");
                // The damaged row is still detected.
                assert!(reply_keys(&read(2)).is_none() && ReplyRowReader::read(&read(2)).is_none());
            }
        }
        assert_eq!(decode_all(&row).len(), 3);
    }

    #[test]
    fn a_reply_in_several_records_is_one() {
        let mut replies = ReplyEncoder::default();
        replies.add_reply(&sample_usage("a", 5, 3, "Bash"), 0);
        replies.add_reply(&sample_usage("a", 6, 40, "Read"), 0);
        replies.add_reply(&sample_usage("a", 7, 3, "Read"), 0);
        replies.add_reply(&ReplyTokens { at: None, cost_usd: Some(0.5), ..sample_usage("b", 0, u64::MAX, "Bash") }, 9);
        let row = replies.take_encoded();
        assert!(replies.is_empty());
        let got = decode_all(&row);
        assert_eq!(ReplyRowReader::read(&row).unwrap().names, ["m", "Bash", "Read"]);
        assert_eq!((got.len(), reply_keys(&row).unwrap().count()), (2, 2));
        assert_eq!((got[0].at, got[0].tokens[1], got[0].model, got[0].tools.len()), (5, 40, 1, 2));
        assert_eq!((got[1].at, got[1].tokens[1], got[1].cost_usd), (9, u64::MAX, Some(0.5)));
    }
}
