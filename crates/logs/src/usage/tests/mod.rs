//! Sums over ledgers that were made for it.

mod blocks;
mod made;
mod money;
mod periods;
mod tools;

use made::{Made, ask, reply};

use super::{By, Order};

#[test]
fn every_kind_of_token_has_its_column() {
    let entry = reply("2026-11-16T10:00:00Z").input(1).output(20).cache(300, 4_000, 50_000).reasoning(7);
    let usage = ask(&Made::of([entry]), By::Agent, "UTC");
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
    let made = Made::of([
        reply("2026-11-16T10:00:00Z").model("cheap").input(10).project("/a"),
        reply("2026-11-16T11:00:00Z").model("dear").input(10).project("/b"),
        reply("2026-11-16T12:00:00Z").model("dear").input(5).project("/a"),
    ]);
    assert_eq!(ask(&made, By::Model, "UTC").keys(), ["dear", "cheap"]);
    let projects = ask(&made, By::Project, "UTC");
    assert_eq!(projects.keys(), ["/b", "/a"]);
    assert_eq!(projects.rows[1].models, ["cheap", "dear"], "the most used first");
    assert_eq!(projects.total.total_tokens, 25);
    assert_eq!(projects.total.replies, 3);
}

#[test]
fn what_has_no_name_has_a_row() {
    let made =
        Made::of([reply("2026-11-16T10:00:00Z").input(1), reply("2026-11-16T10:00:00Z").input(2).subagent("explore")]);
    assert_eq!(ask(&made, By::Subagent, "UTC").keys(), ["explore", "(main)"]);
    assert_eq!(ask(&made, By::Project, "UTC").keys(), ["(unknown)"]);
}

#[test]
fn rows_can_be_sorted() {
    let made = Made::of([
        reply("2026-11-16T10:00:00Z").session("b").input(10).model("dear"),
        reply("2026-11-18T10:00:00Z").session("c").input(11).model("cheap"),
        reply("2026-11-17T10:00:00Z").session("a").input(4).model("cheap"),
        reply("2026-11-17T11:00:00Z").session("a").input(4).model("cheap"),
    ]);
    let sorted = |order: Order| {
        let mut usage = ask(&made, By::Session, "UTC");
        order.sort(&mut usage.rows);
        usage.keys().join("")
    };
    assert_eq!(Order::ALL.map(sorted), ["abc", "cba", "bca", "abc", "cab"]);
}

#[test]
fn absurd_figures_are_no_end_of_it() {
    let entry = reply("2026-11-16T10:00:00Z").model("dear").input(u64::MAX).output(u64::MAX).cache(1, 1, u64::MAX);
    let made = Made::of([entry, reply("2026-11-16T10:00:00Z").input(3)]);
    for by in By::ALL {
        let usage = ask(&made, by, "UTC");
        assert_eq!(usage.total.total_tokens, u64::MAX);
        assert!(usage.total.cost_usd.is_finite());
    }
}

#[test]
fn nothing_is_nothing() {
    for by in By::ALL {
        let usage = ask(&Made::of([]), by, "UTC");
        assert!(usage.rows.is_empty() && usage.unpriced.is_empty());
        assert_eq!((usage.total.replies, usage.total.key.as_str()), (0, "total"));
    }
}
