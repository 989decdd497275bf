//! Names that a shell can complete. Whatever is typed is taken: what is no name is answered with the right ones, later
//! and in better words than a parser has.

use std::ffi::OsStr;

use clap::{
    Arg, Command, Error,
    builder::{PossibleValue, StringValueParser, TypedValueParser},
};

use switchboard_agents::{AGENTS, SOURCES};
use switchboard_dialects::DIALECTS;

/// A list of names, with a line about each.
#[derive(Clone, Copy)]
pub struct Offered(fn() -> Vec<(&'static str, &'static str)>);

/// Agents that can be run.
pub const AGENT: Offered = Offered(|| AGENTS.iter().map(|agent| (agent.name, agent.title)).collect());

/// Streams that can be read.
pub const SOURCE: Offered =
    Offered(|| SOURCES.iter().copied().flatten().map(|source| (source.name, source.title)).collect());

/// Protocols that can be written.
pub const DIALECT: Offered = Offered(|| DIALECTS.iter().map(|dialect| (dialect.name, dialect.title)).collect());

/// What needs an approval.
pub const APPROVAL: Offered = Offered(|| {
    vec![
        ("ask", "everything that acts"),
        ("ask-dangerous", "what runs, deletes, writes elsewhere or reaches out"),
        ("auto-edit", "all but changes of files in the workspace"),
        ("auto-all", "nothing"),
    ]
});

/// Where an agent may write.
pub const SANDBOX: Offered = Offered(|| {
    vec![
        ("none", "no sandbox"),
        ("read-only", "nowhere"),
        ("workspace-write", "in the workspace"),
        ("full-access", "everywhere"),
    ]
});

impl TypedValueParser for Offered {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = (self.0)();
        // A colon in a name would end it where names have a line about them: zsh writes both with one in between.
        let plain = names.iter().any(|(name, _)| name.contains(':'));
        let value =
            move |(name, title)| if plain { PossibleValue::new(name) } else { PossibleValue::new(name).help(title) };
        Some(Box::new(names.into_iter().map(value)))
    }
}
