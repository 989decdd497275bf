//! Sessions that could all be meant, as they are told to whoever has to choose.

use std::fmt;

use switchboard_agents::Facts;

use crate::export::line;

/// So many are told.
const SHOWN: usize = 8;

/// As much of a title as tells sessions apart.
const TITLE: usize = 60;

/// Sessions that could all be meant, a line each.
#[derive(Debug)]
pub struct Candidates {
    lines: Vec<String>,
    more: usize,
}

impl Candidates {
    /// Of sessions by their ids, their agents and what is known about them.
    pub(crate) fn of<'a>(sessions: impl IntoIterator<Item = (&'a str, &'a str, &'a Facts)>) -> Self {
        let mut sessions = sessions.into_iter();
        let lines = sessions.by_ref().take(SHOWN).map(|(id, agent, facts)| told(id, agent, facts)).collect();
        Self { lines, more: sessions.count() }
    }
}

fn told(id: &str, agent: &str, facts: &Facts) -> String {
    let title = facts.title.as_deref().or(facts.prompt.as_deref()).unwrap_or_default();
    let title: String = line(title.trim().lines().next().unwrap_or_default()).chars().take(TITLE).collect();
    format!("{id}  {agent}  {title}").trim_end().to_owned()
}

impl fmt::Display for Candidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| write!(f, "\n  {line}"))?;
        if self.more > 0 {
            write!(f, "\n  … and {} more", self.more)?;
        }
        Ok(())
    }
}
