//! Renders the body of an item, a request, a notice, a turn or a run.

mod items;
mod messages;
mod request;
mod session;
mod tool_calls;

use serde::Serialize;

use crate::html::{HtmlFragment, SafeHtml, element, join, line};

pub use items::{item, whole};
pub use messages::{ImageUrlFn, picture};
pub use request::request;
pub use session::{began, ended, notice, turn};

/// The rendered body of an entry.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryBody {
    /// The kind of the entry.
    pub kind: &'static str,
    /// The title, one line.
    pub title: SafeHtml,
    /// A few words after the title: an exit code, a count. Plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The content, possibly cut.
    pub html: SafeHtml,
    /// Whether the entry is initially folded.
    pub fold: bool,
    /// The approximate number of lines.
    pub size: u32,
    /// Whether the body was cut.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// The pieces of a body, their number of lines, and whether something was cut.
#[derive(Default)]
struct BodyBuilder {
    pieces: Vec<SafeHtml>,
    lines: u32,
    cut: bool,
}

impl BodyBuilder {
    /// Adds a piece of several lines.
    fn add(&mut self, shown: HtmlFragment) {
        self.lines = self.lines.saturating_add(shown.lines);
        self.cut |= shown.cut;
        self.pieces.push(shown.html);
    }

    /// Adds a piece of one line.
    fn line(&mut self, html: SafeHtml) {
        self.lines = self.lines.saturating_add(1);
        self.pieces.push(html);
    }

    /// Adds a note, if there is one.
    fn note(&mut self, text: Option<&str>) {
        if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
            self.line(element("p", "note", &[line(text)]));
        }
    }

    /// Adds a piece that is folded until the user opens it.
    fn folded(&mut self, title: &str, shown: HtmlFragment) {
        let summary = element("summary", "", &[line(title)]);
        self.cut |= shown.cut;
        self.line(element("details", "", &[summary, shown.html]));
    }

    /// Adds a note that something was cut.
    fn cut(&mut self, what: &str) {
        self.cut = true;
        self.line(element("p", "cut", &[line(what)]));
    }

    fn lines(&self) -> u32 {
        self.lines
    }

    fn body(self, kind: &'static str, title: SafeHtml) -> EntryBody {
        EntryBody { kind, title, html: join(&self.pieces), size: self.lines, more: self.cut, ..EntryBody::default() }
    }

    /// Returns the pieces as one fragment.
    fn shown(self) -> HtmlFragment {
        HtmlFragment { html: join(&self.pieces), lines: self.lines, cut: self.cut }
    }
}

/// Formats a duration: `340 ms`, `1.2 s`, `3 min 5 s`, `2 h 10 min`.
fn format_duration(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0 => format!("{ms} ms"),
        1..60 => format!("{seconds}.{} s", ms % 1_000 / 100),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// Formats a cost: in cents from one dollar, with more digits below.
fn format_cost(usd: f64) -> String {
    if usd >= 1.0 || usd == 0.0 { format!("${usd:.2}") } else { format!("${usd:.4}") }
}

/// Formats a token count: `950`, `12.3k`, `4.5M`.
fn format_tokens(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::{format_cost, format_duration, format_tokens};

    #[test]
    fn figures_are_short() {
        assert_eq!(
            [340, 1_250, 185_000, 7_800_000].map(format_duration),
            ["340 ms", "1.2 s", "3 min 5 s", "2 h 10 min"]
        );
        assert_eq!([0.0, 0.0123, 12.345].map(format_cost), ["$0.00", "$0.0123", "$12.35"]);
        assert_eq!([950, 12_345, 4_560_000].map(format_tokens), ["950", "12.3k", "4.5M"]);
    }
}
