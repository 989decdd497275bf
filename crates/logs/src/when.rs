//! Parses times as people write them: a day, a month, a point in time, or a duration ago. Days are those of a time
//! zone, with 23, 24 or 25 hours. The caller passes the current time.

use jiff::{Span, ToSpan as _, civil::Date, civil::DateTime, fmt::temporal::DateTimeParser, tz::TimeZone};
use switchboard_event::Timestamp;

/// Errors in times, with examples of valid input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeParseError {
    /// Not a time.
    #[error(
        "`{0}` is not a time: say a day (2026-11-16, today, yesterday), a month (2026-11), how long ago (45m, 12h, 7d, \
         2w), or a point in time (2026-11-16T09:30, 2026-11-16T09:30:00Z)"
    )]
    Time(String),
    /// Not a time zone.
    #[error("`{0}` is not a time zone: say a name (Europe/Berlin, UTC) or an offset (+02:00)")]
    Zone(String),
    /// The range is empty.
    #[error("nothing is between the beginning ({since}) and the end ({until})")]
    Empty {
        /// The beginning, as given.
        since: String,
        /// The end, as given.
        until: String,
    },
}

/// The range that a time expression denotes. For a point in time, both ends are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// The inclusive start, used by `--since`.
    pub from: Timestamp,
    /// The exclusive end, used by `--until`, so that a day is included completely.
    pub to: Timestamp,
}

/// Parses a time zone: a name, an offset or a POSIX rule.
///
/// # Errors
/// If it is invalid.
pub fn parse_time_zone(name: &str) -> Result<TimeZone, TimeParseError> {
    let name = name.trim();
    if name.eq_ignore_ascii_case("z") {
        return Ok(TimeZone::UTC);
    }
    DateTimeParser::new().parse_time_zone(name).map_err(|_| TimeParseError::Zone(name.to_owned()))
}

/// Parses a time expression in a time zone, relative to `now`. Days and weeks ago are whole days: `1d` is yesterday.
///
/// # Errors
/// If it is not a time, or outside of the calendar.
pub fn parse_time(text: &str, zone: &TimeZone, now: Timestamp) -> Result<TimeRange, TimeParseError> {
    let input = text.trim();
    let clock = TimeParser { zone, now };
    let found = clock.parse_word(input).or_else(|| clock.parse_ago(input)).or_else(|| clock.parse_instant(input));
    found.or_else(|| clock.parse_date(input)).ok_or_else(|| TimeParseError::Time(input.to_owned()))
}

/// Parses the bounds of a time range. If `until` is a day, it is included completely.
///
/// # Errors
/// If one of them is invalid, or the range is empty.
pub fn parse_time_bounds(
    since: Option<&str>,
    until: Option<&str>,
    zone: &TimeZone,
    now: Timestamp,
) -> Result<(Option<Timestamp>, Option<Timestamp>), TimeParseError> {
    let from = since.map(|text| parse_time(text, zone, now)).transpose()?.map(|moment| moment.from);
    let to = until.map(|text| parse_time(text, zone, now)).transpose()?.map(|moment| moment.to);
    match (from, to, since, until) {
        (Some(from), Some(to), Some(since), Some(until)) if to <= from => {
            Err(TimeParseError::Empty { since: since.to_owned(), until: until.to_owned() })
        }
        _ => Ok((from, to)),
    }
}

/// Returns the first moment of a day.
#[must_use]
pub fn start_of_day(date: Date, zone: &TimeZone) -> Option<Timestamp> {
    let noon = zone.to_zoned(date.at(12, 0, 0, 0)).ok()?;
    Timestamp::from_micros(noon.start_of_day().ok()?.timestamp().as_microsecond())
}

/// Returns the date of a time in a time zone.
#[must_use]
pub fn date_in_zone(at: Timestamp, zone: &TimeZone) -> Date {
    let at = jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or_default();
    zone.to_datetime(at).date()
}

struct TimeParser<'a> {
    zone: &'a TimeZone,
    now: Timestamp,
}

impl TimeParser<'_> {
    fn parse_word(&self, input: &str) -> Option<TimeRange> {
        match input.to_ascii_lowercase().as_str() {
            "now" => Some(TimeRange { from: self.now, to: self.now }),
            "today" => self.days_ago(0.days()),
            "yesterday" => self.days_ago(1.days()),
            _ => None,
        }
    }

    /// Parses `45m`, `12h`, `7d` or `2w`, with or without a trailing `ago`.
    fn parse_ago(&self, input: &str) -> Option<TimeRange> {
        let input = input.strip_suffix("ago").unwrap_or(input).trim_end();
        let unit = input.trim_start_matches(|c: char| c.is_ascii_digit());
        let number: i64 = input.strip_suffix(unit)?.parse().ok()?;
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
        Some(TimeRange { from: at, to: at })
    }

    fn days_ago(&self, days: Span) -> Option<TimeRange> {
        let day = date_in_zone(self.now, self.zone).checked_sub(days).ok()?;
        self.day_range(day, day)
    }

    fn day_range(&self, first: Date, last: Date) -> Option<TimeRange> {
        let to = start_of_day(last.tomorrow().ok()?, self.zone)?;
        Some(TimeRange { from: start_of_day(first, self.zone)?, to })
    }

    /// Parses a point in time, with an offset or in the time zone.
    fn parse_instant(&self, input: &str) -> Option<TimeRange> {
        let has_time = input.contains(':') || input.contains(['T', 't']);
        let local = || {
            let civil = input.parse::<DateTime>().ok().filter(|_| has_time)?;
            Timestamp::from_micros(self.zone.to_zoned(civil).ok()?.timestamp().as_microsecond())
        };
        let at = Timestamp::parse(input).or_else(local)?;
        Some(TimeRange { from: at, to: at })
    }

    /// Parses a day (`2026-11-16` or `20261116`) or a month (`2026-11`).
    fn parse_date(&self, input: &str) -> Option<TimeRange> {
        let is_month = input.len() == 7 && input.as_bytes().get(4) == Some(&b'-');
        if is_month {
            let first: Date = format!("{input}-01").parse().ok()?;
            return self.day_range(first, first.last_of_month());
        }
        let has_only = |c: char| c.is_ascii_digit() || c == '-';
        let day: Date = input.parse().ok().filter(|_| input.chars().all(has_only))?;
        self.day_range(day, day)
    }
}

#[cfg(test)]
mod tests {
    use super::{TimeParseError, Timestamp, parse_time, parse_time_bounds, parse_time_zone};

    fn check_time(input: &str, name: &str, expected: (&str, &str)) {
        let zone = parse_time_zone(name).unwrap();
        let now = Timestamp::parse("2026-11-16T10:20:30Z").unwrap();
        let moment = parse_time(input, &zone, now).unwrap();
        let expected = (Timestamp::parse(expected.0).unwrap(), Timestamp::parse(expected.1).unwrap());
        assert_eq!((moment.from, moment.to), expected, "{input} in {name}");
    }

    #[test]
    fn days_are_whole_days_of_the_zone() {
        check_time("2026-11-16", "UTC", ("2026-11-16T00:00:00Z", "2026-11-17T00:00:00Z"));
        check_time("20261116", "Asia/Tokyo", ("2026-11-15T15:00:00Z", "2026-11-16T15:00:00Z"));
        check_time("today", "+05:30", ("2026-11-15T18:30:00Z", "2026-11-16T18:30:00Z"));
        check_time("yesterday", "Pacific/Auckland", ("2026-11-14T11:00:00Z", "2026-11-15T11:00:00Z"));
        check_time("0d", "UTC", ("2026-11-16T00:00:00Z", "2026-11-17T00:00:00Z"));
        check_time("7d", "UTC", ("2026-11-09T00:00:00Z", "2026-11-10T00:00:00Z"));
        check_time("2w", "UTC", ("2026-11-02T00:00:00Z", "2026-11-03T00:00:00Z"));
        check_time("2026-02", "UTC", ("2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"));
    }

    #[test]
    fn days_on_which_clocks_change_have_their_own_length() {
        check_time("2026-03-29", "Europe/Berlin", ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"));
        check_time("2026-10-25", "Europe/Berlin", ("2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"));
        // No midnight: clocks went from 23:59:59 to 01:00.
        check_time("2024-04-26", "Africa/Cairo", ("2024-04-25T22:00:00Z", "2024-04-26T21:00:00Z"));
    }

    #[test]
    fn points_in_time_are_exact() {
        for (input, at) in [
            ("now", "2026-11-16T10:20:30Z"),
            ("90s", "2026-11-16T10:19:00Z"),
            ("45m ago", "2026-11-16T09:35:30Z"),
            ("12h", "2026-11-15T22:20:30Z"),
            ("2026-11-16T09:30:00Z", "2026-11-16T09:30:00Z"),
            ("2026-11-16T09:30:00+02:00", "2026-11-16T07:30:00Z"),
            ("2026-11-16T09:30", "2026-11-16T08:30:00Z"),
            ("2026-11-16 09:30", "2026-11-16T08:30:00Z"),
        ] {
            check_time(input, "Europe/Berlin", (at, at));
        }
    }

    #[test]
    fn what_is_no_time_is_said() {
        let now = Timestamp::parse("2026-11-16T10:20:30Z").unwrap();
        let utc = parse_time_zone("UTC").unwrap();
        for input in
            ["", "soon", "7", "7x", "-3d", "2026-13-01", "2026-02-30", "2026-13", "99999999999999d", "d", "16.11.2026"]
        {
            assert_eq!(parse_time(input, &utc, now), Err(TimeParseError::Time(input.to_owned())), "{input}");
        }
        for name in ["", "Mars/Olympus", "25:00"] {
            assert_eq!(parse_time_zone(name), Err(TimeParseError::Zone(name.to_owned())));
        }
    }

    #[test]
    fn an_end_before_the_beginning_is_an_error() {
        let now = Timestamp::parse("2026-11-16T10:20:30Z").unwrap();
        let utc = parse_time_zone("UTC").unwrap();
        assert!(parse_time_bounds(Some("2026-11-16"), Some("2026-11-16"), &utc, now).is_ok());
        assert!(parse_time_bounds(Some("yesterday"), Some("now"), &utc, now).is_ok());
        assert!(parse_time_bounds(Some("today"), Some("yesterday"), &utc, now).is_err(), "both meet at midnight");
        assert!(parse_time_bounds(Some("today"), Some("2d"), &utc, now).is_err());
    }
}
