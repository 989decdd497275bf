//! The lines above a transcript: who, where, when, how much.

use jiff::tz::TimeZone;
use switchboard_agents::find_agent;
use switchboard_event::{Event, EventBody, Usage};
use switchboard_logs::{LogSession, export::format_minute};

use crate::view::{
    clean,
    figures::{bytes, count, dollars, tokens},
    paint,
    style::{BOLD, DIM, YELLOW},
};

/// What is known of a session, by name, in the order in which it is shown.
pub fn facts(session: &LogSession, zone: &TimeZone) -> Vec<(&'static str, String)> {
    let facts = &session.facts;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let title = find_agent(&session.agent).map_or(session.agent.as_str(), |agent| agent.title);
    let version = facts.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let model = facts.model.as_deref().map(|model| format!(" · {model}")).unwrap_or_default();
    let time = |at: Option<_>| at.map(|at| format_minute(at, zone)).unwrap_or_default();
    let own = session.own.as_ref().map(|own| format!("{} ({})", own.id, own.state.name()));
    let subagents = session.subagents.len();
    vec![
        ("session", session.id.clone()),
        ("agent", format!("{title}{version}{model}")),
        ("machine", text(&session.machine)),
        ("project", text(&facts.cwd)),
        ("branch", text(&facts.branch)),
        ("began", time(facts.began)),
        ("updated", time(facts.updated)),
        ("turns", facts.prompts.to_string()),
        ("subagents", if subagents == 0 { String::new() } else { subagents.to_string() }),
        ("switchboard", own.unwrap_or_default()),
    ]
}

/// What it is called, cut to what fits.
pub fn title(session: &LogSession) -> String {
    cut(whole_title(session))
}

/// As much of a title as fits.
pub fn cut(title: &str) -> String {
    title.chars().take(120).collect()
}

/// What it is called: its title, else what it began with.
pub fn whole_title(session: &LogSession) -> &str {
    let said = |text: &&String| !text.trim().is_empty();
    let title = session.facts.title.as_ref().filter(said).or(session.facts.prompt.as_ref().filter(said));
    title.and_then(|title| title.trim().lines().next()).unwrap_or(&session.id)
}

/// The lines above a transcript.
pub fn header(session: &LogSession, events: &[Event], zone: &TimeZone, colour: bool) -> String {
    let mut text = paint(colour, BOLD, &clean::line(&title(session)));
    for (is, word) in [(session.gone, "gone"), (session.archived, "archived")] {
        if is {
            text.push_str(&paint(colour, YELLOW, &format!("  [{word}]")));
        }
    }
    text.push('\n');
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("  {}  {}\n", paint(colour, DIM, &format!("{name:<11}")), clean::line(value)));
        }
    };
    facts(session, zone).iter().for_each(|(name, value)| line(name, value));
    line("used", &used(events));
    line("log", &logs(session));
    text
}

fn used(events: &[Event]) -> String {
    let mut usage = Usage::default();
    for event in events {
        if let EventBody::Usage(used) = &event.body
            && !used.cumulative
        {
            usage.add(used);
        }
    }
    if usage.is_zero() {
        return String::new();
    }
    let cached = if usage.cache_read == 0 { String::new() } else { format!(" ({} cached)", tokens(usage.cache_read)) };
    let cost =
        usage.cost_usd.filter(|cost| *cost > 0.0).map(|cost| format!(" · {}", dollars(cost))).unwrap_or_default();
    format!("{} in{cached} · {} out{cost}", tokens(usage.all_input()), tokens(usage.output))
}

fn logs(session: &LogSession) -> String {
    let Some(first) = session.files.first() else { return String::new() };
    let more = session.files.len() - 1;
    let more = if more > 0 { format!(" and {}", count(more, "more file")) } else { String::new() };
    let size = session.bytes.map(|size| format!(" · {}", bytes(size))).unwrap_or_default();
    format!("{}{more}{size}", first.display())
}
