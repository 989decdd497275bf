//! Running sessions as lines, one per change: JSON for programs, text for pipes and files.

use std::{
    collections::HashMap,
    io::{self, Write as _},
    time::Duration,
};

use serde::Serialize;
use switchboard_event::{Id, Timestamp};
use switchboard_logs::live::{RunningSession, SessionActivity, SessionChange};

use super::RunningSessionsDisplay;
use crate::{
    failure::Failure,
    view::{
        figures::{format_dollars, format_tokens},
        sanitize::sanitize_line,
        {self},
    },
};

/// How often turns and sessions are checked for their end, which shows only as inactivity.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Default)]
pub struct JsonLines(ReportedSessions);

#[derive(Default)]
pub struct PlainLines(ReportedSessions);

/// The last reported state of each session, and its line without times.
#[derive(Default)]
struct ReportedSessions(HashMap<String, (RunningSession, String)>);

impl ReportedSessions {
    /// Reports sessions that changed or ended.
    fn tell(
        &mut self,
        running: &[RunningSession],
        say: impl Fn(&RunningSession, bool) -> String,
    ) -> Result<(), Failure> {
        let mut text = String::new();
        for session in running {
            let news = say(&without_times(session), true);
            if self.0.get(&session.id).is_none_or(|(_, told)| *told != news) {
                text.push_str(&say(session, true));
                text.push('\n');
                self.0.insert(session.id.clone(), (session.clone(), news));
            }
        }
        let runs = |id: &String| running.iter().any(|session| session.id == *id);
        let over: Vec<String> = self.0.keys().filter(|id| !runs(id)).cloned().collect();
        for (session, _) in over.iter().filter_map(|id| self.0.remove(id)) {
            text.push_str(&say(&session, false));
            text.push('\n');
        }
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Output)
    }
}

/// Removes the times: that time passes is not a change.
fn without_times(session: &RunningSession) -> RunningSession {
    RunningSession { updated: Timestamp::default(), since: None, ..session.clone() }
}

impl RunningSessionsDisplay for JsonLines {
    fn patience(&self) -> Duration {
        CHECK_INTERVAL
    }

    fn is_picture(&self) -> bool {
        false
    }

    fn show(&mut self, running: &[RunningSession], _: &[SessionChange]) -> Result<(), Failure> {
        self.0.tell(running, |session, runs| {
            serde_json::to_string(&RunningSessionJson::new(session, runs)).unwrap_or_default()
        })
    }
}

impl RunningSessionsDisplay for PlainLines {
    fn patience(&self) -> Duration {
        CHECK_INTERVAL
    }

    fn is_picture(&self) -> bool {
        false
    }

    fn show(&mut self, running: &[RunningSession], _: &[SessionChange]) -> Result<(), Failure> {
        self.0.tell(running, plain_line)
    }
}

fn plain_line(session: &RunningSession, runs: bool) -> String {
    let facts = &session.facts;
    let doing = if runs { describe_activity(session) } else { "over".to_owned() };
    let context = facts.context_used.map(|used| format!("context {}", format_tokens(used)));
    let cost = session.used.cost_usd.map(format_dollars);
    let parts = [
        Some(session.updated.to_string()),
        Some(session.agent.clone()),
        Some(session.id.clone()),
        facts.cwd.as_deref().map(sanitize_line),
        Some(doing),
        context,
        Some(format!("{} tokens", format_tokens(session.used.total))),
        cost,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

/// A session in the output of `--json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunningSessionJson<'a> {
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

impl<'a> RunningSessionJson<'a> {
    pub fn new(session: &'a RunningSession, running: bool) -> Self {
        let facts = &session.facts;
        let used = &session.used;
        let work = tool_or_question(&session.activity, facts.cwd.as_deref());
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

/// Returns the tool and its subject, or the question.
fn tool_or_question(activity: &SessionActivity, cwd: Option<&str>) -> Option<(String, String)> {
    match activity {
        SessionActivity::Tool(item) => Some(view::describe_call(item, cwd)),
        SessionActivity::Asking(title) => Some((String::new(), sanitize_line(title))),
        _ => None,
    }
}

pub fn describe_activity(session: &RunningSession) -> String {
    let cwd = session.facts.cwd.as_deref();
    let inner = session.inner.as_ref().map(|inner| format!(" › {}", activity_text(inner, cwd))).unwrap_or_default();
    let more = match session.subagents {
        0 | 1 => String::new(),
        many => format!(" ({many} subagents)"),
    };
    format!("{}{inner}{more}", activity_text(&session.activity, cwd))
}

fn activity_text(activity: &SessionActivity, cwd: Option<&str>) -> String {
    match (activity, tool_or_question(activity, cwd)) {
        (SessionActivity::Tool(_), Some((name, about))) => format!("{name} {about}").trim().to_owned(),
        (SessionActivity::Asking(_), Some((_, about))) => format!("needs you: {about}"),
        (SessionActivity::Waiting, _) => "waiting for a prompt".to_owned(),
        (SessionActivity::Retrying, _) => "waiting to try again".to_owned(),
        (SessionActivity::Compacting, _) => "making the context smaller".to_owned(),
        (other, _) => other.as_str().to_owned(),
    }
}
