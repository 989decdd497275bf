//! Builds report rows from groups.

use std::{cmp::Ordering, str::FromStr};

use switchboard_event::Timestamp;

use super::{
    Model, Row, Unpriced, Usage, UsageQuestion,
    aggregate::UsageGroup,
    periods,
    sums::{UsageSums, to_dollars},
};
use crate::{LedgerName, UsageLedger};

/// The key of a group.
pub enum GroupKey {
    /// The total of all replies.
    Total,
    /// A name in the ledger.
    Name(LedgerName),
    /// A placeholder for an empty name.
    Word(&'static str),
    /// A day, week or month.
    Period { name: String, from: Timestamp, to: Timestamp },
    /// The start of a block, in microseconds.
    Block(i64),
}

pub fn build_report(
    groups: Vec<UsageGroup>,
    mut total: UsageGroup,
    ledger: &UsageLedger,
    question: &UsageQuestion<'_>,
) -> Usage {
    let mut rows: Vec<Row> = groups.into_iter().map(|group| build_row(group, ledger, question)).collect();
    let order = if question.by.is_time_based() { UsageOrder::Key } else { UsageOrder::Cost };
    order.sort_rows(&mut rows);
    sort_models(&mut total.models);
    let lacking = total.models.iter().filter(|(_, sums)| sums.unpriced > 0);
    let unpriced = lacking.map(|(model, sums)| Unpriced {
        model: display_name(ledger, *model),
        total_tokens: sums.unpriced,
        replies: sums.replies,
    });
    Usage {
        unpriced: unpriced.collect(),
        total: build_row(total, ledger, question),
        rows,
        prices_of: question.prices.price_date().to_owned(),
    }
}

fn build_row(mut group: UsageGroup, ledger: &UsageLedger, question: &UsageQuestion<'_>) -> Row {
    sort_models(&mut group.models);
    let sums = group.total_sums();
    let mut row = Row { key: String::new(), ..sums_row(&sums) };
    row.calls = (question.by == UsageGrouping::Tool).then_some(sums.calls);
    row.agents = group.agents.iter().map(|agent| display_name(ledger, *agent)).collect();
    row.agents.sort_unstable();
    row.models = group.models.iter().map(|(model, _)| display_name(ledger, *model)).collect();
    let unpriced = group.models.iter().filter(|(_, sums)| sums.unpriced > 0);
    row.unpriced_models = unpriced.map(|(model, _)| display_name(ledger, *model)).collect();
    let parts = if question.breakdown { group.models.as_slice() } else { &[] };
    row.breakdown = parts.iter().map(|(model, sums)| model_part(display_name(ledger, *model), sums)).collect();
    set_row_key(&mut row, group.key, ledger, &sums, question.now);
    row
}

/// Most used first; the ledger's names have no order of their own.
fn sort_models(models: &mut [(LedgerName, UsageSums)]) {
    models.sort_unstable_by_key(|(model, sums)| (std::cmp::Reverse(sums.total_tokens()), *model));
}

fn sums_row(sums: &UsageSums) -> Row {
    Row {
        input_tokens: sums.input,
        output_tokens: sums.output,
        cache_read_tokens: sums.cache_read,
        cache_write_tokens: sums.cache_write.saturating_add(sums.cache_write_1h),
        reasoning_tokens: sums.reasoning,
        total_tokens: sums.total_tokens(),
        replies: sums.replies,
        cost_usd: to_dollars(sums.cost),
        cache_write_1h_tokens: sums.cache_write_1h,
        first_at: sums.span.map(|(first, _)| first),
        last_at: sums.span.map(|(_, last)| last),
        ..Row::default()
    }
}

fn model_part(model: String, sums: &UsageSums) -> Model {
    Model {
        model,
        input_tokens: sums.input,
        output_tokens: sums.output,
        cache_read_tokens: sums.cache_read,
        cache_write_tokens: sums.cache_write.saturating_add(sums.cache_write_1h),
        reasoning_tokens: sums.reasoning,
        total_tokens: sums.total_tokens(),
        replies: sums.replies,
        cost_usd: to_dollars(sums.cost),
        cache_write_1h_tokens: sums.cache_write_1h,
        is_unpriced: sums.unpriced > 0,
    }
}

fn set_row_key(row: &mut Row, key: GroupKey, ledger: &UsageLedger, sums: &UsageSums, now: Timestamp) {
    row.key = match key {
        GroupKey::Total => "total".to_owned(),
        GroupKey::Word(word) => word.to_owned(),
        GroupKey::Name(named) => ledger.resolve_name(named).to_owned(),
        GroupKey::Period { name, from, to } => {
            (row.start, row.end) = (Some(from), Some(to));
            name
        }
        GroupKey::Block(start) => {
            let block = periods::describe_block(start, sums, now);
            let key = block.start.to_string();
            row.block = Some(block);
            key.replace(".000000", "")
        }
    };
}

fn display_name(ledger: &UsageLedger, name: LedgerName) -> String {
    let text = ledger.resolve_name(name);
    if text.is_empty() { "(unknown)".to_owned() } else { text.to_owned() }
}

/// The grouping of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UsageGrouping {
    /// Days in the time zone.
    Day,
    /// ISO 8601 weeks, Monday to Sunday.
    Week,
    Month,
    /// Sessions, each with its subagents.
    Session,
    /// Working directories.
    Project,
    Model,
    Agent,
    /// Tools called by the replies.
    Tool,
    /// Subagents and the main agent.
    Subagent,
    /// Five-hour blocks, from the full hour of the first reply.
    Block,
}

impl UsageGrouping {
    pub const ALL: [Self; 10] = [
        Self::Day,
        Self::Week,
        Self::Month,
        Self::Session,
        Self::Project,
        Self::Model,
        Self::Agent,
        Self::Tool,
        Self::Subagent,
        Self::Block,
    ];

    /// Returns the name used in options and queries.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Session => "session",
            Self::Project => "project",
            Self::Model => "model",
            Self::Agent => "agent",
            Self::Tool => "tool",
            Self::Subagent => "subagent",
            Self::Block => "block",
        }
    }

    /// Returns a one-line description.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Day => "Days of the time zone",
            Self::Week => "Weeks from Monday on, as 2026-W47",
            Self::Month => "Months, as 2026-11",
            Self::Session => "Sessions, with their subagents",
            Self::Project => "Folders that were worked in",
            Self::Model => "Models",
            Self::Agent => "Agents",
            Self::Tool => "Tools that the replies called; `(answer)` called none",
            Self::Subagent => "Subagents; `(main)` is the agent itself",
            Self::Block => "Stretches of five hours, with the rate and the forecast of the current one",
        }
    }

    /// Returns whether groups are periods, so that rows have a natural order.
    #[must_use]
    pub fn is_time_based(self) -> bool {
        matches!(self, Self::Day | Self::Week | Self::Month | Self::Block)
    }
}

impl FromStr for UsageGrouping {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|by| by.as_str() == name).ok_or(())
    }
}

/// The order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageOrder {
    /// By key; days and months are then in order of time.
    Key,
    /// Most tokens first.
    Tokens,
    /// Most expensive first.
    Cost,
    /// Most replies first.
    Replies,
    /// Latest first.
    Recent,
}

impl UsageOrder {
    pub const ALL: [Self; 5] = [Self::Key, Self::Tokens, Self::Cost, Self::Replies, Self::Recent];

    /// Returns the name used in options and queries.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Replies => "replies",
            Self::Recent => "recent",
        }
    }

    /// Sorts rows; equal ones by key.
    pub fn sort_rows(self, rows: &mut [Row]) {
        let more_first = |a: &Row, b: &Row| match self {
            Self::Key => Ordering::Equal,
            Self::Tokens => b.total_tokens.cmp(&a.total_tokens),
            Self::Cost => b.cost_usd.total_cmp(&a.cost_usd).then(b.total_tokens.cmp(&a.total_tokens)),
            Self::Replies => b.replies.cmp(&a.replies),
            Self::Recent => b.last_at.cmp(&a.last_at),
        };
        rows.sort_by(|a, b| more_first(a, b).then_with(|| a.key.cmp(&b.key)));
    }
}

impl FromStr for UsageOrder {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|order| order.as_str() == name).ok_or(())
    }
}
