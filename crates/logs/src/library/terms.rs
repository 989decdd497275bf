//! Search terms: words, phrases, prefixes, or a regular expression. Each term knows the words that a block must contain
//! for it to match.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use crate::{LogsError, SearchWords, index::words};

/// A term that must match.
pub struct SearchTerm {
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
pub fn parse_terms(words: &SearchWords) -> Result<Vec<SearchTerm>, LogsError> {
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
    use super::{parse_terms, split_query};
    use crate::SearchWords;

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
