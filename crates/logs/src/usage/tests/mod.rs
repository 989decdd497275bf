//! Aggregation of test ledgers.

mod blocks;
mod made;
mod money;
mod periods;
mod tools;

use made::{LedgerBuilder, reply_at, usage_by};

use super::{UsageGrouping, UsageOrder};

#[test]
fn every_kind_of_token_has_its_column() {
    let entry = reply_at("2026-11-16T10:00:00Z").input(1).output(20).cache(300, 4_000, 50_000).reasoning(7);
    let usage = usage_by(&LedgerBuilder::from_replies([entry]), UsageGrouping::Agent, "UTC");
    let row = serde_json::to_value(&usage.rows[0]).unwrap();
    for (field, expected) in [
        ("inputTokens", 1),
        ("outputTokens", 20),
        ("cacheReadTokens", 300),
        ("cacheWriteTokens", 54_000),
        ("cacheWrite1hTokens", 50_000),
        ("reasoningTokens", 7),
        ("totalTokens", 54_321),
        ("replies", 1),
    ] {
        assert_eq!(row[field], expected, "{field}");
    }
    assert!(row["costUsd"].is_f64() && row["key"] == "an-agent");
}

#[test]
fn names_make_rows_the_most_expensive_first() {
    let made = LedgerBuilder::from_replies([
        reply_at("2026-11-16T10:00:00Z").model("cheap").input(10).project("/a"),
        reply_at("2026-11-16T11:00:00Z").model("dear").input(10).project("/b"),
        reply_at("2026-11-16T12:00:00Z").model("dear").input(5).project("/a"),
    ]);
    assert_eq!(usage_by(&made, UsageGrouping::Model, "UTC").row_keys(), ["dear", "cheap"]);
    let projects = usage_by(&made, UsageGrouping::Project, "UTC");
    assert_eq!(projects.row_keys(), ["/b", "/a"]);
    assert_eq!(projects.rows[1].models, ["cheap", "dear"], "the most used first");
    assert_eq!(projects.total.total_tokens, 25);
    assert_eq!(projects.total.replies, 3);
}

#[test]
fn what_has_no_name_has_a_row() {
    let made = LedgerBuilder::from_replies([
        reply_at("2026-11-16T10:00:00Z").input(1),
        reply_at("2026-11-16T10:00:00Z").input(2).subagent("explore"),
    ]);
    assert_eq!(usage_by(&made, UsageGrouping::Subagent, "UTC").row_keys(), ["explore", "(main)"]);
    assert_eq!(usage_by(&made, UsageGrouping::Project, "UTC").row_keys(), ["(unknown)"]);
}

#[test]
fn rows_can_be_sorted() {
    let made = LedgerBuilder::from_replies([
        reply_at("2026-11-16T10:00:00Z").session("b").input(10).model("dear"),
        reply_at("2026-11-18T10:00:00Z").session("c").input(11).model("cheap"),
        reply_at("2026-11-17T10:00:00Z").session("a").input(4).model("cheap"),
        reply_at("2026-11-17T11:00:00Z").session("a").input(4).model("cheap"),
    ]);
    let sorted = |order: UsageOrder| {
        let mut usage = usage_by(&made, UsageGrouping::Session, "UTC");
        order.sort_rows(&mut usage.rows);
        usage.row_keys().join("")
    };
    assert_eq!(UsageOrder::ALL.map(sorted), ["abc", "cba", "bca", "abc", "cab"]);
}

#[test]
fn absurd_figures_are_no_end_of_it() {
    let entry = reply_at("2026-11-16T10:00:00Z").model("dear").input(u64::MAX).output(u64::MAX).cache(1, 1, u64::MAX);
    let made = LedgerBuilder::from_replies([entry, reply_at("2026-11-16T10:00:00Z").input(3)]);
    for by in UsageGrouping::ALL {
        let usage = usage_by(&made, by, "UTC");
        assert_eq!(usage.total.total_tokens, u64::MAX);
        assert!(usage.total.cost_usd.is_finite());
    }
}

#[test]
fn nothing_is_nothing() {
    for by in UsageGrouping::ALL {
        let usage = usage_by(&LedgerBuilder::from_replies([]), by, "UTC");
        assert!(usage.rows.is_empty() && usage.unpriced.is_empty());
        assert_eq!((usage.total.replies, usage.total.key.as_str()), (0, "total"));
    }
}
