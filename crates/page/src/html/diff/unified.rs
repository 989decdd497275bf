//! Parses unified diffs as agents write them: with or without line numbers and file names, and with wrong numbers. The
//! numbers of a header are only used for display.

use super::rows::{DiffRow, DiffRowKind, DiffRows, is_mixed, lines};

/// Returns the rows of a diff.
pub(super) fn read(text: &str) -> DiffRows<'_> {
    // Without a header the whole text is one hunk.
    let in_hunk = !text.starts_with("@@") && !text.contains("\n@@");
    let mut reader = UnifiedDiffParser { in_hunk, ..UnifiedDiffParser::default() };
    let is_mixed = is_mixed(lines(text, true).filter(|line| line.starts_with(['+', '-', ' '])));
    lines(text, is_mixed).for_each(|line| reader.line(line));
    reader.rows
}

#[derive(Default)]
struct UnifiedDiffParser<'a> {
    rows: DiffRows<'a>,
    in_hunk: bool,
    /// The next line numbers, where known.
    old: Option<u64>,
    new: Option<u64>,
    /// The number of lines that the header still announces.
    promised: (u64, u64),
}

impl<'a> UnifiedDiffParser<'a> {
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
            Some(("+", text)) => self.row(DiffRowKind::Added, text),
            Some(("-", text)) => self.row(DiffRowKind::Removed, text),
            Some((" ", text)) => self.row(DiffRowKind::Same, text),
            Some(("\\", _)) => {}
            None => self.row(DiffRowKind::Same, ""),
            _ if is_between(line) => {
                self.in_hunk = false;
                self.between(line);
            }
            _ => self.row(DiffRowKind::Same, line),
        }
    }

    /// Adds a row for a line between hunks, if it says something about the file.
    fn between(&mut self, line: &'a str) {
        let says_nothing = ["--- ", "+++ ", "diff ", "index ", "==="].iter().any(|start| line.starts_with(start));
        if !says_nothing && !line.trim().is_empty() {
            self.rows.gap(line);
        }
    }

    /// Parses ` -12,3 +12,4 @@ fn main()`.
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

    fn row(&mut self, kind: DiffRowKind, text: &'a str) {
        let (in_old, in_new) = (kind != DiffRowKind::Added, kind != DiffRowKind::Removed);
        let row = DiffRow { kind, old: self.old.filter(|_| in_old), new: self.new.filter(|_| in_new), text };
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

/// Returns whether a line cannot be part of a hunk.
fn is_between(line: &str) -> bool {
    ["diff ", "index ", "*** ", "Binary files "].iter().any(|start| line.starts_with(start))
}

/// Parses `12,3` or `12`.
fn numbers(range: &str) -> Option<(u64, u64)> {
    let (from, count) = range.split_once(',').unwrap_or((range, "1"));
    Some((from.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{DiffStat, rows::DiffRowKind},
        read,
    };

    /// Returns the kind, numbers and text of all rows.
    fn rows(text: &str) -> Vec<(DiffRowKind, Option<u64>, Option<u64>, String)> {
        read(text).all().iter().map(|row| (row.kind, row.old, row.new, row.text.to_owned())).collect()
    }

    #[test]
    fn hunks_are_numbered() {
        let text =
            "--- a/x\n+++ b/x\n@@ -3,3 +3,3 @@ fn x()\n a\n-b\n+c\n d\n@@ -20 +20 @@\n-x\n+y\n\\ No newline at end\n";
        assert_eq!(
            rows(text),
            [
                (DiffRowKind::Gap, None, None, "fn x()".into()),
                (DiffRowKind::Same, Some(3), Some(3), "a".into()),
                (DiffRowKind::Removed, Some(4), None, "b".into()),
                (DiffRowKind::Added, None, Some(4), "c".into()),
                (DiffRowKind::Same, Some(5), Some(5), "d".into()),
                (DiffRowKind::Gap, None, None, String::new()),
                (DiffRowKind::Removed, Some(20), None, "x".into()),
                (DiffRowKind::Added, None, Some(20), "y".into()),
            ]
        );
    }

    #[test]
    fn lines_that_look_like_headers_are_lines() {
        let text = "@@ -1,2 +1,1 @@\n--- a\n a\n--- b/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(read(text).tally, DiffStat { added: 1, removed: 2 });
    }

    #[test]
    fn numbers_that_are_lies_cost_nothing() {
        let text = "@@ -1,1000000000000 +18446744073709551615,1000000000000 @@\n+a\n+b\n";
        assert_eq!(read(text).tally, DiffStat { added: 2, removed: 0 });
        assert_eq!(read("@@ -99999999999999999999,1 +1,1 @@\n-a\n+b\n").tally, DiffStat { added: 1, removed: 1 });
    }

    #[test]
    fn line_ends_that_change_are_seen() {
        let text = |row: usize, diff: &str| rows(diff)[row].3.clone();
        assert_eq!(text(0, "@@ -1 +1 @@\n-a\r\n+b\r\n"), "a");
        assert_eq!(text(0, "@@ -1 +1 @@\n-a\r\n+a\n"), "a\r");
    }

    #[test]
    fn a_diff_needs_no_header() {
        assert_eq!(read("+a\n-b\n c\nd\n").tally, DiffStat { added: 1, removed: 1 });
        assert_eq!(rows("@@ fn x\n-a\n+b\n").len(), 3);
    }
}
