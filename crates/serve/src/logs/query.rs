//! The query parameters that all operations on logs share, and pages of a log's messages.

use jiff::tz::TimeZone;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::json;
use switchboard_agents::{LOGS, find_agent};
use switchboard_dialects::{Dialect, MessageBuffer};
use switchboard_event::Event;
use switchboard_logs::{LogFilter, LogLibrary, LogSession, Transcript, export, when};

use crate::{Problem, Service};

/// The approximate maximum size of a page, which always has at least one message.
const MAX_PAGE_BYTES: usize = 4 << 20;

/// Which sessions, replies and passages are meant; part of every query of logs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct LogSelection {
    /// Only these agents, separated by commas.
    #[schemars(schema_with = "agent_names_schema")]
    agent: Option<String>,
    /// Only directories whose path contains this text.
    project: Option<String>,
    /// Only models whose name contains this text.
    model: Option<String>,
    /// Only branches whose name contains this text.
    branch: Option<String>,
    /// Only the machine with this name; the empty name is this machine.
    machine: Option<String>,
    /// From this time on: `2026-11-16`, `2026-11`, `yesterday`, `12h`, `7d`, or RFC 3339.
    since: Option<String>,
    /// Up to this time; a day is included as a whole.
    until: Option<String>,
    /// The time zone of days, such as `Europe/Berlin`, `UTC` or `+02:00`; by default the server's.
    timezone: Option<String>,
}

impl LogSelection {
    pub fn time_zone(&self, service: &Service) -> Result<TimeZone, Problem> {
        service.time_zone(self.timezone.as_deref())
    }

    pub fn filter(&self, service: &Service) -> Result<LogFilter, Problem> {
        let (zone, now) = (self.time_zone(service)?, service.now());
        let bad = |field: &str, error: &when::TimeParseError| Problem::bad_field(field, &error.to_string());
        let (since, until) = (self.since.as_deref(), self.until.as_deref());
        let (from, _) = when::parse_time_bounds(since, None, &zone, now).map_err(|error| bad("since", &error))?;
        let (_, to) = when::parse_time_bounds(since, until, &zone, now).map_err(|error| bad("until", &error))?;
        let non_empty = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Ok(LogFilter {
            agents: parse_agents(self.agent.as_deref())?,
            project: non_empty(&self.project),
            model: non_empty(&self.model),
            branch: non_empty(&self.branch),
            machine: self.machine.clone(),
            session: None,
            since: from,
            until: to,
        })
    }
}

/// Returns a time zone by name, or the default.
pub fn parse_zone(name: Option<&str>, default: &TimeZone) -> Result<TimeZone, Problem> {
    let bad = |error: when::TimeParseError| Problem::bad_field("timezone", &error.to_string());
    name.map_or_else(|| Ok(default.clone()), |name| when::parse_time_zone(name).map_err(bad))
}

pub fn parse_limit(given: Option<u32>, default: u32, max: u32) -> Result<usize, Problem> {
    let limit = given.unwrap_or(default);
    if !(1..=max).contains(&limit) {
        return Err(Problem::bad_field("limit", &format!("must be a number from 1 to {max}")));
    }
    Ok(usize::try_from(limit).unwrap_or(usize::MAX))
}

fn parse_agents(names: Option<&str>) -> Result<Vec<String>, Problem> {
    let names = names.into_iter().flat_map(|names| names.split(',')).map(str::trim).filter(|name| !name.is_empty());
    // Switchboard's own sessions include agents without logs.
    let known = |name: &str| find_agent(name).is_some();
    let bad = |name: &str| {
        let known_agents: Vec<_> = LOGS.iter().map(|logs| logs.agent).collect();
        let problem = Problem::bad_field("agent", &format!("unknown agent `{name}`"));
        problem.with_hint(format!("known agents: {}", known_agents.join(", ")))
    };
    names.map(|name| if known(name) { Ok(name.to_owned()) } else { Err(bad(name)) }).collect()
}

fn agent_names_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = LOGS.iter().map(|logs| logs.agent).collect();
    json_schema!({ "type": "string", "examples": [json!(names.join(","))] })
}

#[derive(Debug, Default)]
pub struct TranscriptPage {
    /// The messages, as JSON.
    pub messages: Vec<Vec<u8>>,
    /// The offset of the next page; `None` on the last one.
    pub next: Option<u64>,
    /// Whether the agent has deleted the log, and the events are made of what the index kept.
    pub is_kept: bool,
}

/// Returns all events of a session, from its log or from what the index kept.
fn read_events(library: &LogLibrary, session: &LogSession) -> Result<(Vec<Event>, bool), Problem> {
    Ok(match library.read_transcript(session)? {
        Transcript::Events(events) => (events, false),
        Transcript::Kept(kept) => (export::rebuild::rebuild_events(session, &kept), true),
    })
}

pub fn read_transcript_page(
    library: &LogLibrary,
    session: &LogSession,
    dialect: &Dialect,
    offset: u64,
    limit: usize,
) -> Result<TranscriptPage, Problem> {
    let (events, is_kept) = read_events(library, session)?;
    let (mut projection, mut messages) = ((dialect.projection)(), MessageBuffer::default());
    let (mut page, mut index, mut bytes) = (TranscriptPage { is_kept, ..TranscriptPage::default() }, 0_u64, 0_usize);
    for event in &events {
        projection.project_event(event, &mut messages);
        for message in messages.iter() {
            if index >= offset {
                let is_full = page.messages.len() >= limit || (bytes > 0 && bytes + message.len() > MAX_PAGE_BYTES);
                if is_full {
                    page.next = Some(index);
                    return Ok(page);
                }
                bytes += message.len();
                page.messages.push(message.to_vec());
            }
            index += 1;
        }
        messages.clear();
    }
    Ok(page)
}
