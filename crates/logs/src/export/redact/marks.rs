//! Prefilter for secrets: one pass over a text finds the fixed strings of all patterns and the words of secret names.
//! Most texts contain none, and for the others only matching patterns are run.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError};

use super::{names, rules::SECRET_PATTERNS};

pub struct RedactionPrefilter {
    all: AhoCorasick,
    /// The pattern or name that each search string belongs to.
    of: Vec<MarkTarget>,
    /// Patterns without a fixed string, which always run.
    always: [bool; SECRET_PATTERNS.len()],
}

#[derive(Clone, Copy)]
enum MarkTarget {
    Rule(usize),
    Name,
    Cookie,
}

pub struct PrefilterMatches {
    rules: [bool; SECRET_PATTERNS.len()],
    has_mark: bool,
    /// Positions of words of secret names.
    pub words: Vec<Range<usize>>,
    /// Positions of `cookie`.
    pub cookies: Vec<Range<usize>>,
}

impl RedactionPrefilter {
    /// Builds the automaton for all patterns and names.
    pub fn new() -> Result<Self, BuildError> {
        let rules = SECRET_PATTERNS
            .iter()
            .enumerate()
            .flat_map(|(number, rule)| rule.marks.iter().map(move |mark| (*mark, MarkTarget::Rule(number))));
        let words = names::secret_words().map(|word| (word, MarkTarget::Name));
        let (marks, of): (Vec<&str>, Vec<MarkTarget>) =
            rules.chain(words).chain([("cookie", MarkTarget::Cookie)]).unzip();
        let mut always = [false; SECRET_PATTERNS.len()];
        always.iter_mut().zip(SECRET_PATTERNS).for_each(|(always, rule)| *always = rule.marks.is_empty());
        // The fastest kind, at the cost of memory.
        let kind = Some(AhoCorasickKind::DFA);
        let all = AhoCorasick::builder().kind(kind).ascii_case_insensitive(true).build(marks)?;
        Ok(Self { all, of, always })
    }

    /// Returns whether the text contains any search string.
    pub fn has_any(&self, text: &str) -> bool {
        self.all.is_match(text)
    }

    pub fn find_marks(&self, text: &str) -> PrefilterMatches {
        let mut met = PrefilterMatches { rules: self.always, has_mark: false, words: Vec::new(), cookies: Vec::new() };
        for found in self.all.find_overlapping_iter(text) {
            match self.of.get(found.pattern().as_usize()) {
                Some(MarkTarget::Rule(number)) => met.mark_pattern(*number),
                Some(MarkTarget::Name) => met.words.push(found.range()),
                Some(MarkTarget::Cookie) => met.cookies.push(found.range()),
                None => {}
            }
        }
        met
    }
}

impl PrefilterMatches {
    fn mark_pattern(&mut self, number: usize) {
        self.has_mark = true;
        self.rules.iter_mut().skip(number).take(1).for_each(|rule| *rule = true);
    }

    /// Returns whether the pattern can match.
    pub fn may_match_pattern(&self, number: usize) -> bool {
        self.rules.get(number).is_some_and(|has| *has)
    }

    /// Returns whether the fixed string of any pattern was found.
    pub fn has_pattern_mark(&self) -> bool {
        self.has_mark
    }
}
