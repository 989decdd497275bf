//! Numbers for people: tokens, bytes, money, durations.

/// Formats a number of tokens: `950`, `12.3k`, `1.2M`, `5.0G`.
pub fn format_tokens(count: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let exact = count as f64;
    match count {
        0..1_000 => count.to_string(),
        1_000..99_950 => format!("{:.1}k", exact / 1e3),
        99_950..999_500 => format!("{:.0}k", exact / 1e3),
        999_500..999_950_000 => format!("{:.1}M", exact / 1e6),
        _ => format!("{:.1}G", exact / 1e9),
    }
}

/// Formats a size: `512 B`, `1.5 kB`, `12.3 MB`.
pub fn format_bytes(count: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let exact = count as f64;
    match count {
        0..1_000 => format!("{count} B"),
        1_000..1_000_000 => format!("{:.1} kB", exact / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", exact / 1e6),
        _ => format!("{:.2} GB", exact / 1e9),
    }
}

/// Formats an amount: `$0.0031`, `$0.25`, `$12.50`.
pub fn format_dollars(amount: f64) -> String {
    if amount != 0.0 && amount.abs() < 0.1 { format!("${amount:.4}") } else { format!("${amount:.2}") }
}

/// Formats a duration: `0.3 s`, `12.4 s`, `3 m 05 s`, `1 h 02 m`.
pub fn format_duration(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0..60 => format!("{seconds}.{} s", millis % 1_000 / 100),
        60..3_600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// Returns `1 line`, `2 lines`.
pub fn pluralize(number: usize, of: &str) -> String {
    if number == 1 { format!("1 {of}") } else { format!("{number} {of}s") }
}

/// Formats an age in one unit.
pub fn format_age(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {

    use super::{format_age, format_bytes, format_dollars, format_duration, format_tokens};

    #[test]
    fn ages_have_one_unit() {
        let shown = [0, 59_999, 60_000, 3_600_000, 172_799_000, 172_800_000].map(format_age);
        assert_eq!(shown, ["0 s", "59 s", "1 min", "1 h", "47 h", "2 d"]);
    }

    #[test]
    fn numbers_are_short() {
        let shown =
            [999, 1_000, 12_345, 99_949, 99_950, 999_499, 999_500, 12_345_678, 5_000_000_000].map(format_tokens);
        assert_eq!(shown, ["999", "1.0k", "12.3k", "99.9k", "100k", "999k", "1.0M", "12.3M", "5.0G"]);
        assert_eq!([0.0, 0.003_13, 0.25, 12.5].map(format_dollars), ["$0.00", "$0.0031", "$0.25", "$12.50"]);
        assert_eq!([0, 999, 1_500, 12_345_678].map(format_bytes), ["0 B", "999 B", "1.5 kB", "12.3 MB"]);
        let shown = [0, 307, 59_999, 60_000, 3_725_000].map(format_duration);
        assert_eq!(shown, ["0.0 s", "0.3 s", "59.9 s", "1 m 00 s", "1 h 02 m"]);
    }
}
