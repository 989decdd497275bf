//! The order of rows.

use std::{cmp::Ordering, str::FromStr};

use super::Row;

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Their key; days and months are then in the order of time.
    Key,
    /// The most tokens first.
    Tokens,
    /// The most expensive first.
    Cost,
    /// The most replies first.
    Replies,
    /// The latest first.
    Recent,
}

impl Order {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Key, Self::Tokens, Self::Cost, Self::Replies, Self::Recent];

    /// Its name, as it is typed and asked for.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Replies => "replies",
            Self::Recent => "recent",
        }
    }

    /// Sorts rows. Those that are equal are sorted by their key.
    pub fn sort(self, rows: &mut [Row]) {
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

impl FromStr for Order {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|order| order.name() == name).ok_or(())
    }
}
