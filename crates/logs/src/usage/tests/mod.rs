//! Aggregation of test ledgers.

use switchboard_event::Timestamp;

use super::{TokenPrices, Usage, UsageGrouping, UsageOrder, UsageQuestion, aggregate_usage};
use crate::{LedgerEntry, LedgerName, UsageLedger, when};

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
    let hours = |row: &super::Row| row.end.unwrap().millis_since(row.start.unwrap()) / 3_600_000;
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
    let sum = |field: fn(&super::Row) -> u64| (tools.rows.iter().map(field).sum::<u64>(), field(&tools.total));
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

struct LedgerBuilder(pub UsageLedger);

/// A reply with its names as text.
#[derive(Clone, Default)]
struct ReplyBuilder {
    entry: LedgerEntry,
    names: [String; 6],
    tools: Vec<String>,
}

/// Creates a reply of an agent at a time.
fn reply_at(at: &str) -> ReplyBuilder {
    let entry = LedgerEntry { at: Timestamp::parse(at).unwrap(), ..LedgerEntry::default() };
    ReplyBuilder { entry, ..ReplyBuilder::default() }.agent("an-agent")
}

impl ReplyBuilder {
    fn with_name(mut self, place: usize, name: &str) -> Self {
        name.clone_into(&mut self.names[place]);
        self
    }

    pub fn agent(self, name: &str) -> Self {
        self.with_name(0, name)
    }

    pub fn session(self, name: &str) -> Self {
        self.with_name(1, name)
    }

    pub fn subagent(self, name: &str) -> Self {
        self.with_name(2, name)
    }

    pub fn project(self, name: &str) -> Self {
        self.with_name(3, name)
    }

    pub fn model(self, name: &str) -> Self {
        self.with_name(4, name)
    }

    pub fn input(mut self, tokens: u64) -> Self {
        self.entry.input = tokens;
        self
    }

    pub fn output(mut self, tokens: u64) -> Self {
        self.entry.output = tokens;
        self
    }

    pub fn reasoning(mut self, tokens: u64) -> Self {
        self.entry.reasoning = tokens;
        self
    }

    pub fn cache(mut self, read: u64, write: u64, write_1h: u64) -> Self {
        (self.entry.cache_read, self.entry.cache_write, self.entry.cache_write_1h) = (read, write, write_1h);
        self
    }

    pub fn cost(mut self, dollars: f64) -> Self {
        self.entry.cost_usd = Some(dollars);
        self
    }

    pub fn tools(mut self, names: &[&str]) -> Self {
        self.tools = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }
}

impl LedgerBuilder {
    fn from_replies<const N: usize>(replies: [ReplyBuilder; N]) -> Self {
        let mut made = Self(UsageLedger { names: vec![String::new()], entries: Vec::new(), tools: vec![Vec::new()] });
        replies.into_iter().for_each(|reply| made.add_reply(reply));
        made
    }

    fn add_reply(&mut self, reply: ReplyBuilder) {
        let [agent, session, subagent, project, model, machine] = reply.names.map(|name| self.intern_name(&name));
        let tools: Vec<LedgerName> = reply.tools.iter().map(|tool| self.intern_name(tool)).collect();
        let place = self.0.tools.iter().position(|list| *list == tools).unwrap_or(self.0.tools.len());
        if place == self.0.tools.len() {
            self.0.tools.push(tools);
        }
        let tools = u32::try_from(place).unwrap();
        self.0.entries.push(LedgerEntry { agent, machine, session, subagent, project, model, tools, ..reply.entry });
    }

    fn intern_name(&mut self, name: &str) -> LedgerName {
        let place = self.0.names.iter().position(|known| known == name).unwrap_or(self.0.names.len());
        if place == self.0.names.len() {
            self.0.names.push(name.to_owned());
        }
        LedgerName(u32::try_from(place).unwrap())
    }
}

/// Two models have a price: `cheap` costs a dollar per million tokens, `dear` a hundred.
const PRICES_JSON: &str = r#"{"date":"2026-01-02","models":{
    "cheap":{"input":1,"output":1,"cacheRead":1},
    "dear":{"input":100,"output":200,"cacheRead":10,"cacheWrite":125,"cacheWrite1h":200}}}"#;

/// Returns the usage at noon of a fixed day.
fn usage_by(made: &LedgerBuilder, by: UsageGrouping, zone: &str) -> Usage {
    usage_by_at(made, by, zone, "2026-11-16T12:00:00Z")
}

/// Returns the usage at a given time.
fn usage_by_at(made: &LedgerBuilder, by: UsageGrouping, zone: &str, now: &str) -> Usage {
    let prices = TokenPrices::default().with_overrides(PRICES_JSON).unwrap();
    let (zone, now) = (when::parse_time_zone(zone).unwrap(), Timestamp::parse(now).unwrap());
    aggregate_usage(&made.0, &UsageQuestion { by, zone: &zone, now, prices: &prices, breakdown: true })
}

impl Usage {
    fn row_keys(&self) -> Vec<&str> {
        self.rows.iter().map(|row| row.key.as_str()).collect()
    }

    fn row_tokens(&self) -> Vec<(&str, u64)> {
        self.rows.iter().map(|row| (row.key.as_str(), row.total_tokens)).collect()
    }
}
