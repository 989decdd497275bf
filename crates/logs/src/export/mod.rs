//! Exports sessions as pages and tables, with secrets removed. Pure: no file access, no clock.

pub mod csv;
pub mod html;
pub mod markdown;
pub mod rebuild;
mod redact;
pub mod story;

use jiff::tz::TimeZone;
use switchboard_event::{Timestamp, Usage};

pub use redact::Redactor;
pub use story::TranscriptDocument;

/// Appends one character in visible form. Line feeds and tabs stay; carriage returns are dropped.
fn push_visible(c: char, out: &mut String) {
    match c {
        '\n' | '\t' => out.push(c),
        '\r' => {}
        '\0'..='\x1f' => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
        '\x7f' => out.push('\u{2421}'),
        c if is_direction_control(c) || ('\u{80}'..='\u{9f}').contains(&c) => {
            out.push_str(&format!("[U+{:04X}]", u32::from(c)))
        }
        c => out.push(c),
    }
}

/// Returns whether a character changes the text direction or breaks a line.
fn is_direction_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Makes a whole text visible and strips ANSI color sequences.
fn visible_text(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("\x1b[") {
        before.chars().for_each(|c| push_visible(c, &mut out));
        // A sequence ends at its final letter; an incomplete one is shown.
        let end = after.find(|c: char| !(' '..='?').contains(&c));
        rest = match end.and_then(|end| after.split_at_checked(end)) {
            Some((_, tail)) if tail.starts_with(|c: char| ('@'..='~').contains(&c)) => {
                tail.get(1..).unwrap_or_default()
            }
            _ => {
                out.push_str("␛[");
                after
            }
        };
    }
    rest.chars().for_each(|c| push_visible(c, &mut out));
    out
}

/// Makes a text visible on a single line.
pub(crate) fn visible_line(given: &str) -> String {
    visible_text(given.trim()).replace(['\n', '\t'], " ")
}

/// Formats a time as `2026-11-16 10:04` in a time zone.
#[must_use]
pub fn format_minute(at: Timestamp, zone: &TimeZone) -> String {
    let time = jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or_default().to_zoned(zone.clone());
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// Formats the usage and duration, as far as they are known.
fn format_usage(usage: &Usage, duration_ms: Option<u64>) -> String {
    let mut words = Vec::new();
    if usage.all_input() > 0 || usage.output > 0 {
        let cached =
            if usage.cache_read > 0 { format!(" ({} cached)", group_digits(usage.cache_read)) } else { String::new() };
        words.push(format!("{} tokens in{cached}", group_digits(usage.all_input())));
        words.push(format!("{} out", group_digits(usage.output)));
    }
    words.extend(usage.cost_usd.filter(|cost| *cost > 0.0).map(|cost| format!("${cost:.4}")));
    words.extend(duration_ms.filter(|millis| *millis > 0).map(format_duration));
    words.join(" · ")
}

/// Formats a duration as `0.4 s`, `2 m 05 s` or `1 h 02 m`.
fn format_duration(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0..60 => format!("{seconds}.{} s", millis % 1_000 / 100),
        60..3_600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// Formats a number as `1,234,567`.
fn group_digits(number: u64) -> String {
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
    use super::{format_duration, group_digits};

    #[test]
    fn numbers_have_groups_of_three() {
        assert_eq!(
            [0, 999, 1_000, 12_345, 123_456, 1_234_567].map(group_digits),
            ["0", "999", "1,000", "12,345", "123,456", "1,234,567"]
        );
        assert_eq!([400, 125_000, 3_720_000].map(format_duration), ["0.4 s", "2 m 05 s", "1 h 02 m"]);
    }
}
