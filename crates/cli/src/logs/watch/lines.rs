//! Sessions as lines, one a change: for programs, and for pipes and files.

use std::{
    collections::HashMap,
    io::{self, Write as _},
    time::Duration,
};

use switchboard_event::Timestamp;
use switchboard_logs::live::{RunningSession, SessionChange};

use super::{all::Show, row};
use crate::{
    failure::Failure,
    view::{
        clean,
        figures::{dollars, tokens},
    },
};

/// How often turns and sessions are checked for their end, which shows only as inactivity.
const PATIENCE: Duration = Duration::from_secs(5);

/// One JSON object a change.
#[derive(Default)]
pub struct Json(Told);

/// One line for people a change.
#[derive(Default)]
pub struct Plain(Told);

/// What was told of each session last, and the news in it.
#[derive(Default)]
struct Told(HashMap<String, (RunningSession, String)>);

impl Told {
    /// Tells what is new, and what is over.
    fn tell(
        &mut self,
        running: &[RunningSession],
        say: impl Fn(&RunningSession, bool) -> String,
    ) -> Result<(), Failure> {
        let mut text = String::new();
        for session in running {
            let news = say(&timeless(session), true);
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

/// A session without when it was written and since when it does what it does: that time goes by is no news.
fn timeless(session: &RunningSession) -> RunningSession {
    RunningSession { updated: Timestamp::default(), since: None, ..session.clone() }
}

impl Show for Json {
    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn is_picture(&self) -> bool {
        false
    }

    fn show(&mut self, running: &[RunningSession], _: &[SessionChange]) -> Result<(), Failure> {
        self.0.tell(running, |session, runs| serde_json::to_string(&row::Row::of(session, runs)).unwrap_or_default())
    }
}

impl Show for Plain {
    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn is_picture(&self) -> bool {
        false
    }

    fn show(&mut self, running: &[RunningSession], _: &[SessionChange]) -> Result<(), Failure> {
        self.0.tell(running, plain)
    }
}

fn plain(session: &RunningSession, runs: bool) -> String {
    let facts = &session.facts;
    let doing = if runs { row::doing(session) } else { "over".to_owned() };
    let context = facts.context_used.map(|used| format!("context {}", tokens(used)));
    let cost = session.used.cost_usd.map(dollars);
    let parts = [
        Some(session.updated.to_string()),
        Some(session.agent.clone()),
        Some(session.id.clone()),
        facts.cwd.as_deref().map(clean::line),
        Some(doing),
        context,
        Some(format!("{} tokens", tokens(session.used.total))),
        cost,
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}
