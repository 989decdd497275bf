//! Unified diffs, as agents write them: with numbers or without, with the names of files or without, and with numbers
//! that are lies. Nothing is made of what a header claims but the numbers beside the rows.

use super::rows::{Kind, Row, Rows, is_mixed, lines};

/// The rows of a diff.
pub(super) fn read(text: &str) -> Rows<'_> {
    // Without a header all of it is one hunk.
    let in_hunk = !text.starts_with("@@") && !text.contains("\n@@");
    let mut reader = Reader { in_hunk, ..Reader::default() };
    let is_mixed = is_mixed(lines(text, true).filter(|line| line.starts_with(['+', '-', ' '])));
    lines(text, is_mixed).for_each(|line| reader.line(line));
    reader.rows
}

#[derive(Default)]
struct Reader<'a> {
    rows: Rows<'a>,
    in_hunk: bool,
    /// The next numbers, where they are known.
    old: Option<u64>,
    new: Option<u64>,
    /// How many lines the header still promises.
    promised: (u64, u64),
}

impl<'a> Reader<'a> {
    fn line(&mut self, line: &'a str) {
        if let Some(header) = line.strip_prefix("@@") {
            return self.header(header);
        }
        let is_name = line.starts_with("--- ") || line.starts_with("+++ ");
        if !self.in_hunk || is_name && self.old.is_some() && self.promised == (0, 0) {
            self.in_hunk = false;
            return self.between(line);
        }
        match line.split_at_checked(1) {
            Some(("+", text)) => self.row(Kind::Added, text),
            Some(("-", text)) => self.row(Kind::Removed, text),
            Some((" ", text)) => self.row(Kind::Same, text),
            Some(("\\", _)) => {}
            None => self.row(Kind::Same, ""),
            _ if is_between(line) => {
                self.in_hunk = false;
                self.between(line);
            }
            _ => self.row(Kind::Same, line),
        }
    }

    /// What stands between hunks is only worth a row if it says something about the file.
    fn between(&mut self, line: &'a str) {
        let says_nothing = ["--- ", "+++ ", "diff ", "index ", "==="].iter().any(|start| line.starts_with(start));
        if !says_nothing && !line.trim().is_empty() {
            self.rows.gap(line);
        }
    }

    /// ` -12,3 +12,4 @@ fn main()`.
    fn header(&mut self, header: &'a str) {
        let (ranges, heading) = header.split_once("@@").unwrap_or((header, ""));
        let mut ranges = ranges.split_whitespace();
        let mut range = |sign: char| ranges.next().and_then(|range| range.strip_prefix(sign)).and_then(numbers);
        let (old, new) = (range('-'), range('+'));
        self.in_hunk = true;
        (self.old, self.new) = (old.map(|(from, _)| from), new.map(|(from, _)| from));
        self.promised = (old.map_or(0, |(_, count)| count), new.map_or(0, |(_, count)| count));
        let heading = if old.is_some() { heading } else { header };
        self.rows.gap(heading.trim());
    }

    fn row(&mut self, kind: Kind, text: &'a str) {
        let (in_old, in_new) = (kind != Kind::Added, kind != Kind::Removed);
        let row = Row { kind, old: self.old.filter(|_| in_old), new: self.new.filter(|_| in_new), text };
        if in_old {
            self.old = self.old.map(|old| old.saturating_add(1));
            self.promised.0 = self.promised.0.saturating_sub(1);
        }
        if in_new {
            self.new = self.new.map(|new| new.saturating_add(1));
            self.promised.1 = self.promised.1.saturating_sub(1);
        }
        self.rows.push(row);
    }
}

/// A line that cannot stand in a hunk.
fn is_between(line: &str) -> bool {
    ["diff ", "index ", "*** ", "Binary files "].iter().any(|start| line.starts_with(start))
}

/// `12,3` or `12`.
fn numbers(range: &str) -> Option<(u64, u64)> {
    let (from, count) = range.split_once(',').unwrap_or((range, "1"));
    Some((from.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Tally, rows::Kind},
        read,
    };

    /// Kind, numbers and text of all rows.
    fn rows(text: &str) -> Vec<(Kind, Option<u64>, Option<u64>, String)> {
        read(text).all().iter().map(|row| (row.kind, row.old, row.new, row.text.to_owned())).collect()
    }

    #[test]
    fn hunks_are_numbered() {
        let text =
            "--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@ fn x()\n a\n-b\n+c\n d\n@@ -20 +20 @@\n-x\n+y\n\\ No newline at end\n";
        assert_eq!(
            rows(text),
            [
                (Kind::Gap, None, None, "fn x()".into()),
                (Kind::Same, Some(3), Some(3), "a".into()),
                (Kind::Removed, Some(4), None, "b".into()),
                (Kind::Added, None, Some(4), "c".into()),
                (Kind::Same, Some(5), Some(5), "d".into()),
                (Kind::Gap, None, None, String::new()),
                (Kind::Removed, Some(20), None, "x".into()),
                (Kind::Added, None, Some(20), "y".into()),
            ]
        );
    }

    #[test]
    fn lines_that_look_like_headers_are_lines() {
        let text = "@@ -1,2 +1,1 @@\n--- a\n a\n--- b/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(read(text).tally, Tally { added: 1, removed: 2 });
    }

    #[test]
    fn numbers_that_are_lies_cost_nothing() {
        let text = "@@ -1,1000000000000 +18446744073709551615,1000000000000 @@\n+a\n+b\n";
        assert_eq!(read(text).tally, Tally { added: 2, removed: 0 });
        assert_eq!(read("@@ -99999999999999999999,1 +1,1 @@\n-a\n+b\n").tally, Tally { added: 1, removed: 1 });
    }

    #[test]
    fn line_ends_that_change_are_seen() {
        let text = |row: usize, diff: &str| rows(diff)[row].3.clone();
        assert_eq!(text(0, "@@ -1 +1 @@\n-a\r\n+b\r\n"), "a");
        assert_eq!(text(0, "@@ -1 +1 @@\n-a\r\n+a\n"), "a\r");
    }

    #[test]
    fn a_diff_needs_no_header() {
        assert_eq!(read("+a\n-b\n c\nd\n").tally, Tally { added: 1, removed: 1 });
        assert_eq!(rows("@@ fn x\n-a\n+b\n").len(), 3);
    }
}
