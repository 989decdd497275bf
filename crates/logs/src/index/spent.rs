//! What was used, packed: one row of the index has the replies of one stretch of a log. Names stand once a row, and each
//! reply is known by a hash of its key.

use std::collections::HashMap;

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
}

impl Reply {
    /// All tokens that count: reasoning is part of the output.
    pub fn total(&self) -> u64 {
        self.tokens.iter().take(5).fold(0, |sum, tokens| sum.saturating_add(*tokens))
    }

    /// The same reply in another record of the same log: the larger figures, the earlier time, all calls.
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
        packed.number(order.len() as u64);
        order.iter().for_each(|name| packed.text(name));
        packed.number(replies.len() as u64);
        let mut time = 0;
        for reply in &replies {
            packed.raw(&reply.key.to_le_bytes());
            packed.signed(reply.at - time);
            time = reply.at;
            [reply.model, reply.cwd, reply.subagent].into_iter().for_each(|name| packed.number(name.into()));
            packed.number(u64::from(reply.copied) | u64::from(reply.cost_usd.is_some()) << 1);
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

/// The replies of a row, one after the other.
pub struct Row<'a> {
    /// The names; those of a reply are numbers in this list, from 1 on.
    pub names: Vec<&'a str>,
    from: Unpacked<'a>,
    left: usize,
    time: i64,
}

impl<'a> Row<'a> {
    /// Reads its names. Nothing if they are damaged.
    pub fn read(row: &'a [u8]) -> Option<Self> {
        let mut from = Unpacked(row);
        let count = from.count()?;
        let names = (0..count).map_while(|_| from.text()).collect::<Vec<_>>();
        (names.len() == count).then_some(())?;
        Some(Self { names, left: from.count()?, from, time: 0 })
    }

    /// Reads the next reply into one that is there, so that its calls need no memory of their own. Nothing after the last,
    /// and nothing more where it is damaged.
    pub fn next(&mut self, reply: &mut Reply) -> Option<()> {
        let left = self.left.checked_sub(1)?;
        let from = &mut self.from;
        reply.key = u128::from_le_bytes(from.array()?);
        self.time = self.time.checked_add(from.signed()?)?;
        reply.at = self.time;
        for name in [&mut reply.model, &mut reply.cwd, &mut reply.subagent] {
            *name = u32::try_from(from.number()?).ok()?;
        }
        let flags = from.number()?;
        reply.copied = flags & 1 == 1;
        for count in &mut reply.tokens {
            *count = from.number()?;
        }
        reply.cost_usd = if flags & 2 == 0 { None } else { Some(f64::from_le_bytes(from.array()?)) };
        reply.tools.clear();
        for _ in 0..from.count()? {
            reply.tools.push((u32::from_le_bytes(from.array()?), u32::try_from(from.number()?).ok()?));
        }
        self.left = left;
        Some(())
    }

    /// All replies were read.
    pub fn is_over(&self) -> bool {
        self.left == 0
    }
}

#[cfg(test)]
mod tests {
    use switchboard_agents::{Called, Spent};
    use switchboard_event::Timestamp;

    use super::{Replies, Reply, Row};

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

    #[test]
    fn a_reply_in_several_records_is_one() {
        let mut replies = Replies::default();
        replies.add(&spent("a", 5, 3, "Bash"), 0);
        replies.add(&spent("a", 6, 40, "Read"), 0);
        replies.add(&spent("a", 7, 3, "Read"), 0);
        replies.add(&Spent { at: None, cost_usd: Some(0.5), ..spent("b", 0, u64::MAX, "Bash") }, 9);
        let row = replies.take();
        assert!(replies.is_empty());
        let mut row = Row::read(&row).unwrap();
        let (mut next, mut got) = (Reply::default(), Vec::new());
        while row.next(&mut next).is_some() {
            got.push(next.clone());
        }
        assert_eq!(row.names, ["m", "Bash", "Read"]);
        assert_eq!(got.len(), 2);
        assert_eq!((got[0].at, got[0].tokens[1], got[0].model, got[0].tools.len()), (5, 40, 1, 2));
        assert_eq!((got[1].at, got[1].tokens[1], got[1].cost_usd), (9, u64::MAX, Some(0.5)));
    }
}
