//! What a reply used and cost. What the agent says itself counts; else the price of the model does.

use super::{
    prices::{Price, Prices},
    sums::{Sums, dollars, pico},
};
use crate::{Entry, Ledger, ledger::ByName};

/// Prices of a ledger's models, each looked up once.
pub struct Costs<'a> {
    prices: &'a Prices,
    known: ByName<Option<&'a Price>>,
}

impl<'a> Costs<'a> {
    /// None was looked up yet.
    #[must_use]
    pub fn new(prices: &'a Prices) -> Self {
        Self { prices, known: ByName::default() }
    }

    /// What one reply cost, in dollars; nothing if that is not known.
    pub fn dollars(&mut self, ledger: &Ledger, entry: &Entry) -> Option<f64> {
        let sums = self.of(ledger, entry);
        (sums.unpriced == 0).then(|| dollars(sums.cost))
    }

    /// All about one reply.
    pub(super) fn of(&mut self, ledger: &Ledger, entry: &Entry) -> Sums {
        let mut sums = Sums {
            input: entry.input,
            output: entry.output,
            cache_read: entry.cache_read,
            cache_write: entry.cache_write,
            cache_write_1h: entry.cache_write_1h,
            reasoning: entry.reasoning,
            replies: 1,
            span: Some((entry.at, entry.at)),
            ..Sums::default()
        };
        // Agents say 0 of what a subscription pays for, and of models whose price they do not know.
        let said = entry.cost_usd.map(pico);
        let mut price = || *self.known.or_insert_with(entry.model, || self.prices.price(ledger.name(entry.model)));
        let priced = said.filter(|said| *said > 0).or_else(|| price().map(|price| price.cost(&sums)));
        match priced {
            Some(cost) => sums.cost = cost,
            None => sums.unpriced = sums.total(),
        }
        sums
    }
}

impl Prices {
    /// What one reply costs by the price of its model, in dollars; nothing if that is not known.
    #[must_use]
    pub fn cost(&self, usage: &switchboard_event::Usage) -> Option<f64> {
        let sums = Sums {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write_5m,
            cache_write_1h: usage.cache_write_1h,
            ..Sums::default()
        };
        self.price(usage.model.as_deref()?).map(|price| dollars(price.cost(&sums)))
    }
}
