//! `switchboard logs list`: the sessions that agents left, the latest first.

mod spent;
mod table;

use std::{
    collections::HashSet,
    io::{self, Write as _},
};

use clap::Args;
use serde_json::{Value, json};
use switchboard_agents::ScanDepth;
use switchboard_logs::{LogFilter, LogLibrary, LogSearchQuery, LogSession, SearchWords, SessionView};

use super::{
    filter::{self, Only},
    place::Place,
};
use crate::{failure::Failure, host, sessions::say, short_ids::ShortIds, terminal::Terminal};
use spent::Spent;
use table::Look;

/// Maximum number of search hits that `--text` considers.
const MOST_HITS: usize = 100_000;

/// List the sessions that agents left on this machine, the latest first
#[derive(Args)]
pub struct List {
    /// Only those in which this is said or done: words, "phrases in quotation marks"
    #[arg(long, value_name = "WORDS")]
    text: Option<String>,
    /// At most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20, conflicts_with = "all")]
    limit: usize,
    /// All of them
    #[arg(long, short)]
    all: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    only: Only,
}

/// Runs the command.
pub fn run(args: &List, place: &Place) -> Result<(), Failure> {
    let zone = args.only.zone()?;
    let wanted = args.only.filter(&zone)?;
    let (library, _) = place.current(ScanDepth::All)?;
    let filter = filter::resolve(wanted, &library)?;
    let mut sessions = sessions(&library, &filter, args.text.as_deref())?;
    let all = sessions.len();
    if !args.all {
        sessions.truncate(args.limit);
    }
    let spent = Spent::of(&library)?;
    if args.json {
        return print(&lines(&sessions, &spent));
    }
    let terminal = Terminal::new();
    let exact = args.only.names_zone() || !terminal.stdout;
    let look = Look { zone: exact.then_some(zone), now: host::now(), home: host::home() };
    print(&table::table(&sessions, &ShortIds::of_library(&library)?, &spent, &look, &terminal))?;
    remark(place, &library, sessions.len(), all)
}

/// The sessions that are meant.
pub fn sessions(library: &LogLibrary, filter: &LogFilter, text: Option<&str>) -> Result<Vec<LogSession>, Failure> {
    let mut sessions = library.list_sessions(filter)?;
    if let Some(text) = text {
        let words = SearchWords::Plain(text.to_owned());
        let query = LogSearchQuery { words, kinds: Vec::new(), filter: filter.clone(), limit: MOST_HITS };
        let hits = library.search(&query)?.hits;
        let with: HashSet<_> = hits.iter().map(|hit| (&hit.agent, &hit.session, &hit.machine)).collect();
        sessions.retain(|session| with.contains(&(&session.agent, &session.id, &session.machine)));
    }
    Ok(sessions)
}

/// Says what is to be said of a list that is empty, or is not all.
fn remark(place: &Place, library: &LogLibrary, shown: usize, all: usize) -> Result<(), Failure> {
    match shown {
        0 if all == 0 && library.list_sessions(&LogFilter::default())?.is_empty() => place.say_nothing_found()?,
        0 if all == 0 => say("no such session"),
        _ if shown < all => say(&format!("… and {} older: --limit N or --all lists more", all - shown)),
        _ => {}
    }
    Ok(())
}

fn lines(sessions: &[LogSession], spent: &Spent) -> String {
    let mut text = String::new();
    for session in sessions {
        let mut object = serde_json::to_value(SessionView::from(session)).unwrap_or(Value::Null);
        if let (Some(fields), Some(used)) = (object.as_object_mut(), spent.of_session(session)) {
            fields.insert("totalTokens".to_owned(), json!(used.tokens));
            fields.insert("costUsd".to_owned(), json!(used.cost_usd));
        }
        text.push_str(&object.to_string());
        text.push('\n');
    }
    text
}

fn print(text: &str) -> Result<(), Failure> {
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}
