//! Days, weeks and months of a time zone. Lookups compare two numbers: only the first reply of each period computes it
//! with the calendar, since that is slow and there are many replies in a day.

use jiff::{ToSpan as _, civil::Date, tz::TimeZone};
use switchboard_event::Timestamp;

use super::{UsageGrouping, rows::GroupKey};
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
