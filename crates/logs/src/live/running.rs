//! One session that runs, as it is at this moment.

use std::path::PathBuf;

use jiff::tz::TimeZone;
use switchboard_agents::{Facts, Spent};
use switchboard_event::{Id, Timestamp};

use super::doing::Activity;
use crate::{
    Entry, Ledger, Name,
    usage::{By, Prices, Question, usage},
};

/// A session that runs.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// The agent's own id of it, or Switchboard's if it has none.
    pub id: String,
    /// The agent.
    pub agent: String,
    /// The machine, if it is another one.
    pub machine: Option<String>,
    /// What is known about it.
    pub facts: Facts,
    /// The file that it lies in.
    pub path: Option<PathBuf>,
    /// Switchboard runs it, under this id.
    pub own: Option<Id>,
    /// What it is doing.
    pub activity: Activity,
    /// Since when.
    pub since: Option<Timestamp>,
    /// When something of it was written last.
    pub updated: Timestamp,
    /// What its busiest subagent is doing.
    pub inner: Option<Activity>,
    /// How many of its subagents are at work.
    pub subagents: usize,
    /// The replies of all models, each once.
    pub spent: Vec<Spent>,
}

impl Running {
    /// An id, the beginning of one, or Switchboard's, can mean it.
    #[must_use]
    pub fn is(&self, id: &str) -> bool {
        self.id.starts_with(id) || self.own.as_ref().is_some_and(|own| own.starts_with(id))
    }

    /// All tokens, of every kind.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let all =
            |spent: &Spent| spent.input + spent.output + spent.cache_read + spent.cache_write + spent.cache_write_1h;
        self.spent.iter().map(all).sum()
    }

    /// What it cost so far: what the agent says, else what the tokens cost; nothing if nobody knows a price.
    #[must_use]
    pub fn cost_usd(&self, prices: &Prices) -> Option<f64> {
        let question =
            Question { by: By::Model, zone: &TimeZone::UTC, now: Timestamp::default(), prices, breakdown: false };
        let total = usage(&self.ledger(), &question).total;
        (total.replies > 0 && (total.cost_usd > 0.0 || total.unpriced_models.is_empty())).then_some(total.cost_usd)
    }

    fn ledger(&self) -> Ledger {
        let mut ledger = Ledger { names: vec![String::new()], entries: Vec::new(), tools: vec![Vec::new()] };
        for spent in &self.spent {
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
}

fn number(names: &mut Vec<String>, name: &str) -> Name {
    let known = names.iter().position(|known| known == name);
    let place = known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    Name(u32::try_from(place).unwrap_or_default())
}
