//! What is said below a table: how it goes on, what it does not know.

use switchboard_logs::{
    Report,
    usage::{Question, Row, Unpriced, Usage},
};

use super::figures::{clock, grouped, money};
use crate::view::{clean, figures, pieces::wrapped, style::PLAIN};

/// So many models without a price are named.
const NAMED: usize = 6;

/// What is to be said beside the rows, each in lines of its own.
pub fn remarks(usage: &Usage, more: usize, report: &Report, question: &Question<'_>, room: Option<usize>) -> String {
    let mut lines = Vec::new();
    if usage.rows.is_empty() {
        lines.push("no replies: no logs, or none that fit; `switchboard logs doctor` says where was looked".to_owned());
    }
    lines.extend((more > 0).then(|| format!("… and {} more, which are in the total", figures::count(more, "row"))));
    lines.extend(usage.rows.iter().filter_map(|row| forecast(row, question)));
    lines.extend(unpriced(&usage.unpriced));
    lines.extend((report.troubles > 0).then(|| {
        let troubles = grouped(report.troubles);
        format!("could not be read, and is not counted: {troubles} of the records and files; `switchboard logs doctor` names them")
    }));
    let text: String = lines.into_iter().map(|line| wrapped(&[(PLAIN, line)], room, 2, false) + "\n").collect();
    if usage.rows.is_empty() || text.is_empty() { text } else { format!("\n{text}") }
}

/// How the current block goes on.
fn forecast(row: &Row, question: &Question<'_>) -> Option<String> {
    let block = row.block.as_ref()?;
    let to_come = block.projection.as_ref()?;
    let minutes = to_come.remaining_minutes;
    let end = clock(block.end.as_micros(), question.zone, "%H:%M");
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate for people, never negative")]
    let rate = grouped(block.burn_rate.tokens_per_minute as u64);
    Some(format!(
        "the current block ends at {end}, in {} h {:02} m: {rate} tokens a minute and {} an hour come to {} tokens and {} by then",
        minutes / 60,
        minutes % 60,
        money(block.burn_rate.cost_usd_per_hour),
        figures::tokens(to_come.total_tokens),
        money(to_come.cost_usd),
    ))
}

fn unpriced(models: &[Unpriced]) -> Option<String> {
    let named = models
        .iter()
        .take(NAMED)
        .map(|model| format!("{} ({} tokens)", clean::line(&model.model), figures::tokens(model.total_tokens)));
    let names = named.collect::<Vec<_>>().join(", ");
    let rest = models.len().saturating_sub(NAMED);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    (!models.is_empty())
        .then(|| format!("+ not in the cost, for want of a price: {names}{rest}; --prices FILE adds one"))
}
