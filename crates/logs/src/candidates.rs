//! Sessions that an id could mean, as they are listed for the person who has to choose.

use std::fmt;

use switchboard_agents::Facts;

use crate::{Session, export::line};

/// As much of a title as tells sessions apart.
const MAX_TITLE_CHARS: usize = 60;

/// Sessions that could all be meant, one line each. None is left out: the one that is meant may be the last.
#[derive(Debug)]
pub struct Candidates(Vec<String>);

impl Candidates {
    /// Of sessions by their ids, their agents and what is known about them.
    pub(crate) fn of<'a>(sessions: impl IntoIterator<Item = (&'a str, &'a str, &'a Facts)>) -> Self {
        Self(sessions.into_iter().map(|(id, agent, facts)| describe(id, agent, facts)).collect())
    }
}

impl Session {
    /// Describes the session in one line: its whole id, its agent, its title.
    #[must_use]
    pub fn describe(&self) -> String {
        describe(&self.id, &self.agent, &self.facts)
    }
}

fn describe(id: &str, agent: &str, facts: &Facts) -> String {
    let title = facts.title.as_deref().or(facts.prompt.as_deref()).unwrap_or_default();
    let title: String = line(title.trim().lines().next().unwrap_or_default()).chars().take(MAX_TITLE_CHARS).collect();
    format!("{id}  {agent}  {title}").trim_end().to_owned()
}

impl fmt::Display for Candidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}
