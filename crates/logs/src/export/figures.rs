//! Numbers and times on pages: short, and always in the same form.

use jiff::tz::TimeZone;
use switchboard_event::{Timestamp, Usage};

/// `2026-11-16 10:04`, in a time zone.
#[must_use]
pub fn minute(at: Timestamp, zone: &TimeZone) -> String {
    let time = jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or_default().to_zoned(zone.clone());
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// What was used, and how long it took, as far as it is known.
pub(super) fn used(usage: &Usage, duration_ms: Option<u64>) -> String {
    let mut words = Vec::new();
    if usage.all_input() > 0 || usage.output > 0 {
        let cached =
            if usage.cache_read > 0 { format!(" ({} cached)", grouped(usage.cache_read)) } else { String::new() };
        words.push(format!("{} tokens in{cached}", grouped(usage.all_input())));
        words.push(format!("{} out", grouped(usage.output)));
    }
    words.extend(usage.cost_usd.filter(|cost| *cost > 0.0).map(|cost| format!("${cost:.4}")));
    words.extend(duration_ms.filter(|millis| *millis > 0).map(took));
    words.join(" · ")
}

/// `0.4 s`, `2 m 05 s`, `1 h 02 m`.
pub(super) fn took(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0..60 => format!("{seconds}.{} s", millis % 1_000 / 100),
        60..3_600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && at % 3 == first {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{grouped, took};

    #[test]
    fn numbers_have_groups_of_three() {
        assert_eq!(
            [0, 999, 1_000, 12_345, 123_456, 1_234_567].map(grouped),
            ["0", "999", "1,000", "12,345", "123,456", "1,234,567"]
        );
        assert_eq!([400, 125_000, 3_720_000].map(took), ["0.4 s", "2 m 05 s", "1 h 02 m"]);
    }
}
