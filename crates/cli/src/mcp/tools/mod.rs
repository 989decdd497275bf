//! The tools. A new one is a file here, and a line in the table.

mod list;
mod search;
mod show;
mod usage;

use std::sync::Arc;

use jiff::tz::TimeZone;
use rmcp::model::JsonObject;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_agents::LOGS;
use switchboard_logs::{LogFilter, when};

use super::archive::Archive;
use crate::{failure::Failure, host};

/// A tool with which an agent looks at past work.
pub struct Looking {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does, for models.
    pub description: &'static str,
    /// What it takes.
    pub schema: fn() -> Arc<JsonObject>,
    /// What does it.
    pub call: fn(&Archive, Value) -> Result<Reply, Failure>,
}

/// What a tool answers.
pub enum Reply {
    /// To be read.
    Text(String),
    /// To be read by programs too.
    Json(Value),
}

/// All of them, in the order in which they are shown.
pub const TOOLS: &[Looking] = &[list::TOOL, search::TOOL, show::TOOL, usage::TOOL];

/// The schema of what a tool takes.
fn schema<T: JsonSchema>() -> Arc<JsonObject> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        Value::Object(fields) => Arc::new(fields),
        _ => Arc::default(),
    }
}

/// What a tool was given. An argument that it does not have is refused: who gave it meant something by it.
fn given<T: DeserializeOwned + JsonSchema>(value: Value) -> Result<T, Failure> {
    let schema = schema::<T>();
    let known = schema.get("properties").and_then(Value::as_object);
    let is_known = |name: &String| known.is_some_and(|known| known.contains_key(name));
    if let Some(unknown) = value.as_object().and_then(|given| given.keys().find(|name| !is_known(name))) {
        let names: Vec<&str> = known.into_iter().flat_map(|known| known.keys()).map(String::as_str).collect();
        return Err(bad("arguments", format!("there is no `{unknown}`; there are {}", names.join(", "))));
    }
    serde_json::from_value(value).map_err(|error| bad("arguments", error.to_string()))
}

fn bad(option: &'static str, cause: impl Into<String>) -> Failure {
    Failure::BadValue { option, cause: cause.into() }
}

/// What most tools can be told, as it was said.
#[derive(Default)]
struct Said<'a> {
    agent: Option<&'a str>,
    project: Option<&'a str>,
    model: Option<&'a str>,
    since: Option<&'a str>,
    until: Option<&'a str>,
    timezone: Option<&'a str>,
}

impl Said<'_> {
    /// The time zone that was named, else the system's.
    fn zone(&self) -> Result<TimeZone, Failure> {
        let name = self.timezone.filter(|name| !name.is_empty());
        name.map_or_else(
            || Ok(host::zone()),
            |name| when::parse_time_zone(name).map_err(|no| bad("timezone", no.to_string())),
        )
    }

    /// What it means.
    fn filter(&self) -> Result<LogFilter, Failure> {
        let agents: Vec<String> = self.agent.filter(|name| !name.is_empty()).map(str::to_owned).into_iter().collect();
        let known: Vec<&str> = LOGS.iter().map(|logs| logs.agent).collect();
        if let Some(unknown) = agents.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(bad(
                "agent",
                format!("`{unknown}` is no agent that leaves logs; there are {}", known.join(", ")),
            ));
        }
        let between = when::parse_time_bounds(self.since, self.until, &self.zone()?, host::now());
        let (since, until) = between.map_err(|error| bad("since, until", error.to_string()))?;
        let owned = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(LogFilter {
            agents,
            project: owned(self.project),
            model: owned(self.model),
            since,
            until,
            ..LogFilter::default()
        })
    }
}

/// How many are wanted, within bounds: who asks for too many gets the most there can be.
fn count(wanted: Option<u32>, usual: u32, most: u32) -> usize {
    usize::try_from(wanted.unwrap_or(usual).clamp(1, most)).unwrap_or(1)
}

/// Cuts a text to a number of characters.
fn short(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}
