//! Sessions that an ambiguous ID matches, formatted for selection.

use std::fmt;

use switchboard_agents::SessionFacts;

use crate::{LogSession, export::visible_line};

/// Long enough to tell sessions apart.
const MAX_TITLE_CHARS: usize = 60;

/// One line per matching session. The list is complete: the wanted session may be the last one.
#[derive(Debug)]
pub struct SessionCandidates(Vec<String>);

impl SessionCandidates {
    pub(crate) fn from_sessions<'a>(sessions: impl IntoIterator<Item = (&'a str, &'a str, &'a SessionFacts)>) -> Self {
        Self(sessions.into_iter().map(|(id, agent, facts)| session_summary_line(id, agent, facts)).collect())
    }
}

impl LogSession {
    /// Describes the session in one line: its full ID, agent and title.
    #[must_use]
    pub fn summary_line(&self) -> String {
        session_summary_line(&self.id, &self.agent, &self.facts)
    }
}

fn session_summary_line(id: &str, agent: &str, facts: &SessionFacts) -> String {
    let title = facts.title.as_deref().or(facts.prompt.as_deref()).unwrap_or_default();
    let title: String =
        visible_line(title.trim().lines().next().unwrap_or_default()).chars().take(MAX_TITLE_CHARS).collect();
    format!("{id}  {agent}  {title}").trim_end().to_owned()
}

impl fmt::Display for SessionCandidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}
