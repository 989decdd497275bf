//! Private keys whose lines stand apart, as the lines of a patch do: each a string of its own in an array. From the line
//! that begins the key to the one that ends it, nothing is shown.

use regex::Regex;

use super::mark;

/// Where a private key begins.
const BEGIN: &str = r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----";

/// Where it ends.
const END: &str = r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----";

/// A line in between, with what editors and patches put before it.
const LINE: &str = r"^(?:[\s+<>|\-]|[0-9]{1,6}[→\t:|])*(?:[A-Za-z0-9+/=]{1,100}|(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):.*)?\s*$";

/// What tells where keys begin and end.
pub struct Armour {
    begin: Regex,
    end: Regex,
    line: Regex,
}

/// Where in a key one is.
#[derive(Default)]
pub enum Place {
    /// In none.
    #[default]
    Outside,
    /// Behind its first line.
    Begun,
    /// Some of it was taken out already.
    Within,
}

impl Armour {
    /// What it takes.
    pub fn new() -> Result<Self, regex::Error> {
        Ok(Self { begin: Regex::new(BEGIN)?, end: Regex::new(END)?, line: Regex::new(LINE)? })
    }

    /// A string without what of it belongs to a key that began before it. None if nothing does.
    pub fn without(&self, text: &str, place: &mut Place) -> Option<String> {
        if matches!(place, Place::Outside) {
            return None;
        }
        let rest = match self.end.find(text) {
            Some(end) => {
                *place = Place::Outside;
                text.get(end.start()..).filter(|_| end.start() > 0)?
            }
            None if self.line.is_match(text) => {
                *place = Place::Within;
                text.get(text.len()..).filter(|_| !text.trim().is_empty())?
            }
            None => {
                *place = Place::Outside;
                return None;
            }
        };
        // What a patch has before a line is no part of the key.
        let margin = text.strip_prefix(['+', '-', ' ']).map_or("", |line| text.strip_suffix(line).unwrap_or_default());
        let has_key = text.len() > margin.len() + rest.len();
        has_key.then(|| format!("{margin}{}{rest}", mark("private-key")))
    }

    /// Takes note of a key that begins in a string and does not end in it.
    pub fn see(&self, text: &str, place: &mut Place) {
        if !text.contains("-----BEGIN ") {
            return;
        }
        if let Some(begin) = self.begin.find_iter(text).last()
            && !self.end.is_match_at(text, begin.end())
        {
            *place = Place::Begun;
        }
    }
}
