//! Five-hour blocks, as subscription limits count them: a block begins at the full hour of its first reply, and the
//! next with the first reply after its end.

use std::collections::HashMap;

use switchboard_event::Timestamp;

use super::{
    gather::UsageGroup,
    row::{Block, BurnRate, Projection},
    rows::GroupKey,
    sums::{UsageSums, to_dollars},
};

const HOUR_MICROS: i64 = 3_600_000_000;

/// The length of a block.
const BLOCK_MICROS: i64 = 5 * HOUR_MICROS;

/// Returns the full hour that contains a time.
pub fn start_of_hour(at: Timestamp) -> i64 {
    at.as_micros() - at.as_micros().rem_euclid(HOUR_MICROS)
}

/// Groups hours into blocks. `places` maps each hour to its group.
pub fn group_hours_into_blocks(places: &HashMap<i64, usize>, hours: &[UsageGroup]) -> Vec<UsageGroup> {
    let mut places: Vec<_> = places.iter().collect();
    places.sort_unstable();
    let (mut blocks, mut end): (Vec<UsageGroup>, i64) = (Vec::new(), i64::MIN);
    for (hour, place) in places {
        if *hour >= end {
            end = hour + BLOCK_MICROS;
            blocks.push(UsageGroup::new(GroupKey::Block(*hour)));
        }
        blocks.last_mut().zip(hours.get(*place)).into_iter().for_each(|(block, hour)| block.add_group(hour));
    }
    blocks
}

/// Returns the details of a block besides its sums. The rate covers the time since its first reply, but at least a
/// minute.
pub fn describe_block(start: i64, sums: &UsageSums, now: Timestamp) -> Block {
    let end = start + BLOCK_MICROS;
    let (from, last) = sums.span.map_or((start, start), |(from, to)| (from.as_micros(), to.as_micros()));
    let is_active = (start..end).contains(&now.as_micros());
    let until = if is_active { now.as_micros().max(last) } else { last };
    let minutes = to_minutes(until - from).max(1.0);
    let rate = BurnRate {
        tokens_per_minute: to_f64(sums.total_tokens()) / minutes,
        cost_usd_per_hour: to_dollars(sums.cost) / minutes * 60.0,
    };
    let projection = is_active.then(|| project_block(sums, &rate, end - now.as_micros()));
    Block { start: to_timestamp(start), end: to_timestamp(end), is_active, burn_rate: rate, projection }
}

/// Projects the sums to the end of the block at the current rate.
fn project_block(sums: &UsageSums, rate: &BurnRate, left: i64) -> Projection {
    let left = to_minutes(left);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a forecast, and never negative")]
    let more = (rate.tokens_per_minute * left) as u64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 300, and never negative")]
    let remaining_minutes = left as u64;
    Projection {
        total_tokens: sums.total_tokens().saturating_add(more),
        cost_usd: to_dollars(sums.cost) + rate.cost_usd_per_hour / 60.0 * left,
        remaining_minutes,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
fn to_minutes(micros: i64) -> f64 {
    micros as f64 / 6e7
}

#[expect(clippy::cast_precision_loss, reason = "a rate needs no more digits")]
fn to_f64(count: u64) -> f64 {
    count as f64
}

fn to_timestamp(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros).unwrap_or_default()
}
