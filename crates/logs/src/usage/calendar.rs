//! Days, weeks and months of a time zone. A period is found by comparing two numbers: only the first reply of each asks
//! the calendar, since that is slow and there are many replies in a day.

use jiff::{ToSpan as _, civil::Date, tz::TimeZone};
use switchboard_event::Timestamp;

use super::{By, rows::Key};
use crate::when;

/// The periods that came up so far.
pub struct Calendar<'a> {
    by: By,
    zone: &'a TimeZone,
    periods: Vec<Period>,
    /// Their numbers, in the order of time.
    sorted: Vec<usize>,
    last: usize,
}

#[derive(Clone)]
struct Period {
    from: Timestamp,
    to: Timestamp,
    name: String,
}

impl<'a> Calendar<'a> {
    pub fn new(by: By, zone: &'a TimeZone) -> Self {
        Self { by, zone, periods: Vec::new(), sorted: Vec::new(), last: 0 }
    }

    /// The number of the period that a moment lies in, from 0 as they come up.
    pub fn period(&mut self, at: Timestamp) -> usize {
        if !self.holds(self.last, at) {
            self.last = self.find(at);
        }
        self.last
    }

    fn holds(&self, number: usize, at: Timestamp) -> bool {
        self.periods.get(number).is_some_and(|period| period.from <= at && at < period.to)
    }

    fn find(&mut self, at: Timestamp) -> usize {
        let from = |number: &usize| self.periods.get(*number).map(|period| period.from);
        let behind = self.sorted.partition_point(|number| from(number) <= Some(at));
        let found = behind.checked_sub(1).and_then(|before| self.sorted.get(before).copied());
        if let Some(found) = found.filter(|number| self.holds(*number, at)) {
            return found;
        }
        self.sorted.insert(behind, self.periods.len());
        self.periods.push(Period::of(self.by, at, self.zone));
        self.periods.len() - 1
    }

    pub fn key(&self, number: usize) -> Key {
        self.periods.get(number).map_or(Key::Word("(unknown)"), |period| Key::Period {
            name: period.name.clone(),
            from: period.from,
            to: period.to,
        })
    }
}

impl Period {
    fn of(by: By, at: Timestamp, zone: &TimeZone) -> Self {
        let date = when::date(at, zone);
        let (first, next, name) = match by {
            By::Week => week(date),
            By::Month => {
                (date.first_of_month(), date.last_of_month().tomorrow().ok(), date.strftime("%Y-%m").to_string())
            }
            _ => (date, date.tomorrow().ok(), date.to_string()),
        };
        let from = when::start_of_day(first, zone).unwrap_or(at);
        let to = next.and_then(|next| when::start_of_day(next, zone));
        // Where the calendar ends, and on the few days that a zone had twice, a period is at least what was asked for.
        let just_after = || Timestamp::from_micros(at.as_micros().saturating_add(1)).unwrap_or(at);
        Self { from: from.min(at), to: to.filter(|to| *to > at).unwrap_or_else(just_after), name }
    }
}

/// Monday, the next Monday and the name of a week; around New Year it has the year in which most of it lies.
fn week(date: Date) -> (Date, Option<Date>, String) {
    let back = i64::from(date.weekday().to_monday_zero_offset());
    let monday = date.checked_sub(back.days()).unwrap_or(date);
    let iso = date.iso_week_date();
    (monday, monday.checked_add(1.week()).ok(), format!("{}-W{:02}", iso.year(), iso.week()))
}
