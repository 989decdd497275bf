//! Stretches of five hours.

use super::{
    By,
    made::{Made, ask_at, reply},
};

#[test]
fn a_block_begins_at_the_full_hour_of_its_first_reply() {
    let made = Made::of([
        // The other blocks come first in the ledger: its replies are in no order.
        reply("2026-11-17T03:30:00Z").input(10_000),
        reply("2026-11-16T15:00:00Z").input(100),
        reply("2026-11-16T10:42:00Z").input(1),
        reply("2026-11-16T14:59:59.999999Z").input(10),
        reply("2026-11-16T19:59:00Z").input(1_000),
    ]);
    let blocks = ask_at(&made, By::Block, "Asia/Kolkata", "2026-11-18T00:00:00Z");
    let expected = [("2026-11-16T10:00:00Z", 11), ("2026-11-16T15:00:00Z", 1_100), ("2026-11-17T03:00:00Z", 10_000)];
    assert_eq!(blocks.tokens(), expected);
    let block = blocks.rows[0].block.as_ref().unwrap();
    assert_eq!(block.end.to_string(), "2026-11-16T15:00:00.000000Z");
    assert!(blocks.rows.iter().all(|row| !row.block.as_ref().unwrap().is_active));
    assert!(block.projection.is_none());
}

#[test]
fn the_current_block_has_a_rate_and_a_forecast() {
    let made = Made::of([
        reply("2026-11-16T10:30:00Z").model("dear").input(10_000),
        reply("2026-11-16T11:00:00Z").model("dear").input(50_000),
    ]);
    let blocks = ask_at(&made, By::Block, "UTC", "2026-11-16T12:30:00Z");
    let block = blocks.rows[0].block.as_ref().unwrap();
    assert!(block.is_active);
    // 60,000 tokens for 6 dollars in two hours, and two and a half to come.
    assert!((block.burn_rate.tokens_per_minute - 500.0).abs() < 1e-6);
    assert!((block.burn_rate.cost_usd_per_hour - 3.0).abs() < 1e-6);
    let projection = block.projection.as_ref().unwrap();
    assert_eq!((projection.total_tokens, projection.remaining_minutes), (135_000, 150));
    assert!((projection.cost_usd - 13.5).abs() < 1e-6);
}

#[test]
fn a_block_that_has_only_begun_does_not_burn_for_ever() {
    let made = Made::of([reply("2026-11-16T10:30:00Z").input(600)]);
    let blocks = ask_at(&made, By::Block, "UTC", "2026-11-16T10:30:00Z");
    assert!((blocks.rows[0].block.as_ref().unwrap().burn_rate.tokens_per_minute - 600.0).abs() < 1e-6);
    // A clock that is behind the log's is no reason for a negative time.
    let blocks = ask_at(&made, By::Block, "UTC", "2026-11-16T10:05:00Z");
    assert!((blocks.rows[0].block.as_ref().unwrap().burn_rate.tokens_per_minute - 600.0).abs() < 1e-6);
}
