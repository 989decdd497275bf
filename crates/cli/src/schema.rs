//! `switchboard schema`: the JSON Schemas of everything that is written or read.

use std::io::{self, Write as _};

use serde_json::Value;
use switchboard_agents::{SOURCES, agent_names};
use switchboard_dialects::{CLIENT_SCHEMAS, DIALECTS};
use switchboard_event::schema::session_request_schema;

use crate::{
    args::Schema,
    failure::{Failure, names},
};

/// Runs the command.
pub fn run(args: &Schema) -> Result<(), Failure> {
    let text = match &args.name {
        None => format!("{}\n", names(all().iter().map(|entry| (entry.name, entry.title)))),
        Some(name) => match all().into_iter().find(|entry| entry.name == name) {
            Some(entry) => format!("{:#}\n", (entry.schema)()),
            None => return Err(unknown(name)),
        },
    };
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}

struct Entry {
    name: &'static str,
    title: &'static str,
    schema: Box<dyn Fn() -> Value>,
}

/// Every schema: one a dialect, one for what clients send in it, one for requests, and those of native streams that have
/// one.
fn all() -> Vec<Entry> {
    let dialects = DIALECTS.iter().map(|dialect| Entry {
        name: dialect.name,
        title: dialect.title,
        schema: Box::new(|| (dialect.schema)(&agent_names())),
    });
    let accepted = CLIENT_SCHEMAS.iter().map(|accepted| Entry {
        name: accepted.name,
        title: accepted.title,
        schema: Box::new(accepted.schema),
    });
    let request = Entry {
        name: "session-request",
        title: "a request to start a session",
        schema: Box::new(|| session_request_schema(&agent_names())),
    };
    let native = SOURCES.iter().copied().flatten().filter_map(|source| {
        let text = source.schema?;
        let parse = move || serde_json::from_str(text).unwrap_or_default();
        Some(Entry { name: source.name, title: source.title, schema: Box::new(parse) })
    });
    // A dialect that is also a source has one schema.
    let mut entries: Vec<Entry> = dialects.chain(accepted).chain([request]).collect();
    entries.extend(native);
    let mut seen = Vec::new();
    entries.retain(|entry| {
        !seen.contains(&entry.name) && {
            seen.push(entry.name);
            true
        }
    });
    entries
}

fn unknown(name: &str) -> Failure {
    let known = names(all().iter().map(|entry| (entry.name, entry.title)));
    Failure::UnknownName { what: "schema", given: name.to_owned(), known }
}
