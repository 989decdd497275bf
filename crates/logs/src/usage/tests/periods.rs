//! Days, weeks and months in time zones.

use super::{
    UsageGrouping,
    made::{LedgerBuilder, reply_at, usage_by},
};

#[test]
fn a_day_is_one_of_the_zone() {
    let made = LedgerBuilder::from_replies([
        reply_at("2026-11-16T23:30:00Z").input(1),
        reply_at("2026-11-15T22:59:59.999999Z").input(10),
        reply_at("2026-11-15T23:00:00Z").input(100),
        reply_at("2026-11-16T22:59:59Z").input(1_000),
    ]);
    let days = usage_by(&made, UsageGrouping::Day, "Europe/Berlin");
    assert_eq!(days.row_tokens(), [("2026-11-15", 10), ("2026-11-16", 1_100), ("2026-11-17", 1)]);
    let days = usage_by(&made, UsageGrouping::Day, "UTC");
    assert_eq!(days.row_tokens(), [("2026-11-15", 110), ("2026-11-16", 1_001)]);
    let days = usage_by(&made, UsageGrouping::Day, "America/Los_Angeles");
    assert_eq!(days.row_tokens(), [("2026-11-15", 110), ("2026-11-16", 1_001)]);
}

#[test]
fn days_on_which_clocks_change_have_23_and_25_hours() {
    let mut made = LedgerBuilder::from_replies([]);
    for day in ["2026-03-28", "2026-03-29", "2026-10-24", "2026-10-25"] {
        for hour in 0..24 {
            made.add_reply(reply_at(&format!("{day}T{hour:02}:30:00Z")).input(1));
        }
    }
    let days = usage_by(&made, UsageGrouping::Day, "Europe/Berlin");
    let expected = [
        ("2026-03-28", 23),
        ("2026-03-29", 23),
        ("2026-03-30", 2),
        ("2026-10-24", 22),
        ("2026-10-25", 25),
        ("2026-10-26", 1),
    ];
    assert_eq!(days.row_tokens(), expected);
    let hours = |row: &super::super::Row| row.end.unwrap().millis_since(row.start.unwrap()) / 3_600_000;
    assert_eq!(days.rows.iter().map(hours).collect::<Vec<_>>(), [24, 23, 24, 24, 25, 24]);
}

#[test]
fn a_day_without_midnight_is_a_day() {
    // Clocks went from 23:59:59 to 01:00.
    let made = LedgerBuilder::from_replies([
        reply_at("2024-04-25T21:59:59Z").input(1),
        reply_at("2024-04-25T22:00:00Z").input(10),
        reply_at("2024-04-26T20:59:59Z").input(100),
        reply_at("2024-04-26T21:00:00Z").input(1_000),
    ]);
    let days = usage_by(&made, UsageGrouping::Day, "Africa/Cairo");
    assert_eq!(days.row_tokens(), [("2024-04-25", 1), ("2024-04-26", 110), ("2024-04-27", 1_000)]);
}

#[test]
fn a_week_belongs_to_the_year_with_most_of_it() {
    let made = LedgerBuilder::from_replies([
        reply_at("2026-12-27T12:00:00Z").input(1),
        reply_at("2026-12-28T12:00:00Z").input(10),
        reply_at("2026-12-31T12:00:00Z").input(100),
        reply_at("2027-01-01T12:00:00Z").input(1_000),
        reply_at("2027-01-03T12:00:00Z").input(10_000),
        reply_at("2027-01-04T12:00:00Z").input(100_000),
    ]);
    let weeks = usage_by(&made, UsageGrouping::Week, "UTC");
    assert_eq!(weeks.row_tokens(), [("2026-W52", 1), ("2026-W53", 11_110), ("2027-W01", 100_000)]);
    assert_eq!(weeks.rows[1].start.unwrap().to_string(), "2026-12-28T00:00:00.000000Z");
    let months = usage_by(&made, UsageGrouping::Month, "UTC");
    assert_eq!(months.row_tokens(), [("2026-12", 111), ("2027-01", 111_000)]);
}

#[test]
fn the_first_times_there_are_have_days() {
    let made = LedgerBuilder::from_replies([
        reply_at("0001-01-01T00:00:00Z").input(1),
        reply_at("9999-12-30T21:59:59Z").input(2),
    ]);
    for (by, zone) in
        [(UsageGrouping::Day, "UTC"), (UsageGrouping::Week, "Asia/Tokyo"), (UsageGrouping::Month, "-11:00")]
    {
        let usage = usage_by(&made, by, zone);
        assert_eq!(usage.rows.iter().map(|row| row.total_tokens).collect::<Vec<_>>(), [1, 2], "{zone}");
    }
}

#[test]
fn replies_in_no_order_are_the_same() {
    let mut made = LedgerBuilder::from_replies([]);
    // A prime step visits all hours of eight weeks in scrambled order.
    for step in 0..1_344_i64 {
        let hour = step * 701 % 1_344;
        let at = jiff::Timestamp::from_second(1_760_000_000 + hour * 3_600).unwrap();
        made.add_reply(reply_at(&at.to_string()).input(1));
    }
    let days = usage_by(&made, UsageGrouping::Day, "America/New_York");
    let middle = &days.row_tokens()[1..days.rows.len() - 1];
    let odd: Vec<_> = middle.iter().filter(|(_, tokens)| *tokens != 24).collect();
    assert_eq!(odd, [&("2025-11-02", 25)]);
    assert_eq!(days.total.total_tokens, 1_344);
}
