use super::super::sums::{PicoDollars, UsageSums};

/// Prices per token by kind, in picodollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenRates {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cache_write_1h: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelPrice {
    pub(super) base: TokenRates,
    /// Rates for a whole reply if its prompt exceeds this many tokens, highest first.
    pub(super) above: Vec<(u64, TokenRates)>,
}

impl ModelPrice {
    /// Returns the cost of one reply. Rates depend on its size, so several replies cannot be priced together.
    pub(in super::super) fn reply_cost(&self, reply: &UsageSums) -> PicoDollars {
        let before = reply.total_tokens().saturating_sub(reply.output);
        let tier = self.above.iter().find(|(tokens, _)| before > *tokens);
        let rates = tier.map_or(&self.base, |(_, rates)| rates);
        let of = |tokens: u64, rate: u64| PicoDollars::from(tokens) * PicoDollars::from(rate);
        [
            of(reply.input, rates.input),
            of(reply.output, rates.output),
            of(reply.cache_read, rates.cache_read),
            of(reply.cache_write, rates.cache_write),
            of(reply.cache_write_1h, rates.cache_write_1h),
        ]
        .into_iter()
        .fold(0, PicoDollars::saturating_add)
    }
}
