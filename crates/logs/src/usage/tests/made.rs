//! Ledgers to ask, and how they are made.

use switchboard_event::Timestamp;

use super::super::{By, Prices, Question, Usage, usage};
use crate::{Entry, Ledger, Name, when};

/// A ledger that is being made.
pub struct Made(pub Ledger);

/// A reply in words.
#[derive(Clone, Default)]
pub struct Reply {
    entry: Entry,
    names: [String; 6],
    tools: Vec<String>,
}

/// A reply at a time, of an agent.
pub fn reply(at: &str) -> Reply {
    let entry = Entry { at: Timestamp::parse(at).unwrap(), ..Entry::default() };
    Reply { entry, ..Reply::default() }.agent("an-agent")
}

impl Reply {
    fn named(mut self, place: usize, name: &str) -> Self {
        name.clone_into(&mut self.names[place]);
        self
    }

    pub fn agent(self, name: &str) -> Self {
        self.named(0, name)
    }

    pub fn session(self, name: &str) -> Self {
        self.named(1, name)
    }

    pub fn subagent(self, name: &str) -> Self {
        self.named(2, name)
    }

    pub fn project(self, name: &str) -> Self {
        self.named(3, name)
    }

    pub fn model(self, name: &str) -> Self {
        self.named(4, name)
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

impl Made {
    pub fn of<const N: usize>(replies: [Reply; N]) -> Self {
        let mut made = Self(Ledger { names: vec![String::new()], entries: Vec::new(), tools: vec![Vec::new()] });
        replies.into_iter().for_each(|reply| made.add(reply));
        made
    }

    pub fn add(&mut self, reply: Reply) {
        let [agent, session, subagent, project, model, machine] = reply.names.map(|name| self.name(&name));
        let tools: Vec<Name> = reply.tools.iter().map(|tool| self.name(tool)).collect();
        let place = self.0.tools.iter().position(|list| *list == tools).unwrap_or(self.0.tools.len());
        if place == self.0.tools.len() {
            self.0.tools.push(tools);
        }
        let tools = u32::try_from(place).unwrap();
        self.0.entries.push(Entry { agent, machine, session, subagent, project, model, tools, ..reply.entry });
    }

    fn name(&mut self, name: &str) -> Name {
        let place = self.0.names.iter().position(|known| known == name).unwrap_or(self.0.names.len());
        if place == self.0.names.len() {
            self.0.names.push(name.to_owned());
        }
        Name(u32::try_from(place).unwrap())
    }
}

/// Two models have a price: `cheap` costs a dollar a million, `dear` a hundred.
const PRICES: &str = r#"{"date":"2026-01-02","models":{
    "cheap":{"input":1,"output":1,"cacheRead":1},
    "dear":{"input":100,"output":200,"cacheRead":10,"cacheWrite":125,"cacheWrite1h":200}}}"#;

/// What the ledger says, at noon of a day.
pub fn ask(made: &Made, by: By, zone: &str) -> Usage {
    ask_at(made, by, zone, "2026-11-16T12:00:00Z")
}

/// The same at any time.
pub fn ask_at(made: &Made, by: By, zone: &str, now: &str) -> Usage {
    let prices = Prices::default().over(PRICES).unwrap();
    let (zone, now) = (when::zone(zone).unwrap(), Timestamp::parse(now).unwrap());
    usage(&made.0, &Question { by, zone: &zone, now, prices: &prices, breakdown: true })
}

impl Usage {
    /// The rows' keys.
    pub fn keys(&self) -> Vec<&str> {
        self.rows.iter().map(|row| row.key.as_str()).collect()
    }

    /// The rows' keys and tokens.
    pub fn tokens(&self) -> Vec<(&str, u64)> {
        self.rows.iter().map(|row| (row.key.as_str(), row.total_tokens)).collect()
    }
}
