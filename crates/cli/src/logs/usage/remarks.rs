//! What is said below a table: how it goes on, what it does not know.

use switchboard_logs::{
    ScanReport,
    usage::{Row, Unpriced, Usage, UsageQuestion},
};

use super::figures::{clock, grouped, money};
use crate::view::{clean, figures, pieces::wrapped, style::PLAIN};

/// Maximum number of models without a price that are named.
const NAMED: usize = 6;

/// The remarks below the rows.
pub struct Remarks {
    /// How many rows are not shown.
    pub more: usize,
    /// There is a total, which has them all.
    pub has_total: bool,
    /// How wide lines may be.
    pub room: Option<usize>,
}

impl Remarks {
    /// Each in lines of its own.
    pub fn of(&self, usage: &Usage, report: &ScanReport, question: &UsageQuestion<'_>) -> String {
        let mut lines = Vec::new();
        if usage.rows.is_empty() && self.more == 0 {
            let nothing = "no replies: no logs, or none that fit; `switchboard logs doctor` says where was looked";
            lines.push(nothing.to_owned());
        }
        lines.extend((self.more > 0).then(|| self.left_out()));
        lines.extend(usage.rows.iter().filter_map(|row| forecast(row, question)));
        lines.extend(unpriced(&usage.unpriced));
        // A record of a new kind has nothing to do with tokens, as far as anybody knows.
        let unread = report.troubles.saturating_sub(report.unknown);
        lines.extend((unread > 0).then(|| {
            let unread = grouped(unread);
            format!("could not be read: {unread} of all records and files; `switchboard logs doctor` names them")
        }));
        let wrapped = |line| wrapped(&[(PLAIN, line)], self.room, 2, false) + "\n";
        let text: String = lines.into_iter().map(wrapped).collect();
        if usage.rows.is_empty() || text.is_empty() { text } else { format!("\n{text}") }
    }

    /// Rows that are not shown. In a picture there is no total that has them.
    fn left_out(&self) -> String {
        let are = if self.more == 1 { "is" } else { "are" };
        let total = if self.has_total { format!(", which {are} in the total") } else { String::new() };
        format!("… and {} more{total}", figures::count(self.more, "row"))
    }
}

/// How the current block goes on.
fn forecast(row: &Row, question: &UsageQuestion<'_>) -> Option<String> {
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
