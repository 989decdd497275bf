//! Options that several log commands have: which sessions, which times, which prices.

use std::{borrow::Cow, path::Path};

use clap::Args;
use jiff::tz::TimeZone;
use switchboard_agents::AGENTS;
use switchboard_event::Timestamp;
use switchboard_logs::{
    LogFilter, LogLibrary,
    usage::{PriceFileError, TokenPrices},
    when::{self, TimeParseError},
};

use crate::{
    args::AGENT_NAMES,
    failure::{self, Failure},
    host,
};

const FILTER_HEADING: &str = "Only";

/// Filters that also apply to running sessions.
#[derive(Args)]
pub struct SessionScopeArgs {
    /// Sessions of this agent; repeatable
    #[arg(long, help_heading = FILTER_HEADING, value_name = "AGENT", value_parser = AGENT_NAMES, hide_possible_values = true)]
    agent: Vec<String>,
    /// Directories whose path contains this text
    #[arg(long, help_heading = FILTER_HEADING, value_name = "TEXT")]
    project: Option<String>,
    /// Models whose name contains this text
    #[arg(long, help_heading = FILTER_HEADING, value_name = "TEXT")]
    model: Option<String>,
    /// Branches whose name contains this text
    #[arg(long, help_heading = FILTER_HEADING, value_name = "TEXT")]
    branch: Option<String>,
    /// The machine that `--as` gave this name; `""` is this machine
    #[arg(long, help_heading = FILTER_HEADING, value_name = "NAME")]
    machine: Option<String>,
}

#[derive(Args)]
pub struct LogFilterArgs {
    #[command(flatten)]
    whose: SessionScopeArgs,
    /// One session with its subagents: its ID, the beginning of it, or `last`
    #[arg(long, help_heading = FILTER_HEADING, value_name = "ID")]
    session: Option<String>,
    /// From this time on: 2026-11-16, 2026-11, yesterday, 12h, 7d (from the start of that day), or RFC 3339
    #[arg(long, help_heading = FILTER_HEADING, value_name = "TIME")]
    since: Option<String>,
    /// Up to this time; a day is included as a whole
    #[arg(long, help_heading = FILTER_HEADING, value_name = "TIME")]
    until: Option<String>,
    /// Time zone of days and times, such as Europe/Berlin, UTC or +02:00 [default: the system's]
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
}

impl LogFilterArgs {
    pub fn time_zone(&self) -> Result<TimeZone, Failure> {
        parse_time_zone_option(self.timezone.as_deref())
    }

    /// Returns whether a time zone is named: then times are shown, not ages.
    pub fn has_time_zone(&self) -> bool {
        self.timezone.is_some()
    }

    /// Returns the parameters of a query to a server. Days are those of this machine's time zone.
    pub fn server_query(&self, zone: &TimeZone) -> Result<Vec<(&'static str, String)>, Failure> {
        // Invalid options fail here, with the names of the options.
        self.filter(zone)?;
        let zone = self.timezone.clone().or_else(|| zone.iana_name().map(str::to_owned));
        let whose = &self.whose;
        let given = [
            ("agent", Some(whose.agent.join(",")).filter(|agents| !agents.is_empty())),
            ("project", whose.project.clone()),
            ("model", whose.model.clone()),
            ("branch", whose.branch.clone()),
            ("machine", whose.machine.clone()),
            ("session", self.session.clone()),
            ("since", self.since.clone()),
            ("until", self.until.clone()),
            ("timezone", zone),
        ];
        Ok(given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
    }

    /// Returns the filter with the session ID as typed, which may be the beginning of one. Invalid options fail before
    /// anything is opened.
    pub fn filter(&self, zone: &TimeZone) -> Result<LogFilter, Failure> {
        let whose = self.whose.filter()?;
        let (since, until) = parse_bounds_options(self.since.as_deref(), self.until.as_deref(), zone)?;
        Ok(LogFilter { session: self.session.clone(), since, until, ..whose })
    }
}

impl SessionScopeArgs {
    pub fn filter(&self) -> Result<LogFilter, Failure> {
        check_agents(&self.agent)?;
        Ok(LogFilter {
            agents: self.agent.clone(),
            project: self.project.clone(),
            model: self.model.clone(),
            branch: self.branch.clone(),
            machine: self.machine.clone(),
            ..LogFilter::default()
        })
    }
}

/// Fails if a name is not that of an agent.
pub fn check_agents(names: &[String]) -> Result<(), Failure> {
    let is_unknown = |name: &&String| !AGENTS.iter().any(|agent| agent.name == name.as_str());
    let Some(given) = names.iter().find(is_unknown).cloned() else { return Ok(()) };
    let known = failure::format_name_list(AGENTS.iter().map(|agent| (agent.name, agent.title)));
    Err(Failure::UnknownName { what: "agent", given, known })
}

/// Replaces the typed session ID by the whole one.
pub fn resolve_session(mut filter: LogFilter, library: &LogLibrary) -> Result<LogFilter, Failure> {
    if let Some(given) = filter.session.take() {
        filter.session = Some(library.find_session_of_agents(&given, &filter.agents)?.id);
    }
    Ok(filter)
}

/// Returns the named time zone, or the system's.
pub fn parse_time_zone_option(name: Option<&str>) -> Result<TimeZone, Failure> {
    match name {
        Some(name) => when::parse_time_zone(name).map_err(|bad| bad_time("--timezone", &bad)),
        None => Ok(host::time_zone()),
    }
}

/// Parses the time of an option; of a period, its start.
pub fn parse_time_option(option: &'static str, text: &str, zone: &TimeZone) -> Result<Timestamp, Failure> {
    when::parse_time(text, zone, host::now()).map(|moment| moment.from).map_err(|bad| bad_time(option, &bad))
}

/// Returns the first time that is included and the first that is not.
fn parse_bounds_options(
    since: Option<&str>,
    until: Option<&str>,
    zone: &TimeZone,
) -> Result<(Option<Timestamp>, Option<Timestamp>), Failure> {
    let now = host::now();
    let from = when::parse_time_bounds(since, None, zone, now).map_err(|bad| bad_time("--since", &bad))?.0;
    let to = when::parse_time_bounds(since, until, zone, now).map_err(|bad| bad_time("--until", &bad))?.1;
    Ok((from, to))
}

fn bad_time(option: &'static str, bad: &TimeParseError) -> Failure {
    Failure::BadValue { option, cause: bad.to_string() }
}

/// Loads the prices, with overrides from the named file or the one in the data directory.
pub fn load_prices(named: Option<&Path>, data: &Path) -> Result<Cow<'static, TokenPrices>, Failure> {
    let found = named.map_or_else(
        || TokenPrices::load_for_data_directory(data),
        |path| TokenPrices::load_with_overrides(path).map(Cow::Owned),
    );
    found.map_err(|bad| match bad {
        PriceFileError::Unreadable { path, error } => Failure::Unreadable { path, cause: error },
        other => Failure::Refused(other.to_string()),
    })
}
