//! What is searched for: words, phrases, beginnings of words, or a regular expression. Each term knows which words a block
//! must have for the term to be in it.

use std::ops::Range;

use regex::{Regex, RegexBuilder};

use crate::{LogsError, Words, index::words};

/// One thing that must be in a passage.
pub struct Term {
    pattern: Regex,
    /// It begins, and ends, where a word does.
    edges: (bool, bool),
    /// The words that it has, by their hashes.
    pub words: Vec<u64>,
}

impl Term {
    /// Where it is in a text.
    pub fn find_iter<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let mut from = 0;
        std::iter::from_fn(move || {
            loop {
                let found = self.pattern.find_at(text, from)?.range();
                // What is not whole is looked for again behind its first character; what is empty is found once a place.
                let step = |at: usize| text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
                if self.is_whole(text, &found) {
                    from = if found.is_empty() { found.end + step(found.end) } else { found.end };
                    return Some(found);
                }
                from = found.start + step(found.start);
            }
        })
    }

    /// What was found is no part of longer words. A regular expression's idea of a word does not do: in Chinese, every
    /// character is one.
    fn is_whole(&self, text: &str, found: &Range<usize>) -> bool {
        let before = text.get(..found.start).and_then(|text| text.chars().next_back());
        let behind = text.get(found.end..).and_then(|text| text.chars().next());
        let goes_on = |neighbour: Option<char>| neighbour.is_some_and(words::has_edges);
        !(self.edges.0 && goes_on(before) || self.edges.1 && goes_on(behind))
    }
}

/// How large a regular expression may become, in bytes.
const LARGEST: usize = 4 << 20;

/// The terms of a query; none if nothing is asked for.
pub fn of(words: &Words) -> Result<Vec<Term>, LogsError> {
    match words {
        Words::Regex(pattern) => Ok(vec![Term { pattern: regex(pattern)?, edges: (false, false), words: Vec::new() }]),
        Words::Plain(text) => split(text).iter().map(|term| plain(term)).collect(),
    }
}

fn regex(pattern: &str) -> Result<Regex, LogsError> {
    RegexBuilder::new(pattern)
        .case_insensitive(true)
        .size_limit(LARGEST)
        .build()
        .map_err(|error| LogsError::Regex(error.to_string()))
}

/// Words, and what is between quotation marks. A mark that is never closed holds to the end.
fn split(text: &str) -> Vec<String> {
    let pieces = text.split('"').enumerate();
    let terms = pieces.flat_map(|(number, piece)| match number % 2 {
        0 => piece.split_whitespace().map(str::to_owned).collect(),
        _ => vec![piece.split_whitespace().collect::<Vec<_>>().join(" ")],
    });
    terms.filter(|term| !term.is_empty() && term != "*").collect()
}

fn plain(term: &str) -> Result<Term, LogsError> {
    let (text, is_whole) = term.strip_suffix('*').map_or((term, true), |beginning| (beginning, false));
    let mut found = Vec::new();
    words::each(text, |word| found.push(word));
    let escaped = text.split(' ').map(regex::escape).collect::<Vec<_>>().join(r"\s+");
    let has_edges = |character: Option<char>| character.is_some_and(words::has_edges);
    let ends = has_edges(text.chars().next_back());
    if !is_whole && ends {
        // The last word goes on, and is not known.
        found.pop();
    }
    let edges = (has_edges(text.chars().next()), ends && is_whole);
    Ok(Term { pattern: regex(&escaped)?, edges, words: found })
}

#[cfg(test)]
mod tests {
    use super::{of, split};
    use crate::Words;

    fn finds(query: &str, text: &str) -> bool {
        of(&Words::Plain(query.to_owned())).unwrap().iter().all(|term| term.find_iter(text).next().is_some())
    }

    #[test]
    fn words_phrases_and_beginnings() {
        assert_eq!(split(r#"fix "the  bug" now "#), ["fix", "the bug", "now"]);
        assert!(finds("BUG", "a bug.") && !finds("bug", "debugging"));
        assert!(finds("\"the bug\"", "fix the\n  bug") && !finds("\"the bug\"", "the big bug"));
        assert!(finds("debug*", "debugging") && !finds("bug*", "debugging"));
        assert!(finds("main.rs", "src/main.rs:3") && finds("--force", "git push --force"));
        assert!(finds("复", "修复了") && finds("größe", "GRÖSSE Größe"));
        assert!(finds("bug", "修复bug在这里") && finds("\"bug在\"", "修复bug在这里") && !finds("bug", "bugß"));
        assert!(finds("mc", "E = mc²") && finds("mc²", "E = mc²") && finds("foo", "foo①bar"));
        assert!(finds("\"a b a\"", "xa b a b a") && !finds("aa", "aaa"));
        assert_eq!(of(&Words::Plain("foo*".to_owned())).unwrap()[0].words.len(), 0);
        assert_eq!(of(&Words::Plain("main.rs".to_owned())).unwrap()[0].words.len(), 2);
        assert!(of(&Words::Regex("a(".to_owned())).is_err());
    }

    /// Whatever a term finds in a text, the filter of the text lets through.
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
            crate::index::words::each(text, |word| known.push(word));
            for term in of(&Words::Plain(query.to_owned())).unwrap() {
                assert!(term.find_iter(text).next().is_some(), "{query} is not found in {text}");
                assert!(term.words.iter().all(|word| known.contains(word)), "{query} is not let through in {text}");
            }
        }
    }
}
