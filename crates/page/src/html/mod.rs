//! Text that somebody else wrote, as HTML that is safe to show. Only this module makes [`Html`].

use serde::Serialize;

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
