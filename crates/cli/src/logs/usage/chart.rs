//! Bar charts of usage in the terminal.

use switchboard_logs::usage::{Row, UsageQuestion};
use unicode_width::UnicodeWidthStr as _;

use super::table::{format_row_cost, row_label};
use crate::{
    host,
    short_ids::ShortIds,
    terminal::Terminal,
    view::{figures::format_tokens, fold::clip_text, paint, sanitize::sanitize_line, style::CYAN},
};

/// Maximum width of a name, in columns.
const MAX_LABEL_WIDTH: usize = 32;

/// Minimum width of a bar, and the width of the whole chart in a pipe.
const BAR_WIDTHS: (usize, usize) = (8, 100);

/// Eighths of a column.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Renders a bar for each row, for tokens or cost.
pub fn render_chart(
    rows: &[Row],
    of_cost: bool,
    question: &UsageQuestion<'_>,
    short_ids: &ShortIds,
    terminal: &Terminal,
) -> String {
    let home = host::home_directory();
    let value = |row: &Row| if of_cost { row.cost_usd } else { to_f64(row.total_tokens) };
    let names =
        rows.iter().map(|row| clip_text(&bar_label(row, question, short_ids, home.as_deref()), MAX_LABEL_WIDTH));
    let names: Vec<String> = names.collect();
    let words: Vec<String> =
        rows.iter().map(|row| format!("{:>7}  {}", format_tokens(row.total_tokens), format_row_cost(row))).collect();
    let widest = |texts: &[String]| texts.iter().map(|text| text.width()).max().unwrap_or_default();
    let width = if terminal.stdout { usize::from(terminal.width()) } else { BAR_WIDTHS.1 };
    let room = width.saturating_sub(widest(&names) + widest(&words) + 5).max(BAR_WIDTHS.0);
    let most = rows.iter().map(value).fold(0.0, f64::max);
    let color = terminal.stdout && terminal.color;
    let mut text = String::new();
    for ((row, name), words) in rows.iter().zip(&names).zip(&words) {
        let bar = render_bar(value(row), most, room);
        let (name_gap, bar_gap) = (widest(&names) - name.width(), room - bar.width().min(room));
        let line =
            format!("{name}{}  {}{}  {words}", " ".repeat(name_gap), paint(color, CYAN, &bar), " ".repeat(bar_gap));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns the label of a bar. A session has its short ID and title, as there is no room for the whole ID.
fn bar_label(row: &Row, question: &UsageQuestion<'_>, short_ids: &ShortIds, home: Option<&str>) -> String {
    match &row.title {
        Some(title) => format!("{} {}", short_ids.shorten(&row.key), sanitize_line(title)),
        None => row_label(row, question.zone, home),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a bar has few columns")]
fn to_f64(count: u64) -> f64 {
    count as f64
}

/// Renders a bar. Any value above zero is visible.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a few columns"
)]
fn render_bar(value: f64, most: f64, room: usize) -> String {
    if value <= 0.0 || most <= 0.0 {
        return String::new();
    }
    let eighths = ((value / most * room as f64 * 8.0).round() as usize).clamp(1, room * 8);
    let last = EIGHTHS.get(eighths % 8).copied().unwrap_or_default();
    format!("{}{last}", "█".repeat(eighths / 8))
}

#[cfg(test)]
mod tests {

    use super::render_bar;

    #[test]
    fn bars_are_as_long_as_their_value() {
        assert_eq!(render_bar(4.0, 4.0, 4), "████");
        assert_eq!(render_bar(2.0, 4.0, 4), "██");
        assert_eq!(render_bar(0.5, 4.0, 4), "▌");
        assert_eq!(render_bar(1e-9, 4.0, 4), "▏", "what is not nothing can be seen");
        assert_eq!(render_bar(0.0, 4.0, 4), "");
        assert_eq!(render_bar(0.0, 0.0, 4), "");
    }
}
