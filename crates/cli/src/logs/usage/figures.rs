//! Rows for people: their names and numbers.

use jiff::tz::TimeZone;
use switchboard_logs::usage::{Model, Row};

use crate::{
    sessions::tilde,
    view::{clean, figures},
};

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

/// What a row cost; what is not all of it is marked, and where nothing is known nothing is said.
pub fn cost(row: &Row) -> String {
    match (row.unpriced_models.is_empty(), row.cost_usd) {
        (true, cost) => money(cost),
        (false, 0.0) => "–".to_owned(),
        (false, cost) => money(cost) + "+",
    }
}

/// The same of one model.
pub fn part_cost(part: &Model) -> String {
    if part.is_unpriced { "–".to_owned() } else { money(part.cost_usd) }
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
    clean::line(&tilde(&row.key, home))
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
