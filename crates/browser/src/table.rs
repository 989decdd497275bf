//! The scenarios. A new one is a function in a file of `scenarios`, and a line here.

use crate::{scenarios::entry, trial::Trial};

/// Something that must hold when a person uses the page.
pub struct Scenario {
    /// What holds, in a few words.
    pub name: &'static str,
    /// Tries it.
    pub run: fn(&Trial) -> anyhow::Result<()>,
}

const fn scenario(name: &'static str, run: fn(&Trial) -> anyhow::Result<()>) -> Scenario {
    Scenario { name, run }
}

/// All of them.
pub const SCENARIOS: &[Scenario] = &[
    scenario("without a token one sees how to get in", entry::outside),
    scenario("the link lets in and the token leaves the address", entry::inside),
];
