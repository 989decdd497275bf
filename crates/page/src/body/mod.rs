//! What is shown of an item, a request, a notice, a turn or a run.

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

use crate::Html;

pub use content::{Address, picture};
pub use item::{item, whole};
pub use notice::notice;
pub use request::request;
pub use run::{began, ended};
pub use turn::turn;

/// What is shown of one thing.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Body {
    /// What kind of entry it is.
    pub kind: &'static str,
    /// A line that says what it is.
    pub title: Html,
    /// A few words behind the title: an exit code, a count. Plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// All of it, as far as it is shown.
    pub html: Html,
    /// Folded at first.
    pub fold: bool,
    /// About how many lines it has.
    pub size: u32,
    /// The body was cut: there is more than is shown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}
