//! Test ledgers and their reports.

use switchboard_event::Timestamp;

use super::super::{TokenPrices, Usage, UsageGrouping, UsageQuestion, aggregate_usage};
use crate::{LedgerEntry, LedgerName, UsageLedger, when};

pub struct LedgerBuilder(pub UsageLedger);

/// A reply with its names as text.
#[derive(Clone, Default)]
pub struct ReplyBuilder {
    entry: LedgerEntry,
    names: [String; 6],
    tools: Vec<String>,
}

/// Creates a reply of an agent at a time.
pub fn reply_at(at: &str) -> ReplyBuilder {
    let entry = LedgerEntry { at: Timestamp::parse(at).unwrap(), ..LedgerEntry::default() };
    ReplyBuilder { entry, ..ReplyBuilder::default() }.agent("an-agent")
}

impl ReplyBuilder {
    fn with_name(mut self, place: usize, name: &str) -> Self {
        name.clone_into(&mut self.names[place]);
        self
    }

    pub fn agent(self, name: &str) -> Self {
        self.with_name(0, name)
    }

    pub fn session(self, name: &str) -> Self {
        self.with_name(1, name)
    }

    pub fn subagent(self, name: &str) -> Self {
        self.with_name(2, name)
    }

    pub fn project(self, name: &str) -> Self {
        self.with_name(3, name)
    }

    pub fn model(self, name: &str) -> Self {
        self.with_name(4, name)
    }

    pub fn input(mut self, tokens: u64) -> Self {
        self.entry.input = tokens;
        self
    }

    pub fn output(mut self, tokens: u64) -> Self {
        self.entry.output = tokens;
        self
    }

    pub fn reasoning(mut self, tokens: u64) -> Self {
        self.entry.reasoning = tokens;
        self
    }

    pub fn cache(mut self, read: u64, write: u64, write_1h: u64) -> Self {
        (self.entry.cache_read, self.entry.cache_write, self.entry.cache_write_1h) = (read, write, write_1h);
        self
    }

    pub fn cost(mut self, dollars: f64) -> Self {
        self.entry.cost_usd = Some(dollars);
        self
    }

    pub fn tools(mut self, names: &[&str]) -> Self {
        self.tools = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }
}

impl LedgerBuilder {
    pub fn from_replies<const N: usize>(replies: [ReplyBuilder; N]) -> Self {
        let mut made = Self(UsageLedger { names: vec![String::new()], entries: Vec::new(), tools: vec![Vec::new()] });
        replies.into_iter().for_each(|reply| made.add_reply(reply));
        made
    }

    pub fn add_reply(&mut self, reply: ReplyBuilder) {
        let [agent, session, subagent, project, model, machine] = reply.names.map(|name| self.intern_name(&name));
        let tools: Vec<LedgerName> = reply.tools.iter().map(|tool| self.intern_name(tool)).collect();
        let place = self.0.tools.iter().position(|list| *list == tools).unwrap_or(self.0.tools.len());
        if place == self.0.tools.len() {
            self.0.tools.push(tools);
        }
        let tools = u32::try_from(place).unwrap();
        self.0.entries.push(LedgerEntry { agent, machine, session, subagent, project, model, tools, ..reply.entry });
    }

    fn intern_name(&mut self, name: &str) -> LedgerName {
        let place = self.0.names.iter().position(|known| known == name).unwrap_or(self.0.names.len());
        if place == self.0.names.len() {
            self.0.names.push(name.to_owned());
        }
        LedgerName(u32::try_from(place).unwrap())
    }
}

/// Two models have a price: `cheap` costs a dollar per million tokens, `dear` a hundred.
const PRICES_JSON: &str = r#"{"date":"2026-01-02","models":{
    "cheap":{"input":1,"output":1,"cacheRead":1},
    "dear":{"input":100,"output":200,"cacheRead":10,"cacheWrite":125,"cacheWrite1h":200}}}"#;

/// Returns the usage at noon of a fixed day.
pub fn usage_by(made: &LedgerBuilder, by: UsageGrouping, zone: &str) -> Usage {
    usage_by_at(made, by, zone, "2026-11-16T12:00:00Z")
}

/// Returns the usage at a given time.
pub fn usage_by_at(made: &LedgerBuilder, by: UsageGrouping, zone: &str, now: &str) -> Usage {
    let prices = TokenPrices::default().with_overrides(PRICES_JSON).unwrap();
    let (zone, now) = (when::parse_time_zone(zone).unwrap(), Timestamp::parse(now).unwrap());
    aggregate_usage(&made.0, &UsageQuestion { by, zone: &zone, now, prices: &prices, breakdown: true })
}

impl Usage {
    pub fn row_keys(&self) -> Vec<&str> {
        self.rows.iter().map(|row| row.key.as_str()).collect()
    }

    pub fn row_tokens(&self) -> Vec<(&str, u64)> {
        self.rows.iter().map(|row| (row.key.as_str(), row.total_tokens)).collect()
    }
}
