//! Times as people say them: a day, a month, a point in time, or how long ago. A day is one of a time zone, from its
//! first moment to its last, whether it has 23, 24 or 25 hours. No clock: who asks says what time it is.

use jiff::{Span, ToSpan as _, civil::Date, civil::DateTime, fmt::temporal::DateTimeParser, tz::TimeZone};
use switchboard_event::Timestamp;

/// Text that is not what it should be, with what can be said in its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTime {
    /// Not a time.
    #[error(
        "`{0}` is not a time: say a day (2026-11-16, today, yesterday), a month (2026-11), how long ago (45m, 12h, 7d, \
         2w), or a point in time (2026-11-16T09:30, 2026-11-16T09:30:00Z)"
    )]
    Time(String),
    /// Not a time zone.
    #[error("`{0}` is not a time zone: say a name (Europe/Berlin, UTC) or an offset (+02:00)")]
    Zone(String),
    /// Nothing is in between.
    #[error("nothing is between the beginning ({since}) and the end ({until})")]
    Empty {
        /// The beginning, as it was said.
        since: String,
        /// The end, as it was said.
        until: String,
    },
}

/// What somebody meant by a time: a stretch from its first moment to the first one behind it. A point in time has both
/// in the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Where it begins: what `--since` means.
    pub from: Timestamp,
    /// Where it is over: what `--until` means, so that a day is in it as a whole.
    pub to: Timestamp,
}

/// A time zone by its name, its offset or its rule.
///
/// # Errors
/// If it is none of them.
pub fn zone(name: &str) -> Result<TimeZone, BadTime> {
    let name = name.trim();
    if name.eq_ignore_ascii_case("z") {
        return Ok(TimeZone::UTC);
    }
    DateTimeParser::new().parse_time_zone(name).map_err(|_| BadTime::Zone(name.to_owned()))
}

/// Reads a time as people say it, in a time zone and as of now. Days and weeks ago are whole days: `1d` is yesterday.
///
/// # Errors
/// If it is none, or one that no calendar has.
pub fn moment(text: &str, zone: &TimeZone, now: Timestamp) -> Result<Moment, BadTime> {
    let said = text.trim();
    let clock = Clock { zone, now };
    let found = clock.word(said).or_else(|| clock.ago(said)).or_else(|| clock.point(said));
    found.or_else(|| clock.date(said)).ok_or_else(|| BadTime::Time(said.to_owned()))
}

/// From when to when, as people say it: `until` is in it as a whole, if it is a day.
///
/// # Errors
/// If one of them is no time, or nothing is in between.
pub fn between(
    since: Option<&str>,
    until: Option<&str>,
    zone: &TimeZone,
    now: Timestamp,
) -> Result<(Option<Timestamp>, Option<Timestamp>), BadTime> {
    let from = since.map(|text| moment(text, zone, now)).transpose()?.map(|moment| moment.from);
    let to = until.map(|text| moment(text, zone, now)).transpose()?.map(|moment| moment.to);
    match (from, to, since, until) {
        (Some(from), Some(to), Some(since), Some(until)) if to <= from => {
            Err(BadTime::Empty { since: since.to_owned(), until: until.to_owned() })
        }
        _ => Ok((from, to)),
    }
}

/// The first moment of a day.
#[must_use]
pub fn start_of_day(date: Date, zone: &TimeZone) -> Option<Timestamp> {
    let noon = zone.to_zoned(date.at(12, 0, 0, 0)).ok()?;
    Timestamp::from_micros(noon.start_of_day().ok()?.timestamp().as_microsecond())
}

/// The day of a time zone that a moment lies in.
#[must_use]
pub fn date(at: Timestamp, zone: &TimeZone) -> Date {
    let at = jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or_default();
    zone.to_datetime(at).date()
}

struct Clock<'a> {
    zone: &'a TimeZone,
    now: Timestamp,
}

impl Clock<'_> {
    fn word(&self, said: &str) -> Option<Moment> {
        match said.to_ascii_lowercase().as_str() {
            "now" => Some(Moment { from: self.now, to: self.now }),
            "today" => self.days_ago(0.days()),
            "yesterday" => self.days_ago(1.days()),
            _ => None,
        }
    }

    /// `45m`, `12h`, `7d`, `2w`, with or without `ago` behind it.
    fn ago(&self, said: &str) -> Option<Moment> {
        let said = said.strip_suffix("ago").unwrap_or(said).trim_end();
        let unit = said.trim_start_matches(|c: char| c.is_ascii_digit());
        let number: i64 = said.strip_suffix(unit)?.parse().ok()?;
        let seconds = match unit.trim_start() {
            "s" => 1,
            "m" | "min" => 60,
            "h" => 3_600,
            "d" => return self.days_ago(Span::new().try_days(number).ok()?),
            "w" => return self.days_ago(Span::new().try_weeks(number).ok()?),
            _ => return None,
        };
        let micros = number.checked_mul(seconds * 1_000_000)?;
        let at = Timestamp::from_micros(self.now.as_micros().checked_sub(micros)?)?;
        Some(Moment { from: at, to: at })
    }

    fn days_ago(&self, days: Span) -> Option<Moment> {
        let day = date(self.now, self.zone).checked_sub(days).ok()?;
        self.days(day, day)
    }

    fn days(&self, first: Date, last: Date) -> Option<Moment> {
        let to = start_of_day(last.tomorrow().ok()?, self.zone)?;
        Some(Moment { from: start_of_day(first, self.zone)?, to })
    }

    /// A point in time, with an offset or in the time zone.
    fn point(&self, said: &str) -> Option<Moment> {
        let has_time = said.contains(':') || said.contains(['T', 't']);
        let local = || {
            let civil = said.parse::<DateTime>().ok().filter(|_| has_time)?;
            Timestamp::from_micros(self.zone.to_zoned(civil).ok()?.timestamp().as_microsecond())
        };
        let at = Timestamp::parse(said).or_else(local)?;
        Some(Moment { from: at, to: at })
    }

    /// A day (`2026-11-16` or `20261116`) or a month (`2026-11`).
    fn date(&self, said: &str) -> Option<Moment> {
        let is_month = said.len() == 7 && said.as_bytes().get(4) == Some(&b'-');
        if is_month {
            let first: Date = format!("{said}-01").parse().ok()?;
            return self.days(first, first.last_of_month());
        }
        let has_only = |c: char| c.is_ascii_digit() || c == '-';
        let day: Date = said.parse().ok().filter(|_| said.chars().all(has_only))?;
        self.days(day, day)
    }
}

#[cfg(test)]
mod tests {
    use super::{BadTime, Timestamp, between, moment, zone};

    fn check(said: &str, name: &str, expected: (&str, &str)) {
        let zone = zone(name).unwrap();
        let now = Timestamp::parse("2026-11-16T10:20:30Z").unwrap();
        let moment = moment(said, &zone, now).unwrap();
        let expected = (Timestamp::parse(expected.0).unwrap(), Timestamp::parse(expected.1).unwrap());
        assert_eq!((moment.from, moment.to), expected, "{said} in {name}");
    }

    #[test]
    fn days_are_whole_days_of_the_zone() {
        check("2026-11-16", "UTC", ("2026-11-16T00:00:00Z", "2026-11-17T00:00:00Z"));
        check("20261116", "Asia/Tokyo", ("2026-11-15T15:00:00Z", "2026-11-16T15:00:00Z"));
        check("today", "+05:30", ("2026-11-15T18:30:00Z", "2026-11-16T18:30:00Z"));
        check("yesterday", "Pacific/Auckland", ("2026-11-14T11:00:00Z", "2026-11-15T11:00:00Z"));
        check("0d", "UTC", ("2026-11-16T00:00:00Z", "2026-11-17T00:00:00Z"));
        check("7d", "UTC", ("2026-11-09T00:00:00Z", "2026-11-10T00:00:00Z"));
        check("2w", "UTC", ("2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z"));
        check("2026-02", "UTC", ("2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"));
    }

    #[test]
    fn days_on_which_clocks_change_have_their_own_length() {
        check("2026-03-29", "Europe/Berlin", ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"));
        check("2026-10-25", "Europe/Berlin", ("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"));
        // No midnight: clocks went from 23:59:59 to 01:00.
        check("2024-04-26", "Africa/Cairo", ("2024-04-25T22:00:00Z", "2024-04-26T21:00:00Z"));
    }

    #[test]
    fn points_in_time_are_exact() {
        for (said, at) in [
            ("now", "2026-11-16T10:20:30Z"),
            ("90s", "2026-11-16T10:19:00Z"),
            ("45m ago", "2026-11-16T09:35:30Z"),
            ("12h", "2026-11-15T22:20:30Z"),
            ("2026-11-16T09:30:00Z", "2026-11-16T09:30:00Z"),
            ("2026-11-16T09:30:00+02:00", "2026-11-16T07:30:00Z"),
            ("2026-11-16T09:30", "2026-11-16T08:30:00Z"),
            ("2026-11-16 09:30", "2026-11-16T08:30:00Z"),
        ] {
            check(said, "Europe/Berlin", (at, at));
        }
    }

    #[test]
    fn what_is_no_time_is_said() {
        let now = Timestamp::parse("2026-11-16T10:20:30Z").unwrap();
        let utc = zone("UTC").unwrap();
        for said in
            ["", "soon", "7", "7x", "-3d", "2026-13-01", "2026-02-30", "2026-13", "99999999999999d", "d", "16.11.2026"]
        {
            assert_eq!(moment(said, &utc, now), Err(BadTime::Time(said.to_owned())), "{said}");
        }
        for name in ["", "Mars/Olympus", "25:00"] {
            assert_eq!(zone(name), Err(BadTime::Zone(name.to_owned())));
        }
    }

    #[test]
    fn an_end_before_the_beginning_is_an_error() {
        let now = Timestamp::parse("2026-11-16T10:20:30Z").unwrap();
        let utc = zone("UTC").unwrap();
        assert!(between(Some("2026-11-16"), Some("2026-11-16"), &utc, now).is_ok());
        assert!(between(Some("yesterday"), Some("now"), &utc, now).is_ok());
        assert!(between(Some("today"), Some("yesterday"), &utc, now).is_err(), "both meet at midnight");
        assert!(between(Some("today"), Some("2d"), &utc, now).is_err());
    }
}
