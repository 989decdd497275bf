//! One session that runs, in words and in JSON.

use serde::Serialize;
use switchboard_event::{Id, Timestamp};
use switchboard_logs::live::{RunningSession, SessionActivity};

use crate::view::{self, clean};

/// A session as `--json` writes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row<'a> {
    session: &'a str,
    agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    switchboard: Option<&'a Id>,
    running: bool,
    activity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    subagents: usize,
    since: Option<Timestamp>,
    began: Option<Timestamp>,
    updated: Timestamp,
    project: Option<&'a str>,
    branch: Option<&'a str>,
    model: Option<&'a str>,
    title: Option<&'a str>,
    context_used: Option<u64>,
    context_size: Option<u64>,
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    reasoning_tokens: u64,
    total_tokens: u64,
    replies: u64,
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
}

impl<'a> Row<'a> {
    /// What is known of a session.
    pub fn of(session: &'a RunningSession, running: bool) -> Self {
        let facts = &session.facts;
        let used = &session.used;
        let work = work(&session.activity, facts.cwd.as_deref());
        Self {
            session: &session.id,
            agent: &session.agent,
            machine: session.machine.as_deref(),
            switchboard: session.own.as_ref(),
            running,
            activity: session.activity.as_str(),
            tool: work.as_ref().map(|work| work.0.clone()).filter(|name| !name.is_empty()),
            about: work.map(|work| work.1).filter(|about| !about.is_empty()),
            subagents: session.subagents,
            since: session.since,
            began: facts.began,
            updated: session.updated,
            project: facts.cwd.as_deref(),
            branch: facts.branch.as_deref(),
            model: facts.model.as_deref(),
            title: facts.title.as_deref().or(facts.prompt.as_deref()),
            context_used: facts.context_used,
            context_size: facts.context_size,
            input_tokens: used.input,
            output_tokens: used.output,
            cache_read_tokens: used.cache_read,
            cache_write_tokens: used.cache_write,
            reasoning_tokens: used.reasoning,
            total_tokens: used.total,
            replies: used.replies,
            cost_usd: used.cost_usd,
            path: session.path.as_ref().map(|path| path.to_string_lossy().into_owned()),
        }
    }
}

/// A tool and what it works on, or what is asked.
fn work(activity: &SessionActivity, cwd: Option<&str>) -> Option<(String, String)> {
    match activity {
        SessionActivity::Tool(item) => Some(view::work(item, cwd)),
        SessionActivity::Asking(title) => Some((String::new(), clean::line(title))),
        _ => None,
    }
}

/// What it is doing, in a line.
pub fn doing(session: &RunningSession) -> String {
    let cwd = session.facts.cwd.as_deref();
    let inner = session.inner.as_ref().map(|inner| format!(" › {}", words(inner, cwd))).unwrap_or_default();
    let more = match session.subagents {
        0 | 1 => String::new(),
        many => format!(" ({many} subagents)"),
    };
    format!("{}{inner}{more}", words(&session.activity, cwd))
}

fn words(activity: &SessionActivity, cwd: Option<&str>) -> String {
    match (activity, work(activity, cwd)) {
        (SessionActivity::Tool(_), Some((name, about))) => format!("{name} {about}").trim().to_owned(),
        (SessionActivity::Asking(_), Some((_, about))) => format!("needs you: {about}"),
        (SessionActivity::Waiting, _) => "waiting for a prompt".to_owned(),
        (SessionActivity::Retrying, _) => "waiting to try again".to_owned(),
        (SessionActivity::Compacting, _) => "making the context smaller".to_owned(),
        (other, _) => other.as_str().to_owned(),
    }
}
