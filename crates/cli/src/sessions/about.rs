//! What is known of a session as a whole, for people: who, where, when, how it ended, what it used.

use switchboard_agents::find_agent;
use switchboard_event::{Event, EventBody, Timestamp, Usage};
use switchboard_store::SessionRecord;

use super::row::{Row, age};
use crate::view::{
    clean,
    figures::{count, dollars, duration, tokens},
    paint,
    style::{BOLD, DIM},
};

/// What the events of a session say about all of it.
#[derive(Default)]
pub struct Tally {
    model: Option<String>,
    version: Option<String>,
    usage: Usage,
    /// A running total of the agent, where it gives no figures to add.
    total: Option<Usage>,
    /// What turns cost, where replies do not say it.
    cost: Option<f64>,
}

impl Tally {
    /// Takes note of an event.
    pub fn see(&mut self, event: &Event) {
        match &event.body {
            EventBody::SessionStarted(started) => {
                let info = &started.info;
                self.version = info.version.clone().or(self.version.take());
                self.model = info.model.clone().or_else(|| started.config.model.clone()).or(self.model.take());
            }
            EventBody::SessionUpdated(updated) => self.model = updated.info.model.clone().or(self.model.take()),
            EventBody::Usage(usage) if usage.cumulative => self.total = Some((**usage).clone()),
            EventBody::Usage(usage) => self.usage.add(usage),
            EventBody::TurnCompleted(turn) if event.thread.is_none() => {
                self.cost = turn.cost_usd.map(|cost| cost + self.cost.unwrap_or_default()).or(self.cost);
            }
            _ => {}
        }
    }

    /// Tokens and cost.
    fn used(&self) -> String {
        let usage = if self.usage.is_zero() { self.total.as_ref().unwrap_or(&self.usage) } else { &self.usage };
        let mut words = Vec::new();
        if !usage.is_zero() {
            let cached = match usage.cache_read {
                0 => String::new(),
                read => format!(" ({} cached)", tokens(read)),
            };
            words.push(format!("{} in{cached} · {} out", tokens(usage.all_input()), tokens(usage.output)));
        }
        let cost = self.cost.or(usage.cost_usd).filter(|cost| *cost > 0.0);
        words.extend(cost.map(dollars));
        words.join(" · ")
    }
}

/// The lines above a transcript.
pub fn header(session: &SessionRecord, tally: &Tally, now: Timestamp, colour: bool) -> String {
    let row = Row::of(session, now);
    let (id, state) = (clean::line(&session.id), row.state);
    let mut text = format!("{}  {}\n", paint(colour, BOLD, &id), paint(colour, state.style(), state.word()));
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("  {}  {}\n", paint(colour, DIM, &format!("{name:<8}")), clean::line(&value)));
        }
    };
    line("title", session.title.clone().unwrap_or_default());
    line("agent", who(session, tally));
    line("folder", session.cwd.clone());
    line("project", session.project.clone().unwrap_or_default());
    line("began", format!("{} ({} ago)", time(session.created), row.age));
    line("ended", session.ended.map(|ended| ended_at(session, ended, now)).unwrap_or_default());
    line("why", why(session));
    line("turns", turns(session));
    line("used", tally.used());
    line("its id", session.agent_session.as_ref().map(ToString::to_string).unwrap_or_default());
    text + "\n"
}

fn who(session: &SessionRecord, tally: &Tally) -> String {
    let title = find_agent(&session.agent).map_or_else(|| session.agent.to_string(), |agent| agent.title.to_owned());
    let version = tally.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let model = tally.model.as_deref().map(|model| format!(" · {model}")).unwrap_or_default();
    format!("{title}{version}{model}")
}

fn ended_at(session: &SessionRecord, ended: Timestamp, now: Timestamp) -> String {
    let took = duration(ended.millis_since(session.created));
    format!("{} ({} ago), after {took}", time(ended), age(now.millis_since(ended)))
}

fn why(session: &SessionRecord) -> String {
    let end = session.parse_end().ok().flatten();
    end.and_then(|end| end.error).map(|error| error.message).unwrap_or_default()
}

fn turns(session: &SessionRecord) -> String {
    let runs = if session.runs > 1 { format!(" in {} runs", session.runs) } else { String::new() };
    let turns = usize::try_from(session.turns).unwrap_or_default();
    format!("{}{runs}, {} events", count(turns, "turn"), session.head)
}

/// A time to the second.
fn time(at: Timestamp) -> String {
    let text = at.to_string().replace('T', " ");
    format!("{} UTC", text.get(..19).unwrap_or(&text))
}
