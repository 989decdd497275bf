//! Which sessions, replies and passages are meant: options that most commands have.

use clap::Args;
use jiff::tz::TimeZone;
use switchboard_agents::AGENTS;
use switchboard_logs::{LogFilter, LogLibrary};

use super::times;
use crate::{
    failure::{self, Failure},
    offered,
};

/// Where these options stand in the help.
const HEADING: &str = "Only";

/// Whose it is: what can be asked of sessions that run, too.
#[derive(Args)]
pub struct Whose {
    /// Of an agent; can be repeated
    #[arg(long, help_heading = HEADING, value_name = "AGENT", value_parser = offered::AGENT, hide_possible_values = true)]
    agent: Vec<String>,
    /// In folders whose path has this text in it
    #[arg(long, help_heading = HEADING, value_name = "TEXT")]
    project: Option<String>,
    /// With models whose name has this text in it
    #[arg(long, help_heading = HEADING, value_name = "TEXT")]
    model: Option<String>,
    /// On branches whose name has this text in it
    #[arg(long, help_heading = HEADING, value_name = "TEXT")]
    branch: Option<String>,
    /// Of the machine that `--as` gave this name; `""` is this machine
    #[arg(long, help_heading = HEADING, value_name = "NAME")]
    machine: Option<String>,
}

/// What is wanted of all there is.
#[derive(Args)]
pub struct Only {
    #[command(flatten)]
    whose: Whose,
    /// Of one session with its subagents, by its id, the beginning of it, or `last`
    #[arg(long, help_heading = HEADING, value_name = "ID")]
    session: Option<String>,
    /// From a time on: 2026-11-16, 2026-11, yesterday, 12h, 7d (from the start of that day), or RFC 3339
    #[arg(long, help_heading = HEADING, value_name = "TIME")]
    since: Option<String>,
    /// Up to a time; a day is in it as a whole
    #[arg(long, help_heading = HEADING, value_name = "TIME")]
    until: Option<String>,
    /// The time zone of days and times, such as Europe/Berlin, UTC or +02:00 [default: the system's]
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
}

impl Only {
    /// The time zone in which days begin and times are shown.
    pub fn zone(&self) -> Result<TimeZone, Failure> {
        times::zone(self.timezone.as_deref())
    }

    /// A time zone was named: times are wanted, not how long they are ago.
    pub fn names_zone(&self) -> bool {
        self.timezone.is_some()
    }

    /// What was typed, with a session's id as it was typed: it may be the beginning of one. Fails before anything was
    /// opened if an option makes no sense.
    pub fn filter(&self, zone: &TimeZone) -> Result<LogFilter, Failure> {
        let whose = self.whose.filter()?;
        let (since, until) = times::between(self.since.as_deref(), self.until.as_deref(), zone)?;
        Ok(LogFilter { session: self.session.clone(), since, until, ..whose })
    }
}

impl Whose {
    /// What was typed. Fails if there is no such agent.
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

/// Fails if one of the names is no agent's.
pub fn check_agents(names: &[String]) -> Result<(), Failure> {
    let is_unknown = |name: &&String| !AGENTS.iter().any(|agent| agent.name == name.as_str());
    let Some(given) = names.iter().find(is_unknown).cloned() else { return Ok(()) };
    let known = failure::names(AGENTS.iter().map(|agent| (agent.name, agent.title)));
    Err(Failure::UnknownName { what: "agent", given, known })
}

/// The filter with the whole id of the session that is meant.
pub fn resolve(mut filter: LogFilter, library: &LogLibrary) -> Result<LogFilter, Failure> {
    if let Some(given) = filter.session.take() {
        filter.session = Some(library.find_session_of_agents(&given, &filter.agents)?.id);
    }
    Ok(filter)
}
