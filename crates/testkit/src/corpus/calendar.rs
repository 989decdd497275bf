//! Days and times as logs write them, and which day it is elsewhere. By hand: the truth must not come from the code that
//! is tested.

/// Milliseconds of a day.
pub const DAY: i64 = 86_400_000;

/// Milliseconds of an hour.
pub const HOUR: i64 = 3_600_000;

/// The first moment of the corpus, in milliseconds since 1970: 20 October 2026.
pub const BEGIN: i64 = 1_792_454_400_000;

/// When summer ends in the middle of Europe: 25 October 2026, one o'clock.
const SUMMER_ENDS: i64 = 1_792_890_000_000;

/// Time zones whose days are in the truth.
pub const ZONES: &[&str] = &["UTC", "Asia/Kolkata", "America/Phoenix", "Europe/Berlin"];

/// How far a zone's clocks are before the sun's at Greenwich.
fn offset(zone: &str, at: i64) -> i64 {
    match zone {
        "Asia/Kolkata" => 5 * HOUR + HOUR / 2,
        "America/Phoenix" => -7 * HOUR,
        "Europe/Berlin" if at < SUMMER_ENDS => 2 * HOUR,
        "Europe/Berlin" => HOUR,
        _ => 0,
    }
}

/// The day in a zone, as `2026-10-20`.
#[must_use]
pub fn day(zone: &str, at: i64) -> String {
    let (year, month, day) = date(at + offset(zone, at));
    format!("{year:04}-{month:02}-{day:02}")
}

/// A time as RFC 3339, with milliseconds.
#[must_use]
pub fn stamp(at: i64) -> String {
    let (year, month, day) = date(at);
    let (hour, minute, second, milli) = clock(at);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Year, month and day.
#[must_use]
pub fn date(at: i64) -> (i64, i64, i64) {
    // Counted from 1 March of the year 0, so that the day that is sometimes missing is the last of a year.
    let days = at.div_euclid(DAY) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Hour, minute, second and millisecond.
#[must_use]
pub fn clock(at: i64) -> (i64, i64, i64, i64) {
    let of_day = at.rem_euclid(DAY);
    (of_day / HOUR, of_day / 60_000 % 60, of_day / 1_000 % 60, of_day % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(stamp(BEGIN), "2026-10-20T00:00:00.000Z");
        assert_eq!(stamp(SUMMER_ENDS), "2026-10-25T01:00:00.000Z");
        assert_eq!(stamp(1_772_323_199_999), "2026-02-28T23:59:59.999Z");
        assert_eq!(stamp(1_709_164_800_000), "2024-02-29T00:00:00.000Z");
    }

    #[test]
    fn days_begin_when_they_begin_there() {
        let late = BEGIN + 22 * HOUR + HOUR / 2;
        assert_eq!(day("UTC", late), "2026-10-20");
        assert_eq!(day("Asia/Kolkata", late), "2026-10-21");
        assert_eq!(day("America/Phoenix", BEGIN), "2026-10-19");
        assert_eq!(day("Europe/Berlin", late), "2026-10-21");
        assert_eq!(day("Europe/Berlin", late + 10 * DAY), "2026-10-30");
    }
}
