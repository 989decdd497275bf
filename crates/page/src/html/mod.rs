//! Converts untrusted text to safe HTML. Only this module creates [`Html`], and all its output is bounded: excess text
//! is omitted, with a note of the class `cut`.

mod asked;
mod blocks;
mod code;
mod cut;
mod diff;
mod highlight;
mod invisible;
mod markdown;
mod parts;
mod plain;
mod terminal;
mod writer;

use serde::Serialize;

pub use asked::asked;
pub use blocks::finished;
pub use code::{code, code_title};
pub use diff::{DiffSource, DiffStat, diff};
pub use markdown::markdown;
pub use parts::{element, image, join, line, link, words};
pub use plain::plain;
pub use terminal::terminal;

/// HTML that is safe to show: no scripts, no styles, only web URLs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SafeHtml(String);

impl SafeHtml {
    /// Returns the HTML as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Rendered HTML with information about the source text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HtmlFragment {
    pub html: SafeHtml,
    /// The approximate number of lines.
    pub lines: u32,
    /// Whether part of the text is omitted.
    pub cut: bool,
}
