//! `switchboard sessions show`: a session as it lies in the log, whether it has ended or not.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;
use switchboard_store::SessionRecord;

use super::{
    about, found,
    history::{History, Place},
};
use crate::{
    data, dialects,
    failure::Failure,
    host, offered,
    terminal::Terminal,
    view::{Options, Output, Screen, View},
    watch::{Look, Writer},
};

/// Show a session: what is known of it, and what was said and done
///
/// Shows what has happened so far; `switchboard sessions follow` also shows what comes.
#[derive(Args)]
pub struct Show {
    /// The session: its id or the beginning of it, `last`, or N for the N-th newest
    #[arg(value_name = "SESSION")]
    session: String,
    /// Only the last N turns
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Do not show what the agent thinks
    #[arg(long)]
    no_reasoning: bool,
    /// Write messages of the default dialect, one JSON object a line
    #[arg(long, conflicts_with = "dialect")]
    json: bool,
    /// Write messages of a dialect, one JSON object a line; `switchboard translate --help` lists them
    #[arg(long, value_name = "DIALECT", value_parser = offered::DIALECT, hide_possible_values = true)]
    dialect: Option<String>,
}

/// Runs the command.
pub fn run(args: &Show, data: Option<PathBuf>) -> Result<(), Failure> {
    let dialect = dialects::chosen(args.json, args.dialect.as_deref())?;
    let log = data::log(data)?;
    let session = found::find(&*log, &args.session)?;
    let history = History::new(&*log, &session);
    let place = args.last.map(|turns| history.last(turns)).transpose()?.unwrap_or_default();
    match dialect {
        Some(dialect) => write(&history, Writer::new(dialect).after(place.after)),
        None => show(args, &session, &history, &place),
    }
}

fn write(history: &History<'_>, mut writer: Writer) -> Result<(), Failure> {
    history.pages(0).try_for_each(|page| {
        page?.iter().for_each(|event| writer.event(event));
        writer.flush()
    })
}

/// Header and transcript, both to standard output: the agent's answer is not separated here.
fn show(args: &Show, session: &SessionRecord, history: &History<'_>, place: &Place) -> Result<(), Failure> {
    let terminal = Terminal::new();
    let look = Look { reasoning: !args.no_reasoning, first_prompt: true, ..Look::default() };
    let options = Options { screen: Screen::Both, resume: false, ..look.options(&terminal) };
    let mut tally = about::Tally::default();
    history.pages(0).try_for_each(|page| {
        page?.iter().for_each(|event| tally.see(event));
        Ok::<_, Failure>(())
    })?;
    print(&about::header(session, &tally, host::now(), terminal.stdout && terminal.colour))?;
    let (mut view, mut out) = (View::new(options), Output::default());
    place.opening.iter().for_each(|event| view.event(event, &mut out));
    for page in history.pages(place.after) {
        page?.iter().for_each(|event| view.event(event, &mut out));
        out.pieces().try_for_each(|(_, text)| print(text))?;
        out.clear();
    }
    view.pause(&mut out);
    out.pieces().try_for_each(|(_, text)| print(text))
}

fn print(text: &str) -> Result<(), Failure> {
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}
