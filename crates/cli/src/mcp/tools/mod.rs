//! The tools. A new tool is a file here and a line in the table.

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

use super::RefreshedLibrary;
use crate::{failure::Failure, host};

/// A read-only tool over past sessions.
pub struct LogTool {
    pub name: &'static str,
    pub title: &'static str,
    /// Read by models.
    pub description: &'static str,
    pub schema: fn() -> Arc<JsonObject>,
    pub call: fn(&RefreshedLibrary, Value) -> Result<ToolReply, Failure>,
}

pub enum ToolReply {
    Text(String),
    Json(Value),
}

/// In display order.
pub const TOOLS: &[LogTool] = &[list::TOOL, search::TOOL, show::TOOL, usage::TOOL];

fn arguments_schema<T: JsonSchema>() -> Arc<JsonObject> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        Value::Object(fields) => Arc::new(fields),
        _ => Arc::default(),
    }
}

/// Parses the arguments of a tool. Unknown arguments are an error, as ignoring them would mislead the model.
fn parse_arguments<T: DeserializeOwned + JsonSchema>(value: Value) -> Result<T, Failure> {
    let schema = arguments_schema::<T>();
    let known = schema.get("properties").and_then(Value::as_object);
    let is_known = |name: &String| known.is_some_and(|known| known.contains_key(name));
    if let Some(unknown) = value.as_object().and_then(|given| given.keys().find(|name| !is_known(name))) {
        let names: Vec<&str> = known.into_iter().flat_map(|known| known.keys()).map(String::as_str).collect();
        return Err(Failure::bad_value(
            "arguments",
            format!("there is no `{unknown}`; there are {}", names.join(", ")),
        ));
    }
    serde_json::from_value(value).map_err(|error| Failure::bad_value("arguments", error.to_string()))
}

/// The filters that most tools have, as given.
#[derive(Default)]
struct FilterArguments<'a> {
    agent: Option<&'a str>,
    project: Option<&'a str>,
    model: Option<&'a str>,
    since: Option<&'a str>,
    until: Option<&'a str>,
    timezone: Option<&'a str>,
}

impl FilterArguments<'_> {
    fn zone(&self) -> Result<TimeZone, Failure> {
        let name = self.timezone.filter(|name| !name.is_empty());
        name.map_or_else(
            || Ok(host::time_zone()),
            |name| when::parse_time_zone(name).map_err(|no| Failure::bad_value("timezone", no.to_string())),
        )
    }

    fn filter(&self) -> Result<LogFilter, Failure> {
        let agents: Vec<String> = self.agent.filter(|name| !name.is_empty()).map(str::to_owned).into_iter().collect();
        let known: Vec<&str> = LOGS.iter().map(|logs| logs.agent).collect();
        if let Some(unknown) = agents.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(Failure::bad_value(
                "agent",
                format!("`{unknown}` is no agent that leaves logs; there are {}", known.join(", ")),
            ));
        }
        let between = when::parse_time_bounds(self.since, self.until, &self.zone()?, host::now());
        let (since, until) = between.map_err(|error| Failure::bad_value("since, until", error.to_string()))?;
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

/// Clamps a requested number of results.
fn clamp_limit(wanted: Option<u32>, usual: u32, most: u32) -> usize {
    usize::try_from(wanted.unwrap_or(usual).clamp(1, most)).unwrap_or(1)
}

fn truncate_chars(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text.to_owned(),
    }
}
