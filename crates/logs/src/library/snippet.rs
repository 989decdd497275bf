//! Snippets: excerpts around matches.

use std::ops::Range;

use super::terms::SearchTerm;

/// Context shown before and after the first match.
const CHARS_BEFORE_MATCH: usize = 60;
const CHARS_AFTER_MATCH: usize = 120;

/// Maximum number of marks per term.
const MAX_MARKS: usize = 16;

/// Returns the text around the first match on one line, and the positions of all matches in it.
pub fn make_snippet(text: &str, terms: &[SearchTerm]) -> (String, Vec<Range<usize>>) {
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

#[cfg(test)]
mod tests {
    use super::make_snippet;
    use crate::{SearchWords, library::terms};

    #[test]
    fn a_snippet_shows_what_was_found() {
        let text = format!("{} the needle\nis here, a Needle {}", "hay ".repeat(100), "stack ".repeat(100));
        let terms = terms::parse_terms(&SearchWords::Plain("needle here".to_owned())).unwrap();
        let (snippet, marks) = make_snippet(&text, &terms);
        let marked: Vec<_> = marks.iter().filter_map(|mark| snippet.get(mark.clone())).collect();
        assert_eq!(marked, ["needle", "here", "Needle"]);
        assert!(snippet.starts_with('…') && snippet.ends_with('…') && !snippet.contains('\n'));
        assert!(snippet.chars().count() < 220);
    }
}
