//! `switchboard schema`: the JSON Schemas of everything that is written or read.

use std::io::{self, Write as _};

use clap::Args;
use serde_json::Value;
use switchboard_agents::{SOURCES, agent_names};
use switchboard_dialects::{CLIENT_SCHEMAS, DIALECTS};
use switchboard_event::schema::session_request_schema;

use crate::failure::{Failure, format_name_list};

/// Print the JSON Schema of a protocol
///
/// Without a name, lists the available schemas.
#[derive(Args)]
pub struct SchemaArgs {
    /// Name of the schema
    pub name: Option<String>,
}

pub fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let text = match &args.name {
        None => format!("{}\n", format_name_list(all_schemas().iter().map(|entry| (entry.name, entry.title)))),
        Some(name) => match all_schemas().into_iter().find(|entry| entry.name == name) {
            Some(entry) => format!("{:#}\n", (entry.schema)()),
            None => return Err(unknown_schema(name)),
        },
    };
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}

struct SchemaEntry {
    name: &'static str,
    title: &'static str,
    schema: Box<dyn Fn() -> Value>,
}

/// Returns the schemas of all dialects, of what clients send in them, of session requests, and of native streams that
/// have one.
fn all_schemas() -> Vec<SchemaEntry> {
    let dialects = DIALECTS.iter().map(|dialect| SchemaEntry {
        name: dialect.name,
        title: dialect.title,
        schema: Box::new(|| (dialect.schema)(&agent_names())),
    });
    let accepted = CLIENT_SCHEMAS.iter().map(|accepted| SchemaEntry {
        name: accepted.name,
        title: accepted.title,
        schema: Box::new(accepted.schema),
    });
    let request = SchemaEntry {
        name: "session-request",
        title: "a request to start a session",
        schema: Box::new(|| session_request_schema(&agent_names())),
    };
    let native = SOURCES.iter().copied().flatten().filter_map(|source| {
        let text = source.schema?;
        let parse = move || serde_json::from_str(text).unwrap_or_default();
        Some(SchemaEntry { name: source.name, title: source.title, schema: Box::new(parse) })
    });
    // A dialect that is also a source has one schema.
    let mut entries: Vec<SchemaEntry> = dialects.chain(accepted).chain([request]).collect();
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

fn unknown_schema(name: &str) -> Failure {
    let known = format_name_list(all_schemas().iter().map(|entry| (entry.name, entry.title)));
    Failure::UnknownName { what: "schema", given: name.to_owned(), known }
}
