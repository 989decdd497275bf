//! Splits streamed text into lines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use switchboard_event::Id;

/// Maximum buffered line length. Longer lines are emitted in parts, so that an endless line does not grow the buffer.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Unfinished lines of the messages in progress.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MessageLineBuffer {
    open: BTreeMap<Id, String>,
}

impl MessageLineBuffer {
    /// Appends text to a message and emits the lines it completes.
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
        if open.len() >= MAX_LINE_BYTES {
            give(open);
            self.open.remove(message);
        }
    }

    /// Ends a message and emits its last line unless it is empty.
    pub fn finish_message(&mut self, message: &Id, mut give: impl FnMut(&str)) {
        if let Some(line) = self.open.remove(message) {
            give(&line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_LINE_BYTES, MessageLineBuffer};
    use switchboard_event::Id;

    fn assert_lines(pieces: &[&str], expected: &[&str]) {
        let (mut lines, mut given, id) = (MessageLineBuffer::default(), Vec::new(), Id::from("m"));
        pieces.iter().for_each(|piece| lines.push(&id, piece, |line| given.push(line.to_owned())));
        lines.finish_message(&id, |line| given.push(line.to_owned()));
        assert_eq!(given, expected);
        assert!(lines.open.is_empty());
    }

    #[test]
    fn lines_are_given_when_they_are_finished() {
        assert_lines(&["a\nb"], &["a", "b"]);
        assert_lines(&["a", "b", "\n"], &["ab"]);
        assert_lines(&["a\n\nb\n"], &["a", "", "b"]);
        assert_lines(&["\n", "\n"], &["", ""]);
        assert_lines(&["one\ntw", "o\nthree", ""], &["one", "two", "three"]);
        assert_lines(&[""], &[]);
    }

    #[test]
    fn a_line_without_end_is_given_in_pieces() {
        let long = "x".repeat(MAX_LINE_BYTES);
        assert_lines(&[&long, "y"], &[&long, "y"]);
    }
}
