//! The scenarios. A new one is a function in a file of `scenarios`, and a line here.

use switchboard_testkit::clis::Cli;

use crate::{
    scenarios::{one_shot, script},
    trial::Trial,
};

/// Something that must hold when an agent runs.
pub struct Scenario {
    /// What holds, in a few words.
    pub name: &'static str,
    /// The agents for which it is meant.
    pub with: fn(&Cli) -> bool,
    /// Tries it.
    pub run: fn(&Trial) -> anyhow::Result<()>,
}

impl Scenario {
    const fn new(name: &'static str, run: fn(&Trial) -> anyhow::Result<()>) -> Self {
        Self { name, with: |_| true, run }
    }

    /// Only for some agents.
    const fn only(self, with: fn(&Cli) -> bool) -> Self {
        Self { with, ..self }
    }
}

/// All of them.
pub const SCENARIOS: &[Scenario] = &[
    Scenario::new("one shot says a text", one_shot::text),
    Scenario::new("one shot runs a command", one_shot::command),
    Scenario::new("one shot runs two commands together", one_shot::parallel),
    Scenario::new("one shot writes a file", one_shot::file),
    Scenario::new("one shot reports an error of the API", one_shot::error),
    Scenario::new("one shot reports a stream that breaks off", one_shot::cut).only(|cli| cli.gives_up),
    Scenario::new("script has steps", script::steps),
    Scenario::new("script holds an answer back", script::hold),
    Scenario::new("script drives subagents", script::subagent).only(|cli| cli.delegate.is_some()),
];
