//! Days, weeks and months of a time zone. Lookups compare two numbers: only the first reply of each period computes it
//! with the calendar, since that is slow and there are many replies in a day.

use std::collections::HashMap;

use jiff::{ToSpan as _, civil::Date, tz::TimeZone};
use switchboard_event::Timestamp;

use super::aggregate::UsageGroup;
use super::rows::GroupKey;
use super::sums::{UsageSums, to_dollars};
use super::{Block, BurnRate, Projection, UsageGrouping};
use crate::when;

/// The periods seen so far.
pub struct UsageCalendar<'a> {
    by: UsageGrouping,
    zone: &'a TimeZone,
    periods: Vec<CalendarPeriod>,
    /// Indexes of the periods, in order of time.
    sorted: Vec<usize>,
    last: usize,
}

#[derive(Clone)]
struct CalendarPeriod {
    from: Timestamp,
    to: Timestamp,
    name: String,
}

impl<'a> UsageCalendar<'a> {
    pub fn new(by: UsageGrouping, zone: &'a TimeZone) -> Self {
        Self { by, zone, periods: Vec::new(), sorted: Vec::new(), last: 0 }
    }

    /// Returns the index of the period that contains a time. Periods are numbered as they are first seen.
    pub fn period_index(&mut self, at: Timestamp) -> usize {
        if !self.period_contains(self.last, at) {
            self.last = self.find_or_insert(at);
        }
        self.last
    }

    fn period_contains(&self, number: usize, at: Timestamp) -> bool {
        self.periods.get(number).is_some_and(|period| period.from <= at && at < period.to)
    }

    fn find_or_insert(&mut self, at: Timestamp) -> usize {
        let from = |number: &usize| self.periods.get(*number).map(|period| period.from);
        let behind = self.sorted.partition_point(|number| from(number) <= Some(at));
        let found = behind.checked_sub(1).and_then(|before| self.sorted.get(before).copied());
        if let Some(found) = found.filter(|number| self.period_contains(*number, at)) {
            return found;
        }
        self.sorted.insert(behind, self.periods.len());
        self.periods.push(CalendarPeriod::containing(self.by, at, self.zone));
        self.periods.len() - 1
    }

    pub fn group_key(&self, number: usize) -> GroupKey {
        self.periods.get(number).map_or(GroupKey::Word("(unknown)"), |period| GroupKey::Period {
            name: period.name.clone(),
            from: period.from,
            to: period.to,
        })
    }
}

impl CalendarPeriod {
    fn containing(by: UsageGrouping, at: Timestamp, zone: &TimeZone) -> Self {
        let date = when::date_in_zone(at, zone);
        let (first, next, name) = match by {
            UsageGrouping::Week => iso_week(date),
            UsageGrouping::Month => {
                (date.first_of_month(), date.last_of_month().tomorrow().ok(), date.strftime("%Y-%m").to_string())
            }
            _ => (date, date.tomorrow().ok(), date.to_string()),
        };
        let from = when::start_of_day(first, zone).unwrap_or(at);
        let to = next.and_then(|next| when::start_of_day(next, zone));
        // At the end of the calendar, and on the few days that a zone had twice, a period contains at least the given
        // time.
        let just_after = || Timestamp::from_micros(at.as_micros().saturating_add(1)).unwrap_or(at);
        Self { from: from.min(at), to: to.filter(|to| *to > at).unwrap_or_else(just_after), name }
    }
}

/// Returns the Monday, the next Monday and the name of a week. Its year is the one with most of its days.
fn iso_week(date: Date) -> (Date, Option<Date>, String) {
    let back = i64::from(date.weekday().to_monday_zero_offset());
    let monday = date.checked_sub(back.days()).unwrap_or(date);
    let iso = date.iso_week_date();
    (monday, monday.checked_add(1.week()).ok(), format!("{}-W{:02}", iso.year(), iso.week()))
}

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
