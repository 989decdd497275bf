//! `switchboard logs search`: where something was said or done, the best first.

use std::{
    io::{self, Write as _},
    ops::Range,
};

use clap::{Args, ValueEnum};
use jiff::tz::TimeZone;
use switchboard_agents::{PassageKind, ScanDepth};
use switchboard_logs::{HitView, LogSearchQuery, SearchHit, SearchResults, SearchWords, export::format_minute};

use super::{
    filter::{self, Only},
    place::Place,
};
use crate::{
    failure::Failure,
    sessions::say,
    short_ids::ShortIds,
    terminal::Terminal,
    view::{
        clean,
        pieces::{self, Piece},
        style::{BOLD, CYAN, DIM, PLAIN, YELLOW},
    },
};

/// Search what was said and done, the best hits first
///
/// All words must be in a passage, whatever their case. "Quotation marks" make a phrase, and a word with * at its end is
/// the beginning of a word.
#[derive(Args)]
pub struct Search {
    /// What to search for
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    /// It is a regular expression, whatever the case; (?-i) minds it
    #[arg(long, short = 'e')]
    regex: bool,
    /// In what: what people said, what agents said, tools with what they were given and gave back, thoughts
    #[arg(long = "in", value_name = "WHERE", value_delimiter = ',')]
    within: Vec<Within>,
    /// At most so many hits
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    limit: usize,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    only: Only,
}

/// Where to search.
#[derive(Clone, Copy, ValueEnum)]
enum Within {
    /// What people said
    User,
    /// What agents said
    Assistant,
    /// What tools were given and gave back
    Tools,
    /// What agents thought
    Thinking,
    /// The rest: what was put in, summaries, what local commands printed
    System,
}

impl Within {
    fn kinds(self) -> &'static [PassageKind] {
        match self {
            Self::User => &[PassageKind::UserMessage],
            Self::Assistant => &[PassageKind::AssistantMessage],
            Self::Tools => &[PassageKind::ToolCall, PassageKind::ToolResult],
            Self::Thinking => &[PassageKind::Reasoning],
            Self::System => {
                &[PassageKind::SystemMessage, PassageKind::SessionSummary, PassageKind::Meta, PassageKind::Log]
            }
        }
    }
}

/// Runs the command.
pub fn run(args: &Search, place: &Place) -> Result<(), Failure> {
    let zone = args.only.zone()?;
    let wanted = args.only.filter(&zone)?;
    args.check()?;
    let (library, report, found) = place.ask(ScanDepth::All, |library| {
        let query = LogSearchQuery {
            words: args.query(),
            kinds: args.within.iter().flat_map(|within| within.kinds()).copied().collect(),
            filter: filter::resolve(wanted.clone(), library)?,
            limit: args.limit,
        };
        Ok(library.search(&query)?)
    })?;
    if args.json {
        return found.hits.iter().try_for_each(|hit| {
            let line = serde_json::to_string(&HitView::from(hit)).unwrap_or_default();
            print(&format!("{line}\n"))
        });
    }
    if found.hits.is_empty() && report.files == 0 {
        return place.say_nothing_found();
    }
    show(&found, &ShortIds::of_library(&library)?, &zone, &Terminal::new())
}

impl Search {
    /// There must be something to search for: more than what makes phrases and beginnings of words.
    fn check(&self) -> Result<(), Failure> {
        let is_something = |c: char| !c.is_whitespace() && (self.regex || !"\"*".contains(c));
        if self.words.iter().any(|word| word.contains(is_something)) {
            return Ok(());
        }
        Err(Failure::BadValue { option: "WORDS", cause: "there is nothing to search for".to_owned() })
    }

    /// What was typed: a shell has taken quotation marks away, so that an argument of several words is a phrase.
    fn query(&self) -> SearchWords {
        if self.regex {
            return SearchWords::Regex(self.words.join(" "));
        }
        let phrase = |word: &String| match word {
            word if word.contains(char::is_whitespace) && !word.contains('"') && self.words.len() > 1 => {
                format!("\"{word}\"")
            }
            word => word.clone(),
        };
        SearchWords::Plain(self.words.iter().map(phrase).collect::<Vec<_>>().join(" "))
    }
}

fn show(found: &SearchResults, short_ids: &ShortIds, zone: &TimeZone, terminal: &Terminal) -> Result<(), Failure> {
    let (room, colour) = (terminal.room(), terminal.stdout && terminal.colour);
    for hit in &found.hits {
        let head = pieces::wrapped(&heading(hit, &short_ids.shorten(&hit.session), zone), room, 2, colour);
        print(&format!("{head}\n  {}\n", marked(&hit.snippet, &hit.marks, room, colour)))?;
    }
    match (found.hits.as_slice(), found.more) {
        ([], false) => say("nothing found"),
        ([], true) => say("… and more: --limit N shows them"),
        ([first, ..], more) => {
            let more = if more { "… and more: --limit N shows them; " } else { "" };
            let id = short_ids.shorten(&first.session);
            say(&format!("{more}to read on: switchboard logs show {id}{}", place_in(first)));
        }
    }
    Ok(())
}

/// Where a hit is.
fn heading(hit: &SearchHit, id: &str, zone: &TimeZone) -> Vec<Piece> {
    let at = hit.at.map(|at| format!("  {}", format_minute(at, zone))).unwrap_or_default();
    let what = match (hit.kind, hit.tool.as_deref()) {
        (PassageKind::ToolCall, Some(tool)) => format!("called {tool}"),
        (PassageKind::ToolResult, Some(tool)) => format!("{tool} gave"),
        (kind, _) => word(kind).to_owned(),
    };
    let project = hit.project.as_deref().map(|project| format!("  {project}")).unwrap_or_default();
    let machine = hit.machine.as_deref().map(|machine| format!("  {machine}")).unwrap_or_default();
    let about = clean::line(&format!("  {}{machine}{at}  {what}{project}", hit.agent));
    vec![(BOLD, id.to_owned()), (CYAN, place_in(hit)), (DIM, about)]
}

/// Where in the session it is, as `show` takes it. A subagent counts turns of its own, so that its time says more.
fn place_in(hit: &SearchHit) -> String {
    match (&hit.subagent, hit.at) {
        (Some(_), Some(at)) => format!(" --at {at}"),
        (Some(_), None) => String::new(),
        (None, _) => format!(" --turn {}", hit.turn.max(1)),
    }
}

fn word(kind: PassageKind) -> &'static str {
    match kind {
        PassageKind::UserMessage => "asked",
        PassageKind::AssistantMessage => "said",
        PassageKind::SystemMessage => "system",
        PassageKind::Reasoning => "thought",
        PassageKind::ToolCall => "called a tool",
        PassageKind::ToolResult => "a tool gave",
        PassageKind::SessionSummary => "summary",
        PassageKind::Meta => "context",
        PassageKind::Log => "printed",
    }
}

/// A snippet with what was found in it, as it stands below a heading.
fn marked(snippet: &str, marks: &[Range<usize>], room: Option<usize>, colour: bool) -> String {
    let (mut out, mut at) = (Vec::new(), 0);
    for mark in marks {
        let (Some(before), Some(found)) = (snippet.get(at..mark.start), snippet.get(mark.clone())) else { continue };
        out.push((PLAIN, clean::line(before)));
        out.push((YELLOW.effects(BOLD.get_effects()), clean::line(found)));
        at = mark.end;
    }
    out.push((PLAIN, clean::line(snippet.get(at..).unwrap_or_default())));
    pieces::wrapped(&out, room, 2, colour)
}

fn print(text: &str) -> Result<(), Failure> {
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}

#[cfg(test)]
mod tests {
    use super::marked;

    #[test]
    fn what_was_found_is_marked_and_nothing_else_is_coloured() {
        let snippet = "a \x1b[31mred\u{202e} fox";
        let fox = snippet.find("fox").unwrap();
        let marks = vec![fox..fox + 3; 1];
        assert_eq!(marked(snippet, &marks, None, true), "a ␛[31mred<U+202E> \x1b[1m\x1b[33mfox\x1b[0m");
        assert_eq!(marked(snippet, &marks, None, false), "a ␛[31mred<U+202E> fox");
        // Marks that do not fit are no reason to lose the snippet.
        assert_eq!(marked("é", &[1..2, 7..9], None, false), "é");
    }
}
