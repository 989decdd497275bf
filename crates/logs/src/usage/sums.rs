//! Sums of usage. Money is counted in picodollars: integer sums do not depend on the order, and parts add up to the
//! whole.

use switchboard_event::Timestamp;

use super::prices::{ModelPrice, TokenPrices};
use crate::{LedgerEntry, UsageLedger, ledger::LedgerNameMap};

/// A trillionth of a dollar: the price of a token is a whole number of them.
pub type PicoDollars = u128;

const PICODOLLARS_PER_DOLLAR: f64 = 1e12;

/// Converts to dollars, for display and JSON.
#[expect(clippy::cast_precision_loss, reason = "sixteen digits are enough for money")]
pub fn to_dollars(pico: PicoDollars) -> f64 {
    pico as f64 / PICODOLLARS_PER_DOLLAR
}

/// Converts from dollars as reported by an agent. Invalid amounts are 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
fn from_dollars(dollars: f64) -> PicoDollars {
    let pico = (dollars * PICODOLLARS_PER_DOLLAR).round();
    if pico.is_finite() && (0.0..1e30).contains(&pico) { pico as PicoDollars } else { 0 }
}

/// The usage of some replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageSums {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cache_write_1h: u64,
    pub reasoning: u64,
    pub replies: u64,
    pub calls: u64,
    pub cost: PicoDollars,
    /// Tokens of replies whose cost is unknown.
    pub unpriced: u64,
    pub span: Option<(Timestamp, Timestamp)>,
}

impl UsageSums {
    /// Returns the sum of all tokens. Reasoning is part of the output.
    pub fn total_tokens(&self) -> u64 {
        [self.output, self.cache_read, self.cache_write, self.cache_write_1h].iter().fold(self.input, add_saturating)
    }

    /// Adds other sums. Absurd counts in a log saturate.
    pub fn add(&mut self, other: &Self) {
        let plus = |mine: &mut u64, theirs: u64| *mine = mine.saturating_add(theirs);
        plus(&mut self.input, other.input);
        plus(&mut self.output, other.output);
        plus(&mut self.cache_read, other.cache_read);
        plus(&mut self.cache_write, other.cache_write);
        plus(&mut self.cache_write_1h, other.cache_write_1h);
        plus(&mut self.reasoning, other.reasoning);
        plus(&mut self.replies, other.replies);
        plus(&mut self.calls, other.calls);
        plus(&mut self.unpriced, other.unpriced);
        self.cost = self.cost.saturating_add(other.cost);
        self.span = match (self.span, other.span) {
            (Some((from, to)), Some((first, last))) => Some((from.min(first), to.max(last))),
            (mine, theirs) => mine.or(theirs),
        };
    }

    /// Returns `count` of `of` equal parts in whole tokens; the first part gets the remainder.
    pub fn proportional_share(&self, of: u64, count: u64, is_first: bool) -> Self {
        let part = |all: u64| (all / of) * count + if is_first { all % of } else { 0 };
        let (of_cost, count_cost) = (u128::from(of), u128::from(count));
        let cost = (self.cost / of_cost) * count_cost + if is_first { self.cost % of_cost } else { 0 };
        Self {
            input: part(self.input),
            output: part(self.output),
            cache_read: part(self.cache_read),
            cache_write: part(self.cache_write),
            cache_write_1h: part(self.cache_write_1h),
            reasoning: part(self.reasoning),
            unpriced: part(self.unpriced),
            replies: self.replies,
            calls: count,
            cost,
            span: self.span,
        }
    }
}

fn add_saturating(sum: u64, more: &u64) -> u64 {
    sum.saturating_add(*more)
}

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
