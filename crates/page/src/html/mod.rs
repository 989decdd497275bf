//! Text that somebody else wrote, as HTML that is safe to show. Only this module makes [`Html`], and everything it makes
//! is bounded: what is too much is left out, and a line with the class `cut` says so.

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
pub use diff::{Edit, Tally, diff};
pub use markdown::markdown;
pub use parts::{element, image, join, line, link, words};
pub use plain::plain;
pub use terminal::terminal;

/// HTML that is safe to show: no script, no style, no address that is not one of the web.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Html(String);

impl Html {
    /// The text of it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// There is nothing to show.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// HTML, and how it stands to the text that it was made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// What is shown.
    pub html: Html,
    /// About how many lines that is.
    pub lines: u32,
    /// The text has more than is shown.
    pub cut: bool,
}
