//! `switchboard sessions list`: the sessions there are, newest first.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use clap::{Args, ValueEnum};
use switchboard_serve::view::read_session_view;
use switchboard_store::{SessionFilter, SessionLog, SessionPhase, SessionRecord, StoreError};

use super::{say, table::table};
use crate::{data, failure::Failure, host, offered, short_ids::ShortIds, terminal::Terminal};

/// List sessions, newest first
///
/// Those that wait for an answer are marked: `switchboard sessions approve ID` gives one, `follow` asks in place.
#[derive(Args)]
pub struct List {
    /// Only those of an agent
    #[arg(long, value_name = "AGENT", value_parser = offered::AGENT, hide_possible_values = true)]
    agent: Option<String>,
    /// Only those of a project
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only those in a state; open are all that have not ended
    #[arg(long, value_name = "STATE")]
    state: Option<Only>,
    /// Only those that work in a folder
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Only those with this text in their title or first prompt
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Only those that are put away, which are not listed otherwise
    #[arg(long)]
    archived: bool,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, conflicts_with = "all")]
    limit: usize,
    /// All of them
    #[arg(long, short)]
    all: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A state, as people ask for it.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    /// Has not ended
    Open,
    /// The agent works
    Running,
    /// The agent waits for an answer
    Waiting,
    /// The agent waits for a prompt
    Idle,
    /// It ended well
    Done,
    /// It ended badly
    Failed,
    /// Somebody ended it
    Cancelled,
}

impl Only {
    fn states(self) -> &'static [SessionPhase] {
        match self {
            Self::Open => &[SessionPhase::Running, SessionPhase::Waiting, SessionPhase::Idle],
            Self::Running => &[SessionPhase::Running],
            Self::Waiting => &[SessionPhase::Waiting],
            Self::Idle => &[SessionPhase::Idle],
            Self::Done => &[SessionPhase::Done],
            Self::Failed => &[SessionPhase::Failed],
            Self::Cancelled => &[SessionPhase::Cancelled],
        }
    }
}

/// Runs the command.
pub fn run(args: &List, data: Option<PathBuf>) -> Result<(), Failure> {
    let folder = host::absolute(&host::data_folder(data.clone())?);
    let log = data::log(data)?;
    // One more than is shown, to know whether there are more.
    let mut sessions = args.sessions(&*log, (!args.all).then_some(args.limit.saturating_add(1)))?;
    let more = !args.all && sessions.len() > args.limit;
    if !args.all {
        sessions.truncate(args.limit);
    }
    let terminal = Terminal::new();
    let text = match args.json {
        true => lines(&*log, sessions)?,
        false => table(&sessions, &ShortIds::of_data(&folder, &*log)?, &terminal),
    };
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)?;
    if !args.json {
        args.remark(text.is_empty(), more);
    }
    Ok(())
}

impl List {
    fn sessions(&self, log: &dyn SessionLog, limit: Option<usize>) -> Result<Vec<SessionRecord>, StoreError> {
        let cwd = self.cwd.as_ref().map(|cwd| std::fs::canonicalize(cwd).unwrap_or_else(|_| host::absolute(cwd)));
        log.list_sessions(&SessionFilter {
            agent: self.agent.clone(),
            project: self.project.clone(),
            cwd: cwd.map(|cwd| cwd.to_string_lossy().into_owned()),
            states: self.state.map(|state| state.states().to_vec()).unwrap_or_default(),
            text: self.text.clone(),
            archived: Some(self.archived),
            limit,
            ..SessionFilter::default()
        })
    }

    /// Says what is to be said of a list that is empty, or is not all.
    fn remark(&self, empty: bool, more: bool) {
        let asks = [&self.agent, &self.project, &self.text].iter().any(|what| what.is_some());
        match (empty, more) {
            (true, _) if asks || self.archived || self.state.is_some() || self.cwd.is_some() => say("no such session"),
            (true, _) => say("no sessions yet\nhint: start one with: switchboard run AGENT \"TASK\""),
            (_, true) => say("… and older ones: --limit N or --all lists more"),
            _ => {}
        }
    }
}

/// One JSON object a line, as a server shows sessions.
fn lines(log: &dyn SessionLog, sessions: Vec<SessionRecord>) -> Result<String, Failure> {
    let mut text = String::new();
    for session in sessions {
        let view = read_session_view(log, session)?;
        text.push_str(&serde_json::to_string(&view).unwrap_or_default());
        text.push('\n');
    }
    Ok(text)
}
