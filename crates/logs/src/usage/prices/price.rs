//! The price of one model.

use super::super::sums::{Pico, Sums};

/// What tokens of each kind cost, in millionths of a millionth of a dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cache_write_1h: u64,
}

/// The price of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Price {
    pub(super) base: Rates,
    /// Where more than so many tokens are before the model, all of the reply costs this; the most first.
    pub(super) above: Vec<(u64, Rates)>,
}

impl Price {
    /// What one reply costs. The price depends on its size, so it cannot be told of several together.
    pub(in super::super) fn cost(&self, reply: &Sums) -> Pico {
        let before = reply.total().saturating_sub(reply.output);
        let tier = self.above.iter().find(|(tokens, _)| before > *tokens);
        let rates = tier.map_or(&self.base, |(_, rates)| rates);
        let of = |tokens: u64, rate: u64| Pico::from(tokens) * Pico::from(rate);
        [
            of(reply.input, rates.input),
            of(reply.output, rates.output),
            of(reply.cache_read, rates.cache_read),
            of(reply.cache_write, rates.cache_write),
            of(reply.cache_write_1h, rates.cache_write_1h),
        ]
        .into_iter()
        .fold(0, Pico::saturating_add)
    }
}
