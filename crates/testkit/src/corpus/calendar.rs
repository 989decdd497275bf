//! Dates and times in log formats, and days in time zones. Written by hand, because the truth must not come from the
//! code under test.

pub const DAY_MS: i64 = 86_400_000;

pub const HOUR_MS: i64 = 3_600_000;

/// 20 October 2026.
pub const CORPUS_BEGIN_MS: i64 = 1_792_454_400_000;

/// End of summer time in Central Europe: 25 October 2026, 01:00 UTC.
const SUMMER_TIME_END_MS: i64 = 1_792_890_000_000;

/// Time zones whose days are in the truth.
pub const TIME_ZONES: &[&str] = &["UTC", "Asia/Kolkata", "America/Phoenix", "Europe/Berlin"];

fn zone_offset_ms(zone: &str, at: i64) -> i64 {
    match zone {
        "Asia/Kolkata" => 5 * HOUR_MS + HOUR_MS / 2,
        "America/Phoenix" => -7 * HOUR_MS,
        "Europe/Berlin" if at < SUMMER_TIME_END_MS => 2 * HOUR_MS,
        "Europe/Berlin" => HOUR_MS,
        _ => 0,
    }
}

/// Formats the day in a zone, as `2026-10-20`.
#[must_use]
pub fn format_day(zone: &str, at: i64) -> String {
    let (year, month, day) = civil_date(at + zone_offset_ms(zone, at));
    format!("{year:04}-{month:02}-{day:02}")
}

/// Formats a time as RFC 3339 with milliseconds.
#[must_use]
pub fn format_timestamp(at: i64) -> String {
    let (year, month, day) = civil_date(at);
    let (hour, minute, second, milli) = time_of_day(at);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Returns year, month and day.
#[must_use]
pub fn civil_date(at: i64) -> (i64, i64, i64) {
    // Counted from 1 March of the year 0, so that the leap day is the last of a year.
    let days = at.div_euclid(DAY_MS) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Returns hour, minute, second and millisecond.
#[must_use]
pub fn time_of_day(at: i64) -> (i64, i64, i64, i64) {
    let of_day = at.rem_euclid(DAY_MS);
    (of_day / HOUR_MS, of_day / 60_000 % 60, of_day / 1_000 % 60, of_day % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(format_timestamp(CORPUS_BEGIN_MS), "2026-10-20T00:00:00.000Z");
        assert_eq!(format_timestamp(SUMMER_TIME_END_MS), "2026-10-25T01:00:00.000Z");
        assert_eq!(format_timestamp(1_772_323_199_999), "2026-02-28T23:59:59.999Z");
        assert_eq!(format_timestamp(1_709_164_800_000), "2024-02-29T00:00:00.000Z");
    }

    #[test]
    fn days_begin_when_they_begin_there() {
        let late = CORPUS_BEGIN_MS + 22 * HOUR_MS + HOUR_MS / 2;
        assert_eq!(format_day("UTC", late), "2026-10-20");
        assert_eq!(format_day("Asia/Kolkata", late), "2026-10-21");
        assert_eq!(format_day("America/Phoenix", CORPUS_BEGIN_MS), "2026-10-19");
        assert_eq!(format_day("Europe/Berlin", late), "2026-10-21");
        assert_eq!(format_day("Europe/Berlin", late + 10 * DAY_MS), "2026-10-30");
    }
}
