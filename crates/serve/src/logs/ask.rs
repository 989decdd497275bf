//! What may be asked of logs: the same words in every query.

use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::json;
use switchboard_agents::{LOGS, find_agent};
use switchboard_logs::{LogFilter, when};

use crate::{Problem, Service};

/// Which sessions, replies and passages are meant: what every query of logs may say.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct Which {
    /// Of these agents, separated by commas.
    #[schemars(schema_with = "agent_names")]
    agent: Option<String>,
    /// In folders whose path has this text in it.
    project: Option<String>,
    /// With models whose name has this text in it.
    model: Option<String>,
    /// On branches whose name has this text in it.
    branch: Option<String>,
    /// Of the machine that was given this name; the empty name is this machine.
    machine: Option<String>,
    /// From a time on: `2026-11-16`, `2026-11`, `yesterday`, `12h`, `7d`, or RFC 3339.
    since: Option<String>,
    /// Up to a time; a day is in it as a whole.
    until: Option<String>,
    /// The time zone of days, such as `Europe/Berlin`, `UTC` or `+02:00`; else the server's.
    timezone: Option<String>,
}

impl Which {
    /// The time zone of days.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn zone(&self, service: &Service) -> Result<TimeZone, Problem> {
        service.zone(self.timezone.as_deref())
    }

    /// What it means as of now.
    ///
    /// # Errors
    /// If it makes no sense.
    pub fn filter(&self, service: &Service) -> Result<LogFilter, Problem> {
        let (zone, now) = (self.zone(service)?, service.now());
        let bad = |field: &str, error: &when::TimeParseError| Problem::bad_field(field, &error.to_string());
        let (since, until) = (self.since.as_deref(), self.until.as_deref());
        let (from, _) = when::parse_time_bounds(since, None, &zone, now).map_err(|error| bad("since", &error))?;
        let (_, to) = when::parse_time_bounds(since, until, &zone, now).map_err(|error| bad("until", &error))?;
        let said = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Ok(LogFilter {
            agents: agents(self.agent.as_deref())?,
            project: said(&self.project),
            model: said(&self.model),
            branch: said(&self.branch),
            machine: self.machine.clone(),
            session: None,
            since: from,
            until: to,
        })
    }
}

/// A time zone by its name, or the usual one.
///
/// # Errors
/// If there is none of that name.
pub fn zone(name: Option<&str>, usual: &TimeZone) -> Result<TimeZone, Problem> {
    let bad = |error: when::TimeParseError| Problem::bad_field("timezone", &error.to_string());
    name.map_or_else(|| Ok(usual.clone()), |name| when::parse_time_zone(name).map_err(bad))
}

/// How many are wanted, within bounds.
///
/// # Errors
/// If it is none, or too many.
pub fn count(wanted: Option<u32>, usual: u32, most: u32) -> Result<usize, Problem> {
    let wanted = wanted.unwrap_or(usual);
    if !(1..=most).contains(&wanted) {
        return Err(Problem::bad_field("limit", &format!("a number from 1 to {most}")));
    }
    Ok(usize::try_from(wanted).unwrap_or(usize::MAX))
}

fn agents(said: Option<&str>) -> Result<Vec<String>, Problem> {
    let names = said.into_iter().flat_map(|said| said.split(',')).map(str::trim).filter(|name| !name.is_empty());
    // Switchboard's own sessions are there also of agents that leave no logs.
    let known = |name: &str| find_agent(name).is_some();
    let bad = |name: &str| {
        let there: Vec<_> = LOGS.iter().map(|logs| logs.agent).collect();
        let problem = Problem::bad_field("agent", &format!("`{name}` is no agent that is known"));
        problem.with_hint(format!("there are {}", there.join(", ")))
    };
    names.map(|name| if known(name) { Ok(name.to_owned()) } else { Err(bad(name)) }).collect()
}

/// The names of agents that leave logs, separated by commas.
fn agent_names(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = LOGS.iter().map(|logs| logs.agent).collect();
    json_schema!({ "type": "string", "examples": [json!(names.join(","))] })
}
