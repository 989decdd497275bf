//! `switchboard logs search`: full-text search, best hits first.

use std::ops::Range;

use clap::{Args, ValueEnum};
use jiff::tz::TimeZone;
use switchboard_agents::{PassageKind, ScanDepth};
use switchboard_logs::{HitView, LogSearchQuery, SearchHit, SearchResults, SearchWords, export::format_minute};

use super::{
    LogLocationArgs,
    filter::{self, LogFilterArgs},
    on_server::{self, ReceivedHit, ReceivedHits},
};
use crate::{
    failure::Failure,
    remote::ServerClient,
    short_ids::ShortIds,
    terminal::{Terminal, print_note, print_output},
    view::{
        sanitize::sanitize_line,
        style::{BOLD, CYAN, DIM, PLAIN, StyledText, YELLOW, wrap_texts},
    },
};

/// Search prompts, answers and tool calls, best hits first
///
/// A passage must contain all words, ignoring case. "Quotation marks" make a phrase, and a word with * at its end
/// matches as a prefix.
#[derive(Args)]
pub struct SearchLogsArgs {
    /// Words to search for
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    /// Treat the words as a regular expression. It ignores case; prefix (?-i) to match case
    #[arg(long, short = 'e')]
    regex: bool,
    /// Kinds of text to search
    #[arg(long = "in", value_name = "WHERE", value_delimiter = ',')]
    within: Vec<SearchScope>,
    /// Maximum number of results
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    filter: LogFilterArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum SearchScope {
    /// User messages
    User,
    /// Agent messages
    Assistant,
    /// Tool calls and their results
    Tools,
    /// Reasoning
    Thinking,
    /// Everything else: injected context, summaries, output of local commands
    System,
}

impl SearchScope {
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

pub fn run(args: &SearchLogsArgs, location: &LogLocationArgs) -> Result<(), Failure> {
    let zone = args.filter.time_zone()?;
    let wanted = args.filter.filter(&zone)?;
    args.check()?;
    let (library, report, found) = location.query(ScanDepth::All, |library| {
        let query = LogSearchQuery {
            words: args.query(),
            kinds: args.within.iter().flat_map(|within| within.kinds()).copied().collect(),
            filter: filter::resolve_session(wanted.clone(), library)?,
            limit: args.limit,
        };
        Ok(library.search(&query)?)
    })?;
    if args.json {
        return found.hits.iter().try_for_each(|hit| {
            let line = serde_json::to_string(&HitView::from(hit)).unwrap_or_default();
            print_output(&format!("{line}\n"))
        });
    }
    if found.hits.is_empty() && report.files == 0 {
        return location.report_no_logs();
    }
    print_hits(&found, &ShortIds::of_library(&library)?, &zone, &Terminal::new())
}

pub fn run_on_server(args: &SearchLogsArgs, server: &ServerClient) -> Result<(), Failure> {
    let zone = args.filter.time_zone()?;
    args.check()?;
    let mut query = args.filter.server_query(&zone)?;
    let (SearchWords::Plain(words) | SearchWords::Regex(words)) = args.query();
    let kinds = args.within.iter().flat_map(|within| within.kinds()).map(|kind| kind.wire_name());
    let kinds = kinds.collect::<Vec<_>>().join(",");
    query.extend([("q", words), ("regex", args.regex.to_string()), ("limit", args.limit.to_string()), ("kind", kinds)]);
    let found: ReceivedHits = on_server::query(server, "/api/search", &query)?;
    if args.json {
        return found.hits.iter().try_for_each(|hit| print_output(&format!("{hit}\n")));
    }
    let hits = found.hits.iter().map(|hit| ReceivedHit::parse(hit)).collect::<Result<Vec<_>, _>>()?;
    let found = SearchResults { hits: hits.into_iter().map(SearchHit::from).collect(), more: found.more };
    print_hits(&found, &on_server::short_ids(server)?, &zone, &Terminal::new())
}

impl SearchLogsArgs {
    /// Fails if there is nothing to search for besides the characters that mark phrases and prefixes.
    fn check(&self) -> Result<(), Failure> {
        let is_something = |c: char| !c.is_whitespace() && (self.regex || !"\"*".contains(c));
        if self.words.iter().any(|word| word.contains(is_something)) {
            return Ok(());
        }
        Err(Failure::BadValue { option: "WORDS", cause: "there is nothing to search for".to_owned() })
    }

    /// Returns the query. The shell removes quotation marks, so an argument with several words is a phrase.
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

fn print_hits(
    found: &SearchResults,
    short_ids: &ShortIds,
    zone: &TimeZone,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let (room, color) = (terminal.max_line_width(), terminal.stdout && terminal.color);
    for hit in &found.hits {
        let head = wrap_texts(&hit_heading(hit, &short_ids.shorten(&hit.session), zone), room, 2, color);
        print_output(&format!("{head}\n  {}\n", highlight_matches(&hit.snippet, &hit.marks, room, color)))?;
    }
    match (found.hits.as_slice(), found.more) {
        ([], false) => print_note("no matches"),
        ([], true) => print_note("… more matches: use --limit N"),
        ([first, ..], more) => {
            let more = if more { "… more matches: use --limit N; " } else { "" };
            let id = short_ids.shorten(&first.session);
            print_note(&format!("{more}read more: switchboard logs show {id}{}", position_flag(first)));
        }
    }
    Ok(())
}

fn hit_heading(hit: &SearchHit, id: &str, zone: &TimeZone) -> Vec<StyledText> {
    let at = hit.at.map(|at| format!("  {}", format_minute(at, zone))).unwrap_or_default();
    let what = match (hit.kind, hit.tool.as_deref()) {
        (PassageKind::ToolCall, Some(tool)) => format!("called {tool}"),
        (PassageKind::ToolResult, Some(tool)) => format!("{tool} gave"),
        (kind, _) => kind_word(kind).to_owned(),
    };
    let project = hit.project.as_deref().map(|project| format!("  {project}")).unwrap_or_default();
    let machine = hit.machine.as_deref().map(|machine| format!("  {machine}")).unwrap_or_default();
    let about = sanitize_line(&format!("  {}{machine}{at}  {what}{project}", hit.agent));
    vec![(BOLD, id.to_owned()), (CYAN, position_flag(hit)), (DIM, about)]
}

/// Returns the option of `show` for the position of a hit. A subagent counts its own turns, so its time is more useful.
fn position_flag(hit: &SearchHit) -> String {
    match (&hit.subagent, hit.at) {
        (Some(_), Some(at)) => format!(" --at {at}"),
        (Some(_), None) => String::new(),
        (None, _) => format!(" --turn {}", hit.turn.max(1)),
    }
}

fn kind_word(kind: PassageKind) -> &'static str {
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

/// Renders a snippet with its matches marked.
fn highlight_matches(snippet: &str, marks: &[Range<usize>], room: Option<usize>, color: bool) -> String {
    let (mut out, mut at) = (Vec::new(), 0);
    for mark in marks {
        let (Some(before), Some(found)) = (snippet.get(at..mark.start), snippet.get(mark.clone())) else { continue };
        out.push((PLAIN, sanitize_line(before)));
        out.push((YELLOW.effects(BOLD.get_effects()), sanitize_line(found)));
        at = mark.end;
    }
    out.push((PLAIN, sanitize_line(snippet.get(at..).unwrap_or_default())));
    wrap_texts(&out, room, 2, color)
}

#[cfg(test)]
mod tests {

    use super::highlight_matches;

    #[test]
    fn what_was_found_is_marked_and_nothing_else_is_coloured() {
        let snippet = "a \x1b[31mred\u{202e} fox";
        let fox = snippet.find("fox").unwrap();
        let marks = vec![fox..fox + 3; 1];
        assert_eq!(highlight_matches(snippet, &marks, None, true), "a ␛[31mred<U+202E> \x1b[1m\x1b[33mfox\x1b[0m");
        assert_eq!(highlight_matches(snippet, &marks, None, false), "a ␛[31mred<U+202E> fox");
        // The snippet survives invalid marks.
        assert_eq!(highlight_matches("é", &[1..2, 7..9], None, false), "é");
    }
}
