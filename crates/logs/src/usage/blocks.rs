//! Stretches of five hours, as limits of subscriptions count them: one begins at the full hour of the first reply, and
//! the next with the first reply that comes when it is over.

use std::collections::HashMap;

use switchboard_event::Timestamp;

use super::{
    gather::Group,
    row::{Block, BurnRate, Projection},
    rows::Key,
    sums::{Sums, dollars},
};

const HOUR: i64 = 3_600_000_000;

/// How long a block is, in microseconds.
const LENGTH: i64 = 5 * HOUR;

/// The full hour that a moment lies in.
pub fn hour(at: Timestamp) -> i64 {
    at.as_micros() - at.as_micros().rem_euclid(HOUR)
}

/// Makes blocks of hours, whose groups lie in these places.
pub fn of_hours(places: &HashMap<i64, usize>, hours: &[Group]) -> Vec<Group> {
    let mut places: Vec<_> = places.iter().collect();
    places.sort_unstable();
    let (mut blocks, mut end): (Vec<Group>, i64) = (Vec::new(), i64::MIN);
    for (hour, place) in places {
        if *hour >= end {
            end = hour + LENGTH;
            blocks.push(Group::new(Key::Block(*hour)));
        }
        blocks.last_mut().zip(hours.get(*place)).into_iter().for_each(|(block, hour)| block.add_all(hour));
    }
    blocks
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
