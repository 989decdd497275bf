//! An invariant that does not hold, and how that is said.

use std::fmt;

/// An invariant that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The invariant, in a few words.
    pub rule: &'static str,
    /// What was seen instead.
    pub why: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.why)
    }
}

impl std::error::Error for Broken {}

/// Fails with a rule unless it holds.
macro_rules! must {
    ($holds:expr, $rule:literal, $($why:tt)+) => {
        if !$holds {
            return Err($crate::ledger::Broken { rule: $rule, why: format!($($why)+) });
        }
    };
}
pub(crate) use must;
