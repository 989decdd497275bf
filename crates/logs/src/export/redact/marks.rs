//! One quick look at a text for all that secrets of any kind have in them: the marks of shapes, and words of telling
//! names. Most texts have none, and of the others only what was met is looked for.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError};

use super::{names, rules::RULES};

/// What is looked for.
pub struct Marks {
    all: AhoCorasick,
    /// What each of them is a mark of.
    of: Vec<Of>,
    /// Shapes that have none.
    always: [bool; RULES.len()],
}

#[derive(Clone, Copy)]
enum Of {
    Rule(usize),
    Name,
    Cookie,
}

/// What a text has in it.
pub struct Met {
    rules: [bool; RULES.len()],
    has_mark: bool,
    /// Where words of telling names are.
    pub words: Vec<Range<usize>>,
    /// And those that announce cookies.
    pub cookies: Vec<Range<usize>>,
}

impl Marks {
    /// Those of all rules and names.
    pub fn new() -> Result<Self, BuildError> {
        let rules = RULES
            .iter()
            .enumerate()
            .flat_map(|(number, rule)| rule.marks.iter().map(move |mark| (*mark, Of::Rule(number))));
        let words = names::words().map(|word| (word, Of::Name));
        let (marks, of): (Vec<&str>, Vec<Of>) = rules.chain(words).chain([("cookie", Of::Cookie)]).unzip();
        let mut always = [false; RULES.len()];
        always.iter_mut().zip(RULES).for_each(|(always, rule)| *always = rule.marks.is_empty());
        // The quickest kind, at the price of some memory.
        let kind = Some(AhoCorasickKind::DFA);
        let all = AhoCorasick::builder().kind(kind).ascii_case_insensitive(true).build(marks)?;
        Ok(Self { all, of, always })
    }

    /// There is anything at all in a text.
    pub fn has_any(&self, text: &str) -> bool {
        self.all.is_match(text)
    }

    /// What a text has in it.
    pub fn met(&self, text: &str) -> Met {
        let mut met = Met { rules: self.always, has_mark: false, words: Vec::new(), cookies: Vec::new() };
        for found in self.all.find_overlapping_iter(text) {
            match self.of.get(found.pattern().as_usize()) {
                Some(Of::Rule(number)) => met.meet(*number),
                Some(Of::Name) => met.words.push(found.range()),
                Some(Of::Cookie) => met.cookies.push(found.range()),
                None => {}
            }
        }
        met
    }
}

impl Met {
    fn meet(&mut self, number: usize) {
        self.has_mark = true;
        self.rules.iter_mut().skip(number).take(1).for_each(|rule| *rule = true);
    }

    /// Secrets of this shape may be in it.
    pub fn has(&self, number: usize) -> bool {
        self.rules.get(number).is_some_and(|has| *has)
    }

    /// There is a mark of any shape in it.
    pub fn any(&self) -> bool {
        self.has_mark
    }
}
