//! Costs of replies.

use super::{
    UsageGrouping,
    made::{LedgerBuilder, reply_at, usage_by},
};

fn assert_close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
}

#[test]
fn each_kind_of_token_has_its_price() {
    let entry =
        reply_at("2026-11-16T10:00:00Z").model("dear").input(1_000).output(100).cache(10_000, 10, 20).reasoning(50);
    let usage = usage_by(&LedgerBuilder::from_replies([entry]), UsageGrouping::Model, "UTC");
    // Input, output (which includes reasoning), cache read, short cache write, cache write for an hour.
    assert_close(usage.total.cost_usd, 0.1 + 0.02 + 0.1 + 0.00125 + 0.004);
}

#[test]
fn what_the_agent_says_counts() {
    let at = "2026-11-16T10:00:00Z";
    let made = LedgerBuilder::from_replies([
        reply_at(at).session("said").model("dear").input(1_000_000).cost(0.25),
        reply_at(at).session("free, or paid by a subscription").model("cheap").input(1_000_000).cost(0.0),
        reply_at(at).session("free, and unheard of").model("gift").input(1_000_000).cost(0.0),
        reply_at(at).session("nonsense").model("dear").input(1_000).cost(f64::NAN),
        reply_at(at).session("negative").model("dear").input(1_000).cost(-1.0),
    ]);
    let usage = usage_by(&made, UsageGrouping::Session, "UTC");
    let cost = |key: &str| usage.rows.iter().find(|row| row.key == key).unwrap().cost_usd;
    assert_close(cost("said"), 0.25);
    assert_close(cost("free, or paid by a subscription"), 1.0);
    assert_close(cost("free, and unheard of"), 0.0);
    assert_close(cost("nonsense"), 0.1);
    assert_close(cost("negative"), 0.1);
    // It may be free, or unknown to the agent as well.
    assert_eq!(usage.unpriced.iter().map(|model| model.model.as_str()).collect::<Vec<_>>(), ["gift"]);
}

#[test]
fn models_without_a_price_are_listed() {
    let at = "2026-11-16T10:00:00Z";
    let made = LedgerBuilder::from_replies([
        reply_at(at).model("unheard-of").input(5),
        reply_at(at).model("unheard-of").output(6),
        reply_at(at).model("neither").input(100),
        reply_at(at).input(1),
        reply_at(at).model("never-used"),
        reply_at(at).model("cheap").input(1_000_000),
    ]);
    let usage = usage_by(&made, UsageGrouping::Day, "UTC");
    let unpriced: Vec<_> =
        usage.unpriced.iter().map(|model| (model.model.as_str(), model.total_tokens, model.replies)).collect();
    assert_eq!(unpriced, [("neither", 100, 1), ("unheard-of", 11, 2), ("(unknown)", 1, 1)]);
    assert_eq!(usage.rows[0].unpriced_models, ["neither", "unheard-of", "(unknown)"]);
    assert_close(usage.rows[0].cost_usd, 1.0);
    assert_eq!(usage.prices_of, "2026-01-02");
}

#[test]
fn the_order_of_replies_does_not_change_a_cent() {
    let replies: Vec<_> = (1..200_u64)
        .map(|number| reply_at("2026-11-16T10:00:00Z").model("dear").input(number * 7_919).cost(0.1 * number as f64))
        .collect();
    let (mut there, mut back) = (LedgerBuilder::from_replies([]), LedgerBuilder::from_replies([]));
    replies.iter().for_each(|reply| there.add_reply(reply.clone()));
    replies.iter().rev().for_each(|reply| back.add_reply(reply.clone()));
    let cost = |made: &LedgerBuilder| usage_by(made, UsageGrouping::Day, "UTC").total.cost_usd.to_bits();
    assert_eq!(cost(&there), cost(&back));
}

#[test]
fn parts_by_model_add_up() {
    let made = LedgerBuilder::from_replies([
        reply_at("2026-11-16T10:00:00Z").model("dear").input(5),
        reply_at("2026-11-16T11:00:00Z").model("cheap").input(7).output(1),
        reply_at("2026-11-16T12:00:00Z").model("dear").cache(1, 2, 3),
    ]);
    let usage = usage_by(&made, UsageGrouping::Day, "UTC");
    let parts: Vec<_> =
        usage.rows[0].breakdown.iter().map(|part| (part.model.as_str(), part.total_tokens, part.replies)).collect();
    assert_eq!(parts, [("dear", 11, 2), ("cheap", 8, 1)]);
    assert_eq!(usage.rows[0].models, ["dear", "cheap"]);
}
