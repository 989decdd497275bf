//! What is searched for: words, phrases, beginnings of words, or a regular expression. Each term knows which words a block
//! must have for the term to be in it.

use regex::{Regex, RegexBuilder};

use crate::{LogsError, Words, index::words};

/// One thing that must be in a passage.
pub struct Term {
    /// Finds it.
    pub pattern: Regex,
    /// The words that it has, by their hashes.
    pub words: Vec<u64>,
}

/// How large a regular expression may become, in bytes.
const LARGEST: usize = 4 << 20;

/// The terms of a query; none if nothing is asked for.
pub fn of(words: &Words) -> Result<Vec<Term>, LogsError> {
    match words {
        Words::Regex(pattern) => Ok(vec![Term { pattern: regex(pattern)?, words: Vec::new() }]),
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
    let edge = |character: Option<char>| if character.is_some_and(words::has_edges) { r"\b" } else { "" };
    let (before, after) = (edge(text.chars().next()), edge(text.chars().next_back()));
    let after = if is_whole { after } else { "" };
    if !is_whole && after.is_empty() && text.chars().next_back().is_some_and(words::has_edges) {
        // The last word goes on, and is not known.
        found.pop();
    }
    Ok(Term { pattern: regex(&format!("{before}{escaped}{after}"))?, words: found })
}

#[cfg(test)]
mod tests {
    use super::{of, split};
    use crate::Words;

    fn finds(query: &str, text: &str) -> bool {
        of(&Words::Plain(query.to_owned())).unwrap().iter().all(|term| term.pattern.is_match(text))
    }

    #[test]
    fn words_phrases_and_beginnings() {
        assert_eq!(split(r#"fix "the  bug" now "#), ["fix", "the bug", "now"]);
        assert!(finds("BUG", "a bug.") && !finds("bug", "debugging"));
        assert!(finds("\"the bug\"", "fix the\n  bug") && !finds("\"the bug\"", "the big bug"));
        assert!(finds("debug*", "debugging") && !finds("bug*", "debugging"));
        assert!(finds("main.rs", "src/main.rs:3") && finds("--force", "git push --force"));
        assert!(finds("复", "修复了") && finds("größe", "GRÖSSE Größe"));
        assert_eq!(of(&Words::Plain("foo*".to_owned())).unwrap()[0].words.len(), 0);
        assert_eq!(of(&Words::Plain("main.rs".to_owned())).unwrap()[0].words.len(), 2);
        assert!(of(&Words::Regex("a(".to_owned())).is_err());
    }
}
