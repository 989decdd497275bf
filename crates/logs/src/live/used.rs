//! What the replies of a session came to. It is asked for at every picture, and a session can have thousands of replies:
//! they are added up when its logs were read, and not again until then.

use std::{collections::HashMap, time::Instant};

use jiff::tz::TimeZone;
use switchboard_agents::Spent;
use switchboard_event::Timestamp;

use crate::{
    Entry, Ledger, Name,
    usage::{By, Prices, Question, usage},
};

/// The sum of replies, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// Tokens in that were not cached.
    pub input: u64,
    /// Tokens out, with those of reasoning.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache, for however long.
    pub cache_write: u64,
    /// Tokens of reasoning, part of those out.
    pub reasoning: u64,
    /// All tokens, of every kind.
    pub total: u64,
    /// How many replies there were.
    pub replies: u64,
    /// What they cost: what the agent says, else what the tokens cost; nothing if nobody knows a price.
    pub cost_usd: Option<f64>,
}

impl Used {
    /// Adds them up.
    pub fn of<'a>(replies: impl Iterator<Item = &'a Spent>, prices: &Prices) -> Self {
        let question =
            Question { by: By::Model, zone: &TimeZone::UTC, now: Timestamp::default(), prices, breakdown: false };
        let sum = usage(&ledger(replies), &question).total;
        let is_priced = sum.replies > 0 && (sum.cost_usd > 0.0 || sum.unpriced_models.is_empty());
        Self {
            input: sum.input_tokens,
            output: sum.output_tokens,
            cache_read: sum.cache_read_tokens,
            cache_write: sum.cache_write_tokens,
            reasoning: sum.reasoning_tokens,
            total: sum.total_tokens,
            replies: sum.replies,
            cost_usd: is_priced.then_some(sum.cost_usd),
        }
    }
}

fn ledger<'a>(replies: impl Iterator<Item = &'a Spent>) -> Ledger {
    let mut ledger = Ledger { names: vec![String::new()], entries: Vec::new(), tools: vec![Vec::new()] };
    for spent in replies {
        let model = number(&mut ledger.names, spent.model.as_deref().unwrap_or_default());
        ledger.entries.push(Entry {
            at: spent.at.unwrap_or_default(),
            model,
            input: spent.input,
            output: spent.output,
            cache_read: spent.cache_read,
            cache_write: spent.cache_write,
            cache_write_1h: spent.cache_write_1h,
            reasoning: spent.reasoning,
            cost_usd: spent.cost_usd,
            ..Entry::default()
        });
    }
    ledger
}

fn number(names: &mut Vec<String>, name: &str) -> Name {
    let known = names.iter().position(|known| known == name);
    let place = known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    Name(u32::try_from(place).unwrap_or_default())
}

/// What sessions used, as it was added up last, and for which logs.
pub type Sums = HashMap<Whose, (Stamp, Used)>;

/// A session: its agent, its machine and its id.
pub type Whose = (&'static str, Option<String>, String);

/// How many logs a session has, and when one of them was read last: the same as long as all of them say the same. A log
/// that takes the place of another is read later than that one was.
pub type Stamp = (usize, Option<Instant>);
