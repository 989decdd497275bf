//! Renders changes of a file as rows with the line numbers of both sides.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use similar::{Algorithm, DiffOp, DiffTag, TextDiff};

use super::HtmlFragment;
use super::diff_table::diff_table;

/// The source of a diff.
#[derive(Clone, Copy, Debug)]
pub enum DiffSource<'a> {
    /// A unified diff; a header with file names is optional.
    Unified(&'a str),
    /// The file before and after.
    Sides(&'a str, &'a str),
}

/// The number of added and removed lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiffStat {
    pub added: usize,
    pub removed: usize,
}

/// Renders a change and counts its added and removed lines. The result has two tables, of which the page shows one:
/// both sides next to each other (`diff-side`), or one below the other (`diff-inline`). A change that only adds or only
/// removes lines has one table with both classes.
#[must_use]
pub fn diff(edit: DiffSource<'_>, path: &str) -> (HtmlFragment, DiffStat) {
    let rows = diff_rows(edit);
    (diff_table(&rows, path), rows.tally)
}

fn diff_rows(edit: DiffSource<'_>) -> DiffRows<'_> {
    match edit {
        DiffSource::Unified(text) => parse_unified(text),
        DiffSource::Sides(before, after) => compare(before, after),
    }
}

/// The maximum number of rows at the start and at the end.
const MAX_HEAD_ROWS: usize = 300;
const MAX_TAIL_ROWS: usize = 100;

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiffRowKind {
    /// The same on both sides.
    Same,
    /// Only in the new file.
    Added,
    /// Only in the old file.
    Removed,
    /// Missing lines between hunks; the text is the heading of the next hunk.
    Gap,
    /// The number of omitted rows; the text is empty.
    Cut(usize),
}

/// A row: its line numbers, where known, and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DiffRow<'a> {
    pub(super) kind: DiffRowKind,
    pub(super) old: Option<u64>,
    pub(super) new: Option<u64>,
    pub(super) text: &'a str,
}

/// Splits a text into lines. Carriage returns are part of the line end unless only some lines have one: then they may
/// be the change itself and must be visible.
fn lines(text: &str, is_mixed: bool) -> impl Iterator<Item = &str> {
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n').filter(move |_| !text.is_empty());
    lines.map(move |line| if is_mixed { line } else { line.strip_suffix('\r').unwrap_or(line) })
}

/// Returns whether some lines end with a carriage return and some do not.
fn is_mixed<'a>(lines: impl Iterator<Item = &'a str>) -> bool {
    let (mut with, mut without) = (false, false);
    for line in lines {
        if line.ends_with('\r') { with = true } else { without = true }
    }
    with && without
}

#[derive(Default)]
pub(super) struct DiffRows<'a> {
    head: Vec<DiffRow<'a>>,
    left_out: usize,
    tail: VecDeque<DiffRow<'a>>,
    pub(super) tally: DiffStat,
}

impl<'a> DiffRows<'a> {
    fn push(&mut self, row: DiffRow<'a>) {
        match row.kind {
            DiffRowKind::Added => self.tally.added += 1,
            DiffRowKind::Removed => self.tally.removed += 1,
            DiffRowKind::Same | DiffRowKind::Gap | DiffRowKind::Cut(_) => {}
        }
        if self.head.len() < MAX_HEAD_ROWS {
            self.head.push(row);
            return;
        }
        self.tail.push_back(row);
        if self.tail.len() > MAX_TAIL_ROWS {
            self.tail.pop_front();
            self.left_out += 1;
        }
    }

    fn gap(&mut self, text: &'a str) {
        // A gap at the start means nothing unless it has a text.
        if !self.head.is_empty() || !text.is_empty() {
            self.push(DiffRow { kind: DiffRowKind::Gap, old: None, new: None, text });
        }
    }

    /// Returns the rows in order, with a `Cut` row where some are omitted.
    pub(super) fn all(&self) -> Vec<DiffRow<'a>> {
        let cut = DiffRow { kind: DiffRowKind::Cut(self.left_out), old: None, new: None, text: "" };
        let cut = (self.left_out > 0).then_some(cut);
        self.head.iter().copied().chain(cut).chain(self.tail.iter().copied()).collect()
    }
}

/// Returns the rows of a diff.
fn parse_unified(text: &str) -> DiffRows<'_> {
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
    pub(super) old: Option<u64>,
    pub(super) new: Option<u64>,
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

/// Longer texts count as replaced: comparing them takes seconds.
const MAX_COMPARED_BYTES: usize = 2 << 20;
/// The number of context lines around a change.
const CONTEXT_LINES: usize = 3;
/// After this time, the remaining text counts as replaced.
const COMPARE_TIMEOUT: Duration = Duration::from_millis(50);

/// Returns the rows of the changes between two texts.
fn compare<'a>(before: &'a str, after: &'a str) -> DiffRows<'a> {
    let is_mixed = is_mixed(lines(before, true).chain(lines(after, true)));
    let (old, new): (Vec<_>, Vec<_>) = (lines(before, is_mixed).collect(), lines(after, is_mixed).collect());
    let mut rows = DiffRows::default();
    if before.len() + after.len() > MAX_COMPARED_BYTES {
        rows.lines(DiffRowKind::Removed, &old, 0, 0);
        rows.lines(DiffRowKind::Added, &new, 0, 0);
        return rows;
    }
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(COMPARE_TIMEOUT).diff_slices(&old, &new);
    for (at, hunk) in diff.grouped_ops(CONTEXT_LINES).iter().enumerate() {
        if at > 0 {
            rows.gap("");
        }
        hunk.iter().for_each(|op| rows.op(op, &old, &new));
    }
    rows
}

impl<'a> DiffRows<'a> {
    fn op(&mut self, op: &DiffOp, old: &[&'a str], new: &[&'a str]) {
        let (tag, in_old, in_new) = op.as_tag_tuple();
        let (from, to) = (in_old.start, in_new.start);
        let of = |lines: &[&'a str], range: Range<usize>| lines.get(range).unwrap_or_default().to_vec();
        match tag {
            DiffTag::Equal => self.lines(DiffRowKind::Same, &of(new, in_new), from, to),
            DiffTag::Delete => self.lines(DiffRowKind::Removed, &of(old, in_old), from, to),
            DiffTag::Insert => self.lines(DiffRowKind::Added, &of(new, in_new), from, to),
            DiffTag::Replace => {
                self.lines(DiffRowKind::Removed, &of(old, in_old), from, to);
                self.lines(DiffRowKind::Added, &of(new, in_new), from, to);
            }
        }
    }

    /// Adds lines of one kind; `old` and `new` are the positions of the first line, from 0.
    fn lines(&mut self, kind: DiffRowKind, lines: &[&'a str], old: usize, new: usize) {
        let number = |from: usize, at: usize| u64::try_from(from + at + 1).ok();
        for (at, text) in lines.iter().enumerate() {
            let (old, new) = (number(old, at), number(new, at));
            let row = DiffRow {
                kind,
                old: old.filter(|_| kind != DiffRowKind::Added),
                new: new.filter(|_| kind != DiffRowKind::Removed),
                text,
            };
            self.push(row);
        }
    }
}

/// Longer lines are not compared.
const MAX_COMPARED_LINE_BYTES: usize = 2_000;

/// Returns the differing part of each of two lines; `None` if they share too little to be versions of one line.
pub(super) fn differing_words(old: &str, new: &str) -> Option<(Range<usize>, Range<usize>)> {
    if old.len() > MAX_COMPARED_LINE_BYTES || new.len() > MAX_COMPARED_LINE_BYTES || old == new {
        return None;
    }
    let start = word_start(old, old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count());
    let (old_rest, new_rest) = (old.get(start..)?, new.get(start..)?);
    let same = old_rest.bytes().rev().zip(new_rest.bytes().rev()).take_while(|(a, b)| a == b).count();
    let end = word_end(old_rest, new_rest, same);
    let shared = old.get(..start)?.trim().len() + old_rest.get(old_rest.len() - end..)?.trim().len();
    let is_one_line = shared * 3 >= old.trim().len().max(new.trim().len());
    is_one_line.then_some((start..old.len() - end, start..new.len() - end))
}

/// Returns the start of the word at a position, always on a character boundary.
fn word_start(text: &str, place: usize) -> usize {
    let before = text.get(..text.floor_char_boundary(place)).unwrap_or_default();
    before.trim_end_matches(is_word).len()
}

/// Returns the length of the common suffix that does not split a word in either text.
fn word_end(old: &str, new: &str, same: usize) -> usize {
    let behind = old.get(old.ceil_char_boundary(old.len() - same)..).unwrap_or_default();
    let before = |text: &str| text.strip_suffix(behind).is_some_and(|before| before.ends_with(is_word));
    if before(old) || before(new) { behind.trim_start_matches(is_word).len() } else { behind.len() }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::{DiffRowKind, DiffStat, differing_words, parse_unified};

    /// Returns the kind, numbers and text of all rows.
    fn rows(text: &str) -> Vec<(DiffRowKind, Option<u64>, Option<u64>, String)> {
        parse_unified(text).all().iter().map(|row| (row.kind, row.old, row.new, row.text.to_owned())).collect()
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
        assert_eq!(parse_unified(text).tally, DiffStat { added: 1, removed: 2 });
    }

    #[test]
    fn numbers_that_are_lies_cost_nothing() {
        let text = "@@ -1,1000000000000 +18446744073709551615,1000000000000 @@\n+a\n+b\n";
        assert_eq!(parse_unified(text).tally, DiffStat { added: 2, removed: 0 });
        assert_eq!(
            parse_unified("@@ -99999999999999999999,1 +1,1 @@\n-a\n+b\n").tally,
            DiffStat { added: 1, removed: 1 }
        );
    }

    #[test]
    fn line_ends_that_change_are_seen() {
        let text = |row: usize, diff: &str| rows(diff)[row].3.clone();
        assert_eq!(text(0, "@@ -1 +1 @@\n-a\r\n+b\r\n"), "a");
        assert_eq!(text(0, "@@ -1 +1 @@\n-a\r\n+a\n"), "a\r");
    }

    #[test]
    fn a_diff_needs_no_header() {
        assert_eq!(parse_unified("+a\n-b\n c\nd\n").tally, DiffStat { added: 1, removed: 1 });
        assert_eq!(rows("@@ fn x\n-a\n+b\n").len(), 3);
    }

    #[track_caller]
    fn check(old: &str, new: &str, expected: Option<(&str, &str)>) {
        let found = differing_words(old, new).map(|(a, b)| (old.get(a).unwrap(), new.get(b).unwrap()));
        assert_eq!(found, expected, "{old:?} {new:?}");
    }

    #[test]
    fn words_are_found() {
        check("let a = 1;", "let a = 2;", Some(("1", "2")));
        check("foo(alpha, x)", "foo(alphabet, x)", Some(("alpha", "alphabet")));
        check("fn x() {", "pub fn x() {", Some(("", "pub ")));
        check("größe = 1 + 2;", "große = 1 + 2;", Some(("größe", "große")));
        check("same", "same", None);
        check("all of it", "is something else", None);
    }
}
