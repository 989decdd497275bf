//! Renders the body of an item, a request, a notice, a turn or a run.

mod answer;
mod call;
mod change;
mod command;
mod content;
mod figures;
mod item;
mod notice;
mod pile;
mod plan;
mod request;
mod run;
mod turn;
mod value;

use serde::Serialize;

use crate::SafeHtml;

pub use content::{ImageUrlFn, picture};
pub use item::{item, whole};
pub use notice::notice;
pub use request::request;
pub use run::{began, ended};
pub use turn::turn;

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
