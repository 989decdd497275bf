//! Usage and cost of replies. The cost reported by the agent takes precedence over the price of the model.

use super::{
    prices::{ModelPrice, TokenPrices},
    sums::{UsageSums, from_dollars, to_dollars},
};
use crate::{LedgerEntry, UsageLedger, ledger::LedgerNameMap};

/// Looks up the price of each model in a ledger once.
pub struct CostCalculator<'a> {
    prices: &'a TokenPrices,
    known: LedgerNameMap<Option<&'a ModelPrice>>,
}

impl<'a> CostCalculator<'a> {
    /// Creates a calculator without cached prices.
    #[must_use]
    pub fn new(prices: &'a TokenPrices) -> Self {
        Self { prices, known: LedgerNameMap::default() }
    }

    /// Returns the cost of a reply in dollars, or `None` if it is unknown.
    pub fn reply_cost_usd(&mut self, ledger: &UsageLedger, entry: &LedgerEntry) -> Option<f64> {
        let sums = self.reply_sums(ledger, entry);
        (sums.unpriced == 0).then(|| to_dollars(sums.cost))
    }

    /// Returns the sums of one reply.
    pub(super) fn reply_sums(&mut self, ledger: &UsageLedger, entry: &LedgerEntry) -> UsageSums {
        let mut sums = UsageSums {
            input: entry.input,
            output: entry.output,
            cache_read: entry.cache_read,
            cache_write: entry.cache_write,
            cache_write_1h: entry.cache_write_1h,
            reasoning: entry.reasoning,
            replies: 1,
            span: Some((entry.at, entry.at)),
            ..UsageSums::default()
        };
        // Agents report 0 for usage covered by a subscription, and for models whose price they do not know.
        let said = entry.cost_usd.map(from_dollars);
        let mut price =
            || *self.known.or_insert_with(entry.model, || self.prices.find_price(ledger.resolve_name(entry.model)));
        let priced = said.filter(|said| *said > 0).or_else(|| price().map(|price| price.reply_cost(&sums)));
        match priced {
            Some(cost) => sums.cost = cost,
            None => sums.unpriced = sums.total_tokens(),
        }
        sums
    }
}

impl TokenPrices {
    /// Returns the cost of a reply by the price of its model in dollars, or `None` if it is unknown.
    #[must_use]
    pub fn usage_cost_usd(&self, usage: &switchboard_event::Usage) -> Option<f64> {
        let sums = UsageSums {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write_5m,
            cache_write_1h: usage.cache_write_1h,
            ..UsageSums::default()
        };
        self.find_price(usage.model.as_deref()?).map(|price| to_dollars(price.reply_cost(&sums)))
    }
}
