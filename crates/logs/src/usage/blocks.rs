//! Stretches of five hours, as limits of subscriptions count them: one begins at the full hour of the first reply, and
//! the next with the first reply that comes when it is over.

use switchboard_event::Timestamp;

use super::{
    row::{Block, BurnRate, Projection},
    sums::{Sums, dollars},
};
use crate::Entry;

const HOUR: i64 = 3_600_000_000;

/// How long a block is, in microseconds.
const LENGTH: i64 = 5 * HOUR;

/// Replies in the order of time, each with the number and the beginning of its block.
pub fn blocks(entries: &[Entry]) -> impl Iterator<Item = (usize, i64, &Entry)> {
    // Numbers are sorted faster than replies.
    let mut times: Vec<(i64, usize)> =
        entries.iter().enumerate().map(|(number, entry)| (entry.at.as_micros(), number)).collect();
    times.sort_unstable();
    let mut block: Option<(usize, i64)> = None;
    times.into_iter().filter_map(move |(at, number)| {
        let (count, start) = match block {
            Some((count, start)) if at < start + LENGTH => (count, start),
            before => (before.map_or(0, |(count, _)| count + 1), at - at.rem_euclid(HOUR)),
        };
        block = Some((count, start));
        entries.get(number).map(|entry| (count, start, entry))
    })
}

/// What is to be said of a block beside its sums. The rate is that of the time since its first reply; where that is
/// less than a minute, of a minute.
pub fn describe(start: i64, sums: &Sums, now: Timestamp) -> Block {
    let end = start + LENGTH;
    let (from, last) = sums.span.map_or((start, start), |(from, to)| (from.as_micros(), to.as_micros()));
    let is_active = (start..end).contains(&now.as_micros());
    let until = if is_active { now.as_micros().max(last) } else { last };
    let minutes = minutes(until - from).max(1.0);
    let rate = BurnRate {
        tokens_per_minute: exact(sums.total()) / minutes,
        cost_usd_per_hour: dollars(sums.cost) / minutes * 60.0,
    };
    let projection = is_active.then(|| projection(sums, &rate, end - now.as_micros()));
    Block { start: time(start), end: time(end), is_active, burn_rate: rate, projection }
}

/// What it comes to at its end, if it goes on like that.
fn projection(sums: &Sums, rate: &BurnRate, left: i64) -> Projection {
    let left = minutes(left);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a forecast, and never negative")]
    let more = (rate.tokens_per_minute * left) as u64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 300, and never negative")]
    let remaining_minutes = left as u64;
    Projection {
        total_tokens: sums.total().saturating_add(more),
        cost_usd: dollars(sums.cost) + rate.cost_usd_per_hour / 60.0 * left,
        remaining_minutes,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
fn minutes(micros: i64) -> f64 {
    micros as f64 / 6e7
}

#[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
fn exact(count: u64) -> f64 {
    count as f64
}

fn time(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros).unwrap_or_default()
}
