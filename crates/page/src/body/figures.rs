//! Durations, costs and token counts for display.

/// Formats a duration: `340 ms`, `1.2 s`, `3 min 5 s`, `2 h 10 min`.
pub(super) fn duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{seconds}.{} s", ms % 1_000 / 100),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Formats a cost: in cents from one dollar, with more digits below.
pub(super) fn money(usd: f64) -> String {
    if usd >= 1.0 || usd == 0.0 { format!("${usd:.2}") } else { format!("${usd:.4}") }
}

/// Formats a token count: `950`, `12.3k`, `4.5M`.
pub(super) fn tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, money, tokens};

    #[test]
    fn figures_are_short() {
        assert_eq!([340, 1_250, 185_000, 7_800_000].map(duration), ["340 ms", "1.2 s", "3 min 5 s", "2 h 10 min"]);
        assert_eq!([0.0, 0.0123, 12.345].map(money), ["$0.00", "$0.0123", "$12.35"]);
        assert_eq!([950, 12_345, 4_560_000].map(tokens), ["950", "12.3k", "4.5M"]);
    }
}
