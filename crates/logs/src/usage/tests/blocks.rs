//! Five-hour blocks.

use super::{
    UsageGrouping,
    made::{LedgerBuilder, reply_at, usage_by_at},
};

#[test]
fn a_block_begins_at_the_full_hour_of_its_first_reply() {
    let made = LedgerBuilder::from_replies([
        // The other blocks come first in the ledger: its replies are in no particular order.
        reply_at("2026-11-17T03:30:00Z").input(10_000),
        reply_at("2026-11-16T15:00:00Z").input(100),
        reply_at("2026-11-16T10:42:00Z").input(1),
        reply_at("2026-11-16T14:59:59.999999Z").input(10),
        reply_at("2026-11-16T19:59:00Z").input(1_000),
    ]);
    let blocks = usage_by_at(&made, UsageGrouping::Block, "Asia/Kolkata", "2026-11-18T00:00:00Z");
    let expected = [("2026-11-16T10:00:00Z", 11), ("2026-11-16T15:00:00Z", 1_100), ("2026-11-17T03:00:00Z", 10_000)];
    assert_eq!(blocks.row_tokens(), expected);
    let block = blocks.rows[0].block.as_ref().unwrap();
    assert_eq!(block.end.to_string(), "2026-11-16T15:00:00.000000Z");
    assert!(blocks.rows.iter().all(|row| !row.block.as_ref().unwrap().is_active));
    assert!(block.projection.is_none());
}

#[test]
fn the_current_block_has_a_rate_and_a_forecast() {
    let made = LedgerBuilder::from_replies([
        reply_at("2026-11-16T10:30:00Z").model("dear").input(10_000),
        reply_at("2026-11-16T11:00:00Z").model("dear").input(50_000),
    ]);
    let blocks = usage_by_at(&made, UsageGrouping::Block, "UTC", "2026-11-16T12:30:00Z");
    let block = blocks.rows[0].block.as_ref().unwrap();
    assert!(block.is_active);
    // 60,000 tokens for 6 dollars in two hours, with two and a half hours left.
    assert!((block.burn_rate.tokens_per_minute - 500.0).abs() < 1e-6);
    assert!((block.burn_rate.cost_usd_per_hour - 3.0).abs() < 1e-6);
    let projection = block.projection.as_ref().unwrap();
    assert_eq!((projection.total_tokens, projection.remaining_minutes), (135_000, 150));
    assert!((projection.cost_usd - 13.5).abs() < 1e-6);
}

#[test]
fn a_block_that_has_only_begun_does_not_burn_for_ever() {
    let made = LedgerBuilder::from_replies([reply_at("2026-11-16T10:30:00Z").input(600)]);
    let blocks = usage_by_at(&made, UsageGrouping::Block, "UTC", "2026-11-16T10:30:00Z");
    assert!((blocks.rows[0].block.as_ref().unwrap().burn_rate.tokens_per_minute - 600.0).abs() < 1e-6);
    // A clock behind the log's must not cause a negative duration.
    let blocks = usage_by_at(&made, UsageGrouping::Block, "UTC", "2026-11-16T10:05:00Z");
    assert!((blocks.rows[0].block.as_ref().unwrap().burn_rate.tokens_per_minute - 600.0).abs() < 1e-6);
}
