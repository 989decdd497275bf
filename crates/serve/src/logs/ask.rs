//! What may be asked of logs: the same words in every query.

use jiff::tz::TimeZone;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::json;
use switchboard_agents::{LOGS, agent};
use switchboard_event::Timestamp;
use switchboard_logs::{Filter, when};

use crate::Problem;

/// Which sessions, replies and passages are meant, as it was said.
#[derive(Debug, Default)]
pub struct Said<'a> {
    /// Of these agents, separated by commas.
    pub agent: Option<&'a str>,
    /// In folders whose path has this in it.
    pub project: Option<&'a str>,
    /// With models whose name has this in it.
    pub model: Option<&'a str>,
    /// On branches whose name has this in it.
    pub branch: Option<&'a str>,
    /// Of a machine.
    pub machine: Option<&'a str>,
    /// Of a session, by its whole id.
    pub session: Option<&'a str>,
    /// From a time on.
    pub since: Option<&'a str>,
    /// Up to a time.
    pub until: Option<&'a str>,
}

impl Said<'_> {
    /// What it means, in a time zone and as of now.
    ///
    /// # Errors
    /// If it makes no sense.
    pub fn filter(&self, zone: &TimeZone, now: Timestamp) -> Result<Filter, Problem> {
        let bad = |field: &str, error: &when::BadTime| Problem::bad_field(field, &error.to_string());
        let (since, _) = when::between(self.since, None, zone, now).map_err(|error| bad("since", &error))?;
        let (_, until) = when::between(self.since, self.until, zone, now).map_err(|error| bad("until", &error))?;
        let owned = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(Filter {
            agents: agents(self.agent)?,
            project: owned(self.project),
            model: owned(self.model),
            branch: owned(self.branch),
            machine: self.machine.map(str::to_owned),
            session: owned(self.session),
            since,
            until,
        })
    }
}

/// A time zone by its name, or the usual one.
///
/// # Errors
/// If there is none of that name.
pub fn zone(name: Option<&str>, usual: &TimeZone) -> Result<TimeZone, Problem> {
    let bad = |error: when::BadTime| Problem::bad_field("timezone", &error.to_string());
    name.map_or_else(|| Ok(usual.clone()), |name| when::zone(name).map_err(bad))
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
    let known = |name: &str| agent(name).is_some();
    let bad = |name: &str| {
        let there: Vec<_> = LOGS.iter().map(|logs| logs.agent).collect();
        let problem = Problem::bad_field("agent", &format!("`{name}` is no agent that is known"));
        problem.with_hint(format!("there are {}", there.join(", ")))
    };
    names.map(|name| if known(name) { Ok(name.to_owned()) } else { Err(bad(name)) }).collect()
}

/// The names of agents that leave logs, separated by commas.
pub fn agent_names(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = LOGS.iter().map(|logs| logs.agent).collect();
    json_schema!({ "type": "string", "examples": [json!(names.join(","))] })
}
