//! Text that comes in pieces, cut into lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_event::Id;

/// A line that is longer than this is given in pieces: one that never ends must not be kept for ever.
const LONGEST: usize = 1 << 20;

/// The unfinished lines of the messages that are being written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Lines {
    open: BTreeMap<Id, String>,
}

impl Lines {
    /// Adds text to a message; gives the lines that are finished by it.
    pub fn push(&mut self, message: &Id, text: &str, mut give: impl FnMut(&str)) {
        let (finished, rest) = match text.rsplit_once('\n') {
            Some((finished, rest)) => (Some(finished), rest),
            None => (None, text),
        };
        if let Some(finished) = finished {
            let begun = self.open.remove(message).unwrap_or_default();
            let mut lines = finished.split('\n');
            let first = lines.next().unwrap_or_default();
            if begun.is_empty() {
                give(first)
            } else {
                give(&(begun + first))
            }
            lines.for_each(&mut give);
        }
        if rest.is_empty() {
            return;
        }
        let open = self.open.entry(message.clone()).or_default();
        open.push_str(rest);
        if open.len() >= LONGEST {
            give(open);
            self.open.remove(message);
        }
    }

    /// The message is finished, and with it its last line, unless that is empty.
    pub fn finish(&mut self, message: &Id, mut give: impl FnMut(&str)) {
        if let Some(line) = self.open.remove(message) {
            give(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Lines};
    use switchboard_event::Id;

    fn check(pieces: &[&str], expected: &[&str]) {
        let (mut lines, mut given, id) = (Lines::default(), Vec::new(), Id::from("m"));
        pieces.iter().for_each(|piece| lines.push(&id, piece, |line| given.push(line.to_owned())));
        lines.finish(&id, |line| given.push(line.to_owned()));
        assert_eq!(given, expected);
        assert!(lines.open.is_empty());
    }

    #[test]
    fn lines_are_given_when_they_are_finished() {
        check(&["a\nb"], &["a", "b"]);
        check(&["a", "b", "\n"], &["ab"]);
        check(&["a\n\nb\n"], &["a", "", "b"]);
        check(&["\n", "\n"], &["", ""]);
        check(&["one\ntw", "o\nthree", ""], &["one", "two", "three"]);
        check(&[""], &[]);
    }

    #[test]
    fn a_line_without_end_is_given_in_pieces() {
        let long = "x".repeat(LONGEST);
        check(&[&long, "y"], &[&long, "y"]);
    }
}
