//! Collecting everything that is wrong before a test fails, so that one run tells all of it.

use std::fmt::Display;

/// How many failures are shown.
const SHOWN: usize = 40;

/// Fails if something failed, with what.
#[track_caller]
pub fn verdict<F: Display>(what: &str, failures: impl IntoIterator<Item = F>) {
    let failures: Vec<String> = failures.into_iter().map(|failure| failure.to_string()).collect();
    let shown = failures.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{what}: {} failures\n{shown}", failures.len());
}
