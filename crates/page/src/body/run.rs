//! The start and the end of a run.

use switchboard_event::{EndReason, SessionEnded, SessionStarted};

use super::{EntryBody, figures, pile::BodyBuilder};
use crate::html::{SafeHtml, code_title, element, line, plain};

#[must_use]
pub fn began(started: &SessionStarted) -> EntryBody {
    let (info, config) = (&started.info, &started.config);
    let mut pile = BodyBuilder::default();
    let rows = [
        ("Folder", info.cwd.as_deref()),
        ("Model", info.model.as_deref()),
        ("Mode", info.mode.as_deref()),
        ("Version", info.version.as_deref()),
        ("Session", started.agent_session.as_ref().map(|id| id.as_str())),
    ];
    let rows: Vec<SafeHtml> = rows.into_iter().filter_map(|(name, value)| Some(row(name, value?))).collect();
    if !rows.is_empty() {
        pile.line(element("table", "kv", &[element("tbody", "", &rows)]));
    }
    let title = match &started.resumed {
        Some(resumed) if resumed.fork => "Forked",
        Some(_) => "Resumed",
        None if started.run > 1 => "Started again",
        None => "Started",
    };
    let mut body = pile.body("session", line(title));
    body.label = info.model.clone().or_else(|| config.model.clone());
    body.fold = true;
    body
}

#[must_use]
pub fn ended(ended: &SessionEnded) -> EntryBody {
    let mut pile = BodyBuilder::default();
    if let Some(error) = &ended.error {
        pile.add(plain(&error.message));
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
    words.extend((ended.duration_ms > 0).then(|| figures::duration(ended.duration_ms)));
    let mut body = pile.body("session", line(title));
    body.label = (!words.is_empty()).then(|| words.join(" · "));
    body
}

fn row(name: &str, value: &str) -> SafeHtml {
    element("tr", "", &[element("th", "", &[line(name)]), element("td", "", &[code_title(value)])])
}
