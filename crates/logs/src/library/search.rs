//! Full-text search: Bloom filters select candidate blocks, and only those are decoded and searched.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;
use std::thread;

use regex::{Regex, RegexBuilder};
use rusqlite::params;
use switchboard_agents::PassageKind;
use xxhash_rust::xxh3::xxh3_64;

use super::LogLibrary;
use super::sessions::UnitFilter;
use crate::index::block::{BlockPassage, TextBlock};
use crate::index::segment::CandidateBlock;
use crate::index::{LogIndex, LogUnit, segment, words};
use crate::{LogSearchQuery, LogsError, SearchHit, SearchResults, SearchWords};

/// The minimum number of blocks per thread.
const MIN_BLOCKS_PER_THREAD: usize = 16;

impl LogLibrary {
    /// Searches the text of sessions.
    ///
    /// # Errors
    /// If the index cannot be read, or the regular expression is invalid.
    pub fn search(&self, query: &LogSearchQuery) -> Result<SearchResults, LogsError> {
        let terms = parse_terms(&query.words)?;
        if terms.is_empty() {
            return Ok(SearchResults::default());
        }
        let index = self.index.lock();
        // Others may write meanwhile. One connection sees a consistent snapshot, several do not: if the index changed,
        // the search is repeated with one.
        let before = index.current_version().map_err(|error| index.wrap_error(error))?;
        let (hits, alone) = self.search_with_threads(&index, query, &terms, core_count())?;
        if alone || index.current_version().is_ok_and(|now| now == before) {
            return Ok(hits);
        }
        Ok(self.search_with_threads(&index, query, &terms, 1)?.0)
    }

    /// Searches with at most `most_threads` threads. Also returns whether a single one was used.
    fn search_with_threads(
        &self,
        index: &LogIndex,
        query: &LogSearchQuery,
        terms: &[SearchTerm],
        most_threads: usize,
    ) -> Result<(SearchResults, bool), LogsError> {
        let _moment = index.begin_snapshot()?;
        let units = self.select_units(&self.all_units(index)?);
        let matching = UnitFilter::new(&query.filter, &units);
        let (blocks, rarity) = CandidateBlocks::find_blocks(index, terms, &matching)?.into_blocks_and_rarity();
        let by_id: HashMap<i64, &LogUnit> = units.iter().map(|unit| (unit.id, &**unit)).collect();
        let search = BlockSearch { query, terms, rarity, matching: &matching, units: &by_id };
        let threads = most_threads.min(blocks.len() / MIN_BLOCKS_PER_THREAD).max(1);
        let found = search.run(index, &blocks, threads)?;
        Ok((best_hits(found, query, terms, &by_id), threads == 1))
    }
}

fn core_count() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Blocks that may match.
struct CandidateBlocks {
    blocks: Vec<CandidateBlock>,
    /// The number of blocks checked, and how many of them may contain each term.
    all: u32,
    with: Vec<u32>,
}

impl CandidateBlocks {
    /// Finds the blocks whose filters match all terms.
    fn find_blocks(index: &LogIndex, terms: &[SearchTerm], matching: &UnitFilter) -> Result<Self, LogsError> {
        let mut found = Self { blocks: Vec::new(), all: 0, with: vec![0; terms.len()] };
        let words: Vec<&[u64]> = terms.iter().map(|term| &*term.words).collect();
        let looked = segment::scan_filters(
            &index.connection,
            &words,
            |unit| matching.matches_unit(unit),
            |block, may| {
                found.all += 1;
                let mut fits = true;
                for (term, with) in found.with.iter_mut().enumerate() {
                    let may = may(term);
                    *with += u32::from(may);
                    fits &= may;
                }
                if fits {
                    found.blocks.push(block);
                }
            },
        );
        looked.map_err(|error| index.wrap_error(error))?;
        Ok(found)
    }

    /// Returns the blocks, and the rarity of each term.
    fn into_blocks_and_rarity(self) -> (Vec<CandidateBlock>, Vec<f64>) {
        let rarity = |with: &u32| (1.0 + f64::from(self.all) / (f64::from(*with) + 0.5)).ln();
        let rarity = self.with.iter().map(rarity).collect();
        (self.blocks, rarity)
    }
}

struct BlockSearch<'a> {
    query: &'a LogSearchQuery,
    terms: &'a [SearchTerm],
    rarity: Vec<f64>,
    matching: &'a UnitFilter,
    units: &'a HashMap<i64, &'a LogUnit>,
}

/// A passage that contains all terms.
struct PassageMatch {
    unit: i64,
    line: BlockPassage,
    turn: u32,
    text: String,
    score: f64,
}

impl BlockSearch<'_> {
    fn run(&self, index: &LogIndex, blocks: &[CandidateBlock], threads: usize) -> Result<Vec<PassageMatch>, LogsError> {
        if threads == 1 {
            return self.search_blocks(index, blocks).map_err(|error| index.wrap_error(error));
        }
        thread::scope(|scope| {
            let mut running = Vec::new();
            for part in blocks.chunks(blocks.len().div_ceil(threads)) {
                let index = index.reopen()?;
                running.push(
                    scope.spawn(move || self.search_blocks(&index, part).map_err(|error| index.wrap_error(error))),
                );
            }
            let mut found = Vec::new();
            for part in running {
                found.extend(part.join().unwrap_or(Err(LogsError::Damaged("a search was cut off")))?);
            }
            Ok(found)
        })
    }

    fn search_blocks(&self, index: &LogIndex, blocks: &[CandidateBlock]) -> rusqlite::Result<Vec<PassageMatch>> {
        // A block listed in a segment may be deleted and its number reused.
        let mut text = index.connection.prepare_cached(
            "SELECT passages FROM words JOIN text USING (block) WHERE block = ?1 AND unit = ?2 AND shelf IS ?3",
        )?;
        let mut found = Vec::new();
        for CandidateBlock { block, unit, shelf } in blocks {
            let mut rows = text.query(params![block, unit, shelf])?;
            let Some(row) = rows.next()? else { continue };
            if let Some(block) = TextBlock::decode(row.get_ref(0)?.as_blob()?) {
                self.match_passages(&block, *unit, &mut found);
            }
            self.prune_matches(&mut found);
        }
        Ok(found)
    }

    fn match_passages(&self, block: &TextBlock, unit: i64, found: &mut Vec<PassageMatch>) {
        let mut turn = block.prompts;
        for (line, text) in block.iter_passages() {
            turn += u32::from(line.kind == PassageKind::UserMessage);
            let wanted = self.query.kinds.is_empty() || self.query.kinds.contains(&line.kind);
            if !wanted || !line.at.is_none_or(|at| self.matching.matches_time(at)) || !self.matches_unit(unit) {
                continue;
            }
            if let Some(score) = self.score_passage(line, text) {
                found.push(PassageMatch { unit, line: line.clone(), turn, text: text.to_owned(), score });
            }
        }
    }

    fn matches_unit(&self, unit: i64) -> bool {
        let facts = self.units.get(&unit).map(|unit| &unit.facts);
        facts.is_some_and(|facts| {
            self.matching.matches_project(facts.cwd.as_deref().unwrap_or_default())
                && self.matching.matches_model(facts.model.as_deref().unwrap_or_default())
        })
    }

    /// Returns the score of a passage, or `None` if a term is missing. Rare terms count more, repetitions have
    /// diminishing weight, and messages rank higher than tool output.
    fn score_passage(&self, line: &BlockPassage, text: &str) -> Option<f64> {
        const TYPICAL_PASSAGE_BYTES: f64 = 600.0;
        let length = f64::from(u32::try_from(text.len()).unwrap_or(u32::MAX)) / TYPICAL_PASSAGE_BYTES;
        let mut score = 0.0;
        for (term, rarity) in self.terms.iter().zip(&self.rarity) {
            let times = f64::from(u32::try_from(term.find_iter(text).take(8).count()).unwrap_or(8));
            if times == 0.0 {
                return None;
            }
            score += rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length.min(20.0)));
        }
        let weight = match line.kind {
            PassageKind::UserMessage => 1.6,
            PassageKind::AssistantMessage | PassageKind::SessionSummary => 1.3,
            PassageKind::Reasoning | PassageKind::ToolCall => 1.0,
            _ => 0.8,
        };
        Some(score * weight)
    }

    /// Keeps only the best of very many matches.
    fn prune_matches(&self, found: &mut Vec<PassageMatch>) {
        let most = (self.query.limit + 1).saturating_mul(4).max(1024);
        if found.len() > most.saturating_mul(2) {
            found.sort_by(compare_matches);
            found.truncate(most);
        }
    }
}

/// Best first; ties are resolved by recency.
fn compare_matches(a: &PassageMatch, b: &PassageMatch) -> std::cmp::Ordering {
    b.score
        .total_cmp(&a.score)
        .then_with(|| b.line.at.cmp(&a.line.at))
        .then_with(|| (a.unit, a.line.offset).cmp(&(b.unit, b.line.offset)))
}

/// Returns the best hits without duplicates: a copied session repeats the same passages.
fn best_hits(
    mut found: Vec<PassageMatch>,
    query: &LogSearchQuery,
    terms: &[SearchTerm],
    units: &HashMap<i64, &LogUnit>,
) -> SearchResults {
    found.sort_by(compare_matches);
    let mut seen = HashSet::new();
    found.retain(|found| seen.insert((xxh3_64(found.text.as_bytes()), found.line.at, found.line.kind)));
    let more = found.len() > query.limit;
    let hits = found
        .into_iter()
        .take(query.limit)
        .filter_map(|found| Some(search_hit(units.get(&found.unit)?, &found, terms)));
    SearchResults { hits: hits.collect(), more }
}

fn search_hit(unit: &LogUnit, found: &PassageMatch, terms: &[SearchTerm]) -> SearchHit {
    let (snippet, marks) = make_snippet(&found.text, terms);
    SearchHit {
        session: unit.parent.clone().unwrap_or_else(|| unit.session.clone()),
        agent: unit.agent.clone(),
        machine: unit.machine.clone(),
        project: unit.facts.cwd.clone(),
        subagent: unit.parent.is_some().then(|| unit.facts.subagent.clone().unwrap_or_else(|| unit.session.clone())),
        at: found.line.at,
        kind: found.line.kind,
        tool: found.line.tool.clone(),
        turn: found.turn,
        snippet,
        marks,
        path: PathBuf::from(&unit.path),
        offset: found.line.offset,
        score: found.score,
    }
}

/// Context shown before and after the first match.
const CHARS_BEFORE_MATCH: usize = 60;
const CHARS_AFTER_MATCH: usize = 120;

/// Maximum number of marks per term.
const MAX_MARKS: usize = 16;

/// Returns the text around the first match on one line, and the positions of all matches in it.
fn make_snippet(text: &str, terms: &[SearchTerm]) -> (String, Vec<Range<usize>>) {
    let first = terms.iter().filter_map(|term| term.find_iter(text).next()).min_by_key(|found| found.start);
    let Range { start, end } = first.unwrap_or_default();
    let begin = step_back(text, start, CHARS_BEFORE_MATCH);
    let stop = step_forward(text, end, CHARS_AFTER_MATCH);
    let piece = text.get(begin..stop).unwrap_or_default();
    let mut snippet = String::with_capacity(piece.len() + 6);
    snippet.push_str(if begin > 0 { "…" } else { "" });
    snippet.push_str(piece.split_whitespace().collect::<Vec<_>>().join(" ").as_str());
    snippet.push_str(if stop < text.len() { "…" } else { "" });
    let found = terms.iter().flat_map(|term| term.find_iter(&snippet).take(MAX_MARKS));
    let mut marks: Vec<_> = found.filter(|mark| !mark.is_empty()).collect();
    marks.sort_by_key(|mark| (mark.start, mark.end));
    marks.dedup_by(|next, last| next.start < last.end);
    (snippet, marks)
}

fn step_back(text: &str, at: usize, characters: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.char_indices().rev().take(characters).last().map_or(at, |(at, _)| at)
}

fn step_forward(text: &str, at: usize, characters: usize) -> usize {
    let behind = text.get(at..).unwrap_or_default();
    behind.char_indices().nth(characters).map_or(text.len(), |(further, _)| at + further)
}

/// A term that must match.
struct SearchTerm {
    pattern: Regex,
    /// Whether it must begin, and end, at a word boundary.
    edges: (bool, bool),
    /// Hashes of the words it requires.
    pub words: Vec<u64>,
}

impl SearchTerm {
    /// Returns the positions of matches in a text.
    pub fn find_iter<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let mut from = 0;
        std::iter::from_fn(move || {
            loop {
                let found = self.pattern.find_at(text, from)?.range();
                // After a partial match, the search continues one character later; an empty match is found once per
                // position.
                let step = |at: usize| text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
                if self.is_whole(text, &found) {
                    from = if found.is_empty() { found.end + step(found.end) } else { found.end };
                    return Some(found);
                }
                from = found.start + step(found.start);
            }
        })
    }

    /// Returns whether the match is not part of a longer word. The `\b` of regular expressions does not work here: in
    /// Chinese, every character is a word.
    fn is_whole(&self, text: &str, found: &Range<usize>) -> bool {
        let before = text.get(..found.start).and_then(|text| text.chars().next_back());
        let behind = text.get(found.end..).and_then(|text| text.chars().next());
        let goes_on = |neighbour: Option<char>| neighbour.is_some_and(words::is_word_char);
        !(self.edges.0 && goes_on(before) || self.edges.1 && goes_on(behind))
    }
}

/// The size limit of a compiled regular expression.
const MAX_REGEX_BYTES: usize = 4 << 20;

/// Returns the terms of a query; none if it is empty.
fn parse_terms(words: &SearchWords) -> Result<Vec<SearchTerm>, LogsError> {
    match words {
        SearchWords::Regex(pattern) => {
            Ok(vec![SearchTerm { pattern: compile_regex(pattern)?, edges: (false, false), words: Vec::new() }])
        }
        SearchWords::Plain(text) => split_query(text).iter().map(|term| plain_term(term)).collect(),
    }
}

fn compile_regex(pattern: &str) -> Result<Regex, LogsError> {
    RegexBuilder::new(pattern)
        .case_insensitive(true)
        .size_limit(MAX_REGEX_BYTES)
        .build()
        .map_err(|error| LogsError::Regex(error.to_string()))
}

/// Splits a query into words and quoted phrases. An unclosed quote extends to the end.
fn split_query(text: &str) -> Vec<String> {
    let pieces = text.split('"').enumerate();
    let terms = pieces.flat_map(|(number, piece)| match number % 2 {
        0 => piece.split_whitespace().map(str::to_owned).collect(),
        _ => vec![piece.split_whitespace().collect::<Vec<_>>().join(" ")],
    });
    terms.filter(|term| !term.is_empty() && term != "*").collect()
}

fn plain_term(term: &str) -> Result<SearchTerm, LogsError> {
    let (text, is_whole) = term.strip_suffix('*').map_or((term, true), |beginning| (beginning, false));
    let mut found = Vec::new();
    words::for_each_word(text, |word| found.push(word));
    let escaped = text.split(' ').map(regex::escape).collect::<Vec<_>>().join(r"\s+");
    let has_edges = |character: Option<char>| character.is_some_and(words::is_word_char);
    let ends = has_edges(text.chars().next_back());
    if !is_whole && ends {
        // The last word is a prefix, so its hash is unknown.
        found.pop();
    }
    let edges = (has_edges(text.chars().next()), ends && is_whole);
    Ok(SearchTerm { pattern: compile_regex(&escaped)?, edges, words: found })
}

#[cfg(test)]
mod tests {
    use super::{make_snippet, parse_terms, split_query};
    use crate::SearchWords;

    #[test]
    fn a_snippet_shows_what_was_found() {
        let text = format!("{} the needle\nis here, a Needle {}", "hay ".repeat(100), "stack ".repeat(100));
        let terms = parse_terms(&SearchWords::Plain("needle here".to_owned())).unwrap();
        let (snippet, marks) = make_snippet(&text, &terms);
        let marked: Vec<_> = marks.iter().filter_map(|mark| snippet.get(mark.clone())).collect();
        assert_eq!(marked, ["needle", "here", "Needle"]);
        assert!(snippet.starts_with('…') && snippet.ends_with('…') && !snippet.contains('\n'));
        assert!(snippet.chars().count() < 220);
    }

    fn query_matches(query: &str, text: &str) -> bool {
        parse_terms(&SearchWords::Plain(query.to_owned()))
            .unwrap()
            .iter()
            .all(|term| term.find_iter(text).next().is_some())
    }

    #[test]
    fn words_phrases_and_beginnings() {
        assert_eq!(split_query(r#"fix "the  bug" now "#), ["fix", "the bug", "now"]);
        assert!(query_matches("BUG", "a bug.") && !query_matches("bug", "debugging"));
        assert!(query_matches("\"the bug\"", "fix the\n  bug") && !query_matches("\"the bug\"", "the big bug"));
        assert!(query_matches("debug*", "debugging") && !query_matches("bug*", "debugging"));
        assert!(query_matches("main.rs", "src/main.rs:3") && query_matches("--force", "git push --force"));
        assert!(query_matches("复", "修复了") && query_matches("größe", "GRÖSSE Größe"));
        assert!(
            query_matches("bug", "修复bug在这里")
                && query_matches("\"bug在\"", "修复bug在这里")
                && !query_matches("bug", "bugß")
        );
        assert!(query_matches("mc", "E = mc²") && query_matches("mc²", "E = mc²") && query_matches("foo", "foo①bar"));
        assert!(query_matches("\"a b a\"", "xa b a b a") && !query_matches("aa", "aaa"));
        assert_eq!(parse_terms(&SearchWords::Plain("foo*".to_owned())).unwrap()[0].words.len(), 0);
        assert_eq!(parse_terms(&SearchWords::Plain("main.rs".to_owned())).unwrap()[0].words.len(), 2);
        assert!(parse_terms(&SearchWords::Regex("a(".to_owned())).is_err());
    }

    /// The filter of a text accepts every term that matches the text.
    #[test]
    fn what_is_found_is_let_through() {
        for (query, text) in [
            ("ΣΊΣΥΦΟΣ", "ο Σίσυφος"),
            ("µs", "12 μs"),
            ("straße", "die ſtraße"),
            ("KELVIN", "300 \u{212a}elvin"),
            ("größe", "GRÖßE"),
            ("snake_case", "a SNAKE_CASE_b snake_Case"),
            ("bug", "修复bug在"),
            ("٣٤", "foo٣٤"),
            ("x²", "x²+y²"),
            ("main.rs:12", "src/MAIN.rs:12:3"),
            ("naïve*", "naïveté"),
        ] {
            let mut known = Vec::new();
            crate::index::words::for_each_word(text, |word| known.push(word));
            for term in parse_terms(&SearchWords::Plain(query.to_owned())).unwrap() {
                assert!(term.find_iter(text).next().is_some(), "{query} is not found in {text}");
                assert!(term.words.iter().all(|word| known.contains(word)), "{query} is not let through in {text}");
            }
        }
    }
}
