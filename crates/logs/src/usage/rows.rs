//! Makes rows of what was gathered.

use switchboard_event::Timestamp;

use super::{
    By, Model, Order, Question, Row, Unpriced, Usage, blocks,
    gather::Group,
    sums::{Sums, dollars},
};
use crate::{Ledger, Name};

/// What a group is called, until it is written.
pub enum Key {
    /// All of it.
    Total,
    /// A name of the ledger.
    Name(Name),
    /// What stands for no name.
    Word(&'static str),
    /// A day, a week or a month.
    Period { name: String, from: Timestamp, to: Timestamp },
    /// A block, by its beginning.
    Block(i64),
}

/// The rows of what was gathered.
pub fn rows(groups: Vec<Group>, mut total: Group, ledger: &Ledger, question: &Question<'_>) -> Usage {
    let mut rows: Vec<Row> = groups.into_iter().map(|group| row(group, ledger, question)).collect();
    let order = if question.by.is_time() { Order::Key } else { Order::Cost };
    order.sort(&mut rows);
    sort(&mut total.models);
    let lacking = total.models.iter().filter(|(_, sums)| sums.unpriced > 0);
    let unpriced = lacking.map(|(model, sums)| Unpriced {
        model: name(ledger, *model),
        total_tokens: sums.unpriced,
        replies: sums.replies,
    });
    Usage {
        unpriced: unpriced.collect(),
        total: row(total, ledger, question),
        rows,
        prices_of: question.prices.date().to_owned(),
    }
}

fn row(mut group: Group, ledger: &Ledger, question: &Question<'_>) -> Row {
    sort(&mut group.models);
    let sums = group.sums();
    let mut row = Row { key: String::new(), ..figures(&sums) };
    row.calls = (question.by == By::Tool).then_some(sums.calls);
    row.agents = group.agents.iter().map(|agent| name(ledger, *agent)).collect();
    row.agents.sort_unstable();
    row.models = group.models.iter().map(|(model, _)| name(ledger, *model)).collect();
    let unpriced = group.models.iter().filter(|(_, sums)| sums.unpriced > 0);
    row.unpriced_models = unpriced.map(|(model, _)| name(ledger, *model)).collect();
    let parts = if question.breakdown { group.models.as_slice() } else { &[] };
    row.breakdown = parts.iter().map(|(model, sums)| part(name(ledger, *model), sums)).collect();
    entitle(&mut row, group.key, ledger, &sums, question.now);
    row
}

/// The most used first; names have no order of their own.
fn sort(models: &mut [(Name, Sums)]) {
    models.sort_unstable_by_key(|(model, sums)| (std::cmp::Reverse(sums.total()), *model));
}

fn figures(sums: &Sums) -> Row {
    Row {
        input_tokens: sums.input,
        output_tokens: sums.output,
        cache_read_tokens: sums.cache_read,
        cache_write_tokens: sums.cache_write.saturating_add(sums.cache_write_1h),
        reasoning_tokens: sums.reasoning,
        total_tokens: sums.total(),
        replies: sums.replies,
        cost_usd: dollars(sums.cost),
        cache_write_1h_tokens: sums.cache_write_1h,
        first_at: sums.span.map(|(first, _)| first),
        last_at: sums.span.map(|(_, last)| last),
        ..Row::default()
    }
}

fn part(model: String, sums: &Sums) -> Model {
    Model {
        model,
        input_tokens: sums.input,
        output_tokens: sums.output,
        cache_read_tokens: sums.cache_read,
        cache_write_tokens: sums.cache_write.saturating_add(sums.cache_write_1h),
        reasoning_tokens: sums.reasoning,
        total_tokens: sums.total(),
        replies: sums.replies,
        cost_usd: dollars(sums.cost),
        cache_write_1h_tokens: sums.cache_write_1h,
        is_unpriced: sums.unpriced > 0,
    }
}

fn entitle(row: &mut Row, key: Key, ledger: &Ledger, sums: &Sums, now: Timestamp) {
    row.key = match key {
        Key::Total => "total".to_owned(),
        Key::Word(word) => word.to_owned(),
        Key::Name(named) => ledger.name(named).to_owned(),
        Key::Period { name, from, to } => {
            (row.start, row.end) = (Some(from), Some(to));
            name
        }
        Key::Block(start) => {
            let block = blocks::describe(start, sums, now);
            let key = block.start.to_string();
            row.block = Some(block);
            key.replace(".000000", "")
        }
    };
}

fn name(ledger: &Ledger, name: Name) -> String {
    let text = ledger.name(name);
    if text.is_empty() { "(unknown)".to_owned() } else { text.to_owned() }
}
