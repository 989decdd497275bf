//! Runs, turns and notices.

use switchboard_event::{
    Denied, EndReason, Level, Notice, Origin, SessionEnded, SessionStarted, Stop, Topic, TurnCompleted, TurnStarted,
    TurnStatus, Usage,
};

use super::tool_calls::{input, output};
use super::{BodyBuilder, EntryBody, format_cost, format_duration, format_tokens};
use crate::html::{SafeHtml, code_title, element, line, markdown, plain, terminal, words};

#[must_use]
pub fn began(started: &SessionStarted) -> EntryBody {
    let (info, config) = (&started.info, &started.config);
    let mut builder = BodyBuilder::default();
    let rows = [
        ("Folder", info.cwd.as_deref()),
        ("Model", info.model.as_deref()),
        ("Mode", info.mode.as_deref()),
        ("Version", info.version.as_deref()),
        ("Session", started.agent_session.as_ref().map(|id| id.as_str())),
    ];
    let rows: Vec<SafeHtml> = rows.into_iter().filter_map(|(name, value)| Some(row(name, value?))).collect();
    if !rows.is_empty() {
        builder.line(element("table", "kv", &[element("tbody", "", &rows)]));
    }
    let title = match &started.resumed {
        Some(resumed) if resumed.fork => "Forked",
        Some(_) => "Resumed",
        None if started.run > 1 => "Started again",
        None => "Started",
    };
    let mut body = builder.body("session", line(title));
    body.label = info.model.clone().or_else(|| config.model.clone());
    body.fold = true;
    body
}

#[must_use]
pub fn ended(ended: &SessionEnded) -> EntryBody {
    let mut builder = BodyBuilder::default();
    if let Some(error) = &ended.error {
        builder.add(plain(&error.message));
    }
    let title = match ended.reason {
        EndReason::Completed => "Ended",
        EndReason::Failed => "Failed",
        EndReason::Cancelled => "Cancelled",
        EndReason::Timeout => "Took too long",
    };
    let mut words = Vec::new();
    words.extend(ended.exit_code.filter(|code| *code != 0).map(|code| format!("exit {code}")));
    words.extend(ended.signal.map(|signal| format!("signal {signal}")));
    words.extend((ended.duration_ms > 0).then(|| format_duration(ended.duration_ms)));
    let mut body = builder.body("session", line(title));
    body.label = (!words.is_empty()).then(|| words.join(" · "));
    body
}

fn row(name: &str, value: &str) -> SafeHtml {
    element("tr", "", &[element("th", "", &[line(name)]), element("td", "", &[code_title(value)])])
}

/// Renders a turn, with its usage as far as known.
#[must_use]
pub fn turn(started: &TurnStarted, completed: Option<&TurnCompleted>, usage: Option<&Usage>) -> EntryBody {
    let mut builder = BodyBuilder::default();
    if let Some(completed) = completed {
        add_result(&mut builder, completed);
    }
    let mut body = builder.body("turn", line(origin(started.origin)));
    body.label = completed.map(|completed| turn_label(completed, usage));
    body
}

fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Prompt => "Prompt",
        Origin::Background => "Background work ended",
        Origin::Command => "Command",
    }
}

fn add_result(builder: &mut BodyBuilder, completed: &TurnCompleted) {
    if let Some(error) = &completed.error {
        builder.add(plain(&error.message));
    }
    completed.denied.iter().take(50).for_each(|denied| add_denied_call(builder, denied));
    if let Some(result) = &completed.result {
        match super::tool_calls::text_or_json(result) {
            Some(_) => output(builder, result),
            None => builder.add(markdown(result)),
        }
    }
}

fn add_denied_call(builder: &mut BodyBuilder, denied: &Denied) {
    builder.line(element("p", "note", &[words(&[line("Not allowed:"), code_title(&denied.tool)])]));
    if let Some(given) = &denied.input {
        let mut inner = BodyBuilder::default();
        input(&mut inner, given);
        builder.folded("Input", inner.shown());
    }
}

fn turn_label(completed: &TurnCompleted, usage: Option<&Usage>) -> String {
    let mut words = vec![describe_stop(completed).to_owned()];
    words.extend(completed.duration_ms.map(format_duration));
    words.extend(completed.steps.filter(|steps| *steps > 1).map(|steps| format!("{steps} steps")));
    if let Some(usage) = usage.filter(|usage| !usage.is_zero()) {
        let (input, output) = (format_tokens(usage.all_input()), format_tokens(usage.output));
        words.push(format!("{input} in, {output} out"));
    }
    let cost = completed.cost_usd.or_else(|| usage?.cost_usd);
    words.extend(cost.filter(|cost| *cost > 0.0).map(format_cost));
    words.join(" · ")
}

fn describe_stop(completed: &TurnCompleted) -> &'static str {
    match (completed.status, completed.stop) {
        (_, Stop::MaxTokens) => "reply too long",
        (_, Stop::MaxTurns) => "turn limit reached",
        (_, Stop::Budget) => "budget used up",
        (_, Stop::Refusal) => "refused",
        (TurnStatus::Interrupted, _) | (_, Stop::Cancelled) => "interrupted",
        (TurnStatus::Failed, _) | (_, Stop::Error) => "failed",
        (TurnStatus::Completed, Stop::EndTurn) => "done",
    }
}

/// Renders a notice; `None` for the many that are irrelevant to users.
#[must_use]
pub fn notice(notice: &Notice) -> Option<EntryBody> {
    let is_bad = matches!(notice.level, Level::Warning | Level::Error);
    let shown = match notice.topic {
        _ if is_bad || notice.error.is_some() => true,
        Topic::Hook => notice.status.as_deref() == Some("failed"),
        Topic::Stdout | Topic::Stderr => notice.text.as_deref().is_some_and(|text| !text.trim().is_empty()),
        Topic::Task | Topic::ToolSummary => notice.text.is_some(),
        topic => ALWAYS_SHOWN_TOPICS.contains(&topic),
    };
    shown.then(|| notice_body(notice, is_bad))
}

/// Topics that are shown regardless of the level.
const ALWAYS_SHOWN_TOPICS: &[Topic] = &[
    Topic::Retry,
    Topic::Warning,
    Topic::Compaction,
    Topic::Interrupt,
    Topic::ModelChanged,
    Topic::Auth,
    Topic::Retracted,
];

fn notice_body(notice: &Notice, is_bad: bool) -> EntryBody {
    let mut builder = BodyBuilder::default();
    let mut title = topic_name(notice.topic);
    let text = notice.text.as_deref().or(notice.name.as_deref()).map(str::trim).filter(|text| !text.is_empty());
    let is_output = matches!(notice.topic, Topic::Stdout | Topic::Stderr);
    match text {
        Some(text) if is_output || text.contains('\n') || text.len() > 200 => builder.add(terminal(text)),
        Some(text) => builder.line(element("p", "", &[line(text)])),
        None => {}
    }
    if let Some(error) = notice.error.as_ref().filter(|error| text != Some(error.message.as_str())) {
        builder.add(terminal(&error.message));
    }
    if title.is_empty() {
        title = "Notice";
    }
    let mut body = builder.body("notice", line(title));
    body.label = notice.status.clone();
    body.fold = !is_bad && (is_output || notice.topic == Topic::ToolSummary || body.size > 10);
    body
}

fn topic_name(topic: Topic) -> &'static str {
    match topic {
        Topic::Retry => "Trying again",
        Topic::RateLimit => "Rate limit",
        Topic::Warning => "Warning",
        Topic::Hook => "Hook",
        Topic::Auth => "Logging in",
        Topic::Compaction => "Context made smaller",
        Topic::Interrupt => "Interrupted",
        Topic::Retracted => "Taken back",
        Topic::Late => "Late news",
        Topic::Task => "Background task",
        Topic::ToolSummary => "Summary",
        Topic::ModelChanged => "Model changed",
        Topic::Stdout => "Standard output",
        Topic::Stderr => "Standard error",
        Topic::Status => "Status",
        Topic::Control
        | Topic::Echo
        | Topic::Step
        | Topic::Snapshot
        | Topic::Commands
        | Topic::Heartbeat
        | Topic::Unknown => "",
    }
}
