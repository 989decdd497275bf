//! Private keys split over several strings, such as the lines of a patch in a JSON array. Everything between the BEGIN
//! and END lines is removed.

use regex::Regex;

use super::redaction_mark;

const BEGIN_PATTERN: &str = r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----";

const END_PATTERN: &str = r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----";

/// A line within a key, with the margin that editors and patches add.
const KEY_LINE_PATTERN: &str = r"^(?:[\s+<>|\-]|[0-9]{1,6}[→\t:|])*(?:[A-Za-z0-9+/=]{1,100}|(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash):.*)?\s*$";

/// Detects keys that span several strings.
pub struct PrivateKeyScanner {
    begin: Regex,
    end: Regex,
    line: Regex,
}

/// Position relative to a private key.
#[derive(Default)]
pub enum KeyScanState {
    /// Not inside a key.
    #[default]
    Outside,
    /// After the BEGIN line; nothing was removed yet.
    Begun,
    /// Some lines were already removed.
    Within,
}

impl PrivateKeyScanner {
    /// Compiles the patterns.
    pub fn new() -> Result<Self, regex::Error> {
        Ok(Self {
            begin: Regex::new(BEGIN_PATTERN)?,
            end: Regex::new(END_PATTERN)?,
            line: Regex::new(KEY_LINE_PATTERN)?,
        })
    }

    /// Removes the part of a string that belongs to a key begun earlier. Returns `None` if there is none.
    pub fn strip_key_lines(&self, text: &str, place: &mut KeyScanState) -> Option<String> {
        if matches!(place, KeyScanState::Outside) {
            return None;
        }
        let rest = match self.end.find(text) {
            Some(end) => {
                *place = KeyScanState::Outside;
                text.get(end.start()..).filter(|_| end.start() > 0)?
            }
            None if self.line.is_match(text) => {
                *place = KeyScanState::Within;
                text.get(text.len()..).filter(|_| !text.trim().is_empty())?
            }
            None => {
                *place = KeyScanState::Outside;
                return None;
            }
        };
        // The margin of a patch line is not part of the key.
        let margin = text.strip_prefix(['+', '-', ' ']).map_or("", |line| text.strip_suffix(line).unwrap_or_default());
        let has_key = text.len() > margin.len() + rest.len();
        has_key.then(|| format!("{margin}{}{rest}", redaction_mark("private-key")))
    }

    /// Notes a key that begins in this string and does not end in it.
    pub fn note_key_start(&self, text: &str, place: &mut KeyScanState) {
        if !text.contains("-----BEGIN ") {
            return;
        }
        if let Some(begin) = self.begin.find_iter(text).last()
            && !self.end.is_match_at(text, begin.end())
        {
            *place = KeyScanState::Begun;
        }
    }
}
