//! Bars in the terminal: one for each row, as long as what it used.

use switchboard_logs::usage::{Row, UsageQuestion};
use unicode_width::UnicodeWidthStr as _;

use super::figures::{cost, title};
use crate::{
    host,
    sessions::cut,
    short_ids::ShortIds,
    terminal::Terminal,
    view::{clean, figures, paint, style::CYAN},
};

/// Maximum width of a name, in columns.
const WIDEST: usize = 32;

/// Minimum width of a bar, and the width of the whole chart in a pipe.
const BAR: (usize, usize) = (8, 100);

/// Eighths of a column.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A bar for each row, of its tokens or of its cost.
pub fn chart(
    rows: &[Row],
    of_cost: bool,
    question: &UsageQuestion<'_>,
    short_ids: &ShortIds,
    terminal: &Terminal,
) -> String {
    let home = host::home();
    let value = |row: &Row| if of_cost { row.cost_usd } else { exact(row.total_tokens) };
    let names = rows.iter().map(|row| cut(&name(row, question, short_ids, home.as_deref()), WIDEST));
    let names: Vec<String> = names.collect();
    let words: Vec<String> =
        rows.iter().map(|row| format!("{:>7}  {}", figures::tokens(row.total_tokens), cost(row))).collect();
    let widest = |texts: &[String]| texts.iter().map(|text| text.width()).max().unwrap_or_default();
    let width = if terminal.stdout { usize::from(terminal.width()) } else { BAR.1 };
    let room = width.saturating_sub(widest(&names) + widest(&words) + 5).max(BAR.0);
    let most = rows.iter().map(value).fold(0.0, f64::max);
    let colour = terminal.stdout && terminal.colour;
    let mut text = String::new();
    for ((row, name), words) in rows.iter().zip(&names).zip(&words) {
        let bar = bar(value(row), most, room);
        let (name_gap, bar_gap) = (widest(&names) - name.width(), room - bar.width().min(room));
        let line =
            format!("{name}{}  {}{}  {words}", " ".repeat(name_gap), paint(colour, CYAN, &bar), " ".repeat(bar_gap));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// What a bar is called. There is no room for all of a session's id, and what it is about says more.
fn name(row: &Row, question: &UsageQuestion<'_>, short_ids: &ShortIds, home: Option<&str>) -> String {
    match &row.title {
        Some(title) => format!("{} {}", short_ids.shorten(&row.key), clean::line(title)),
        None => title(row, question.zone, home),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a bar has few columns")]
fn exact(count: u64) -> f64 {
    count as f64
}

/// A bar for a value, of the largest there is. What is not nothing can be seen.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a few columns"
)]
fn bar(value: f64, most: f64, room: usize) -> String {
    if value <= 0.0 || most <= 0.0 {
        return String::new();
    }
    let eighths = ((value / most * room as f64 * 8.0).round() as usize).clamp(1, room * 8);
    let last = EIGHTHS.get(eighths % 8).copied().unwrap_or_default();
    format!("{}{last}", "█".repeat(eighths / 8))
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars_are_as_long_as_their_value() {
        assert_eq!(bar(4.0, 4.0, 4), "████");
        assert_eq!(bar(2.0, 4.0, 4), "██");
        assert_eq!(bar(0.5, 4.0, 4), "▌");
        assert_eq!(bar(1e-9, 4.0, 4), "▏", "what is not nothing can be seen");
        assert_eq!(bar(0.0, 4.0, 4), "");
        assert_eq!(bar(0.0, 0.0, 4), "");
    }
}
