//! Usage of a running session. It is needed for every redraw, and a session can have thousands of replies, so the sum
//! is cached until its logs are read again.

use std::{collections::HashMap, time::Instant};

use jiff::tz::TimeZone;
use switchboard_agents::ReplyTokens;
use switchboard_event::Timestamp;

use crate::{
    LedgerEntry, LedgerName, UsageLedger,
    usage::{TokenPrices, UsageGrouping, UsageQuestion, aggregate_usage},
};

/// The sum of replies, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionUsage {
    /// Excludes cached tokens.
    pub input: u64,
    /// Includes reasoning tokens.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache, with any lifetime.
    pub cache_write: u64,
    /// Part of `output`.
    pub reasoning: u64,
    /// All tokens of every kind.
    pub total: u64,
    /// The number of replies.
    pub replies: u64,
    /// As reported by the agent, else computed from prices; `None` if no price is known.
    pub cost_usd: Option<f64>,
}

impl SessionUsage {
    /// Sums replies.
    pub fn from_replies<'a>(replies: impl Iterator<Item = &'a ReplyTokens>, prices: &TokenPrices) -> Self {
        let question = UsageQuestion {
            by: UsageGrouping::Model,
            zone: &TimeZone::UTC,
            now: Timestamp::default(),
            prices,
            breakdown: false,
        };
        let sum = aggregate_usage(&replies_ledger(replies), &question).total;
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

fn replies_ledger<'a>(replies: impl Iterator<Item = &'a ReplyTokens>) -> UsageLedger {
    let mut ledger = UsageLedger { names: vec![String::new()], entries: Vec::new(), tools: vec![Vec::new()] };
    for spent in replies {
        let model = intern_name(&mut ledger.names, spent.model.as_deref().unwrap_or_default());
        ledger.entries.push(LedgerEntry {
            at: spent.at.unwrap_or_default(),
            model,
            input: spent.input,
            output: spent.output,
            cache_read: spent.cache_read,
            cache_write: spent.cache_write,
            cache_write_1h: spent.cache_write_1h,
            reasoning: spent.reasoning,
            cost_usd: spent.cost_usd,
            ..LedgerEntry::default()
        });
    }
    ledger
}

fn intern_name(names: &mut Vec<String>, name: &str) -> LedgerName {
    let known = names.iter().position(|known| known == name);
    let place = known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    LedgerName(u32::try_from(place).unwrap_or_default())
}

/// The cached usage of sessions, with the state of the logs it is based on.
pub type SessionUsageCache = HashMap<SessionIdentity, (UsageCacheStamp, SessionUsage)>;

/// A session: its agent, machine and ID.
pub type SessionIdentity = (&'static str, Option<String>, String);

/// The number of logs of a session, and when one was last read. It changes whenever the usage can have changed: a log
/// that replaces another is read later.
pub type UsageCacheStamp = (usize, Option<Instant>);
