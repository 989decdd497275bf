//! Violations of invariants.

use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvariantViolation {
    /// The invariant, in a few words.
    pub rule: &'static str,
    /// The observation that violates it.
    pub why: String,
}

impl fmt::Display for InvariantViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.why)
    }
}

impl std::error::Error for InvariantViolation {}

/// Returns an [`Err`] with the rule unless it holds.
macro_rules! must {
    ($holds:expr, $rule:literal, $($why:tt)+) => {
        if !$holds {
            return Err($crate::ledger::InvariantViolation { rule: $rule, why: format!($($why)+) });
        }
    };
}
pub(crate) use must;
