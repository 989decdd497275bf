//! By tool: every token belongs to one.

use super::{
    UsageGrouping,
    made::{LedgerBuilder, reply_at, usage_by},
};

#[test]
fn tokens_are_divided_among_calls() {
    let made = LedgerBuilder::from_replies([
        reply_at("2026-11-16T10:00:00Z").input(10).output(11).tools(&["read", "run", "read"]),
        reply_at("2026-11-16T10:00:00Z").input(5).tools(&["run"]),
        reply_at("2026-11-16T10:00:00Z").input(7),
    ]);
    let tools = usage_by(&made, UsageGrouping::Tool, "UTC");
    let mut rows: Vec<_> = tools
        .rows
        .iter()
        .map(|row| (row.key.as_str(), row.input_tokens, row.output_tokens, row.calls, row.replies))
        .collect();
    rows.sort_unstable();
    // Of 10 input and 11 output tokens in three calls, the first tool gets two parts and the remainder.
    let expected = [("(answer)", 7, 0, Some(0), 1), ("read", 7, 8, Some(2), 1), ("run", 8, 3, Some(2), 2)];
    assert_eq!(rows, expected);
    assert_eq!((tools.total.replies, tools.total.calls), (3, Some(4)), "a reply is one, whatever it calls");
}

#[test]
fn rows_add_up_to_the_total() {
    let names = ["read", "run", "edit", "search", "ask"];
    let mut made = LedgerBuilder::from_replies([]);
    for number in 0..500_u64 {
        let calls: Vec<&str> =
            (0..number % 8).map(|call| names[usize::try_from((number * 7 + call * call) % 5).unwrap()]).collect();
        let model = if number % 3 == 0 { "dear" } else { "unheard-of" };
        let entry =
            reply_at("2026-11-16T10:00:00Z").model(model).tools(&calls).input(number * 13 + 1).output(number * 7 + 3);
        made.add_reply(entry.cache(number * 101, number % 17, number % 5).reasoning(number % 11));
    }
    let days = usage_by(&made, UsageGrouping::Day, "UTC");
    let tools = usage_by(&made, UsageGrouping::Tool, "UTC");
    assert_eq!(tools.total.total_tokens, days.total.total_tokens);
    let sum = |field: fn(&super::super::Row) -> u64| (tools.rows.iter().map(field).sum::<u64>(), field(&tools.total));
    for (rows, total) in [
        sum(|row| row.input_tokens),
        sum(|row| row.output_tokens),
        sum(|row| row.cache_read_tokens),
        sum(|row| row.cache_write_tokens),
        sum(|row| row.cache_write_1h_tokens),
        sum(|row| row.reasoning_tokens),
        sum(|row| row.total_tokens),
        sum(|row| row.calls.unwrap()),
    ] {
        assert_eq!(rows, total);
    }
    let cost: f64 = tools.rows.iter().map(|row| row.cost_usd).sum();
    assert!((cost - tools.total.cost_usd).abs() < 1e-9, "{cost}");
    assert!(tools.rows.iter().any(|row| row.key == "(answer)" && row.calls == Some(0)));
}
