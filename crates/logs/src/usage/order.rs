//! The order of rows.

use std::{cmp::Ordering, str::FromStr};

use super::Row;

/// The order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageOrder {
    /// By key; days and months are then in order of time.
    Key,
    /// Most tokens first.
    Tokens,
    /// Most expensive first.
    Cost,
    /// Most replies first.
    Replies,
    /// Latest first.
    Recent,
}

impl UsageOrder {
    pub const ALL: [Self; 5] = [Self::Key, Self::Tokens, Self::Cost, Self::Replies, Self::Recent];

    /// Returns the name used in options and queries.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Replies => "replies",
            Self::Recent => "recent",
        }
    }

    /// Sorts rows; equal ones by key.
    pub fn sort_rows(self, rows: &mut [Row]) {
        let more_first = |a: &Row, b: &Row| match self {
            Self::Key => Ordering::Equal,
            Self::Tokens => b.total_tokens.cmp(&a.total_tokens),
            Self::Cost => b.cost_usd.total_cmp(&a.cost_usd).then(b.total_tokens.cmp(&a.total_tokens)),
            Self::Replies => b.replies.cmp(&a.replies),
            Self::Recent => b.last_at.cmp(&a.last_at),
        };
        rows.sort_by(|a, b| more_first(a, b).then_with(|| a.key.cmp(&b.key)));
    }
}

impl FromStr for UsageOrder {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|order| order.as_str() == name).ok_or(())
    }
}
