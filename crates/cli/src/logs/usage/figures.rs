//! Rows for people: their names and numbers.

use jiff::tz::TimeZone;
use switchboard_logs::usage::Row;

use crate::view::{clean, figures};

/// A number in groups of three digits.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What a row cost; what is not all of it is marked.
pub fn cost(row: &Row) -> String {
    money(row.cost_usd) + if row.unpriced_models.is_empty() { "" } else { "+" }
}

/// An amount in cents; what is less than one is not nothing.
pub fn money(dollars: f64) -> String {
    match dollars {
        0.0 => "$0.00".to_owned(),
        ..0.01 => figures::dollars(dollars),
        _ => format!("${dollars:.2}"),
    }
}

/// What a row is called. A block is a time of the zone, and a folder is as people write it.
pub fn title(row: &Row, zone: &TimeZone, home: Option<&str>) -> String {
    if let Some(block) = &row.block {
        return clock(block.start.as_micros(), zone, "%Y-%m-%d %H:%M");
    }
    let inside =
        home.and_then(|home| row.key.strip_prefix(home)).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    clean::line(&inside.map_or_else(|| row.key.clone(), |rest| format!("~{rest}")))
}

/// A time of the zone.
pub fn clock(micros: i64, zone: &TimeZone, format: &str) -> String {
    let at = jiff::Timestamp::from_microsecond(micros).unwrap_or_default();
    zone.to_datetime(at).strftime(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::{grouped, money};

    #[test]
    fn numbers_are_for_people() {
        assert_eq!([0, 999, 1_000, 12_345, 1_234_567].map(grouped), ["0", "999", "1,000", "12,345", "1,234,567"]);
        assert_eq!(
            [0.0, 0.00012, 0.009, 0.01, 12.345, 1234.5].map(money),
            ["$0.00", "$0.0001", "$0.0090", "$0.01", "$12.35", "$1234.50"]
        );
    }
}
