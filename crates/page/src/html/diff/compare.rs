//! Compares two texts by lines.

use std::{ops::Range, time::Duration};

use similar::{Algorithm, DiffOp, DiffTag, TextDiff};

use super::rows::{DiffRow, DiffRowKind, DiffRows, is_mixed, lines};

/// Longer texts count as replaced: comparing them takes seconds.
const MAX_COMPARED_BYTES: usize = 2 << 20;
/// The number of context lines around a change.
const CONTEXT_LINES: usize = 3;
/// After this time, the remaining text counts as replaced.
const COMPARE_TIMEOUT: Duration = Duration::from_millis(50);

/// Returns the rows of the changes between two texts.
pub(super) fn compare<'a>(before: &'a str, after: &'a str) -> DiffRows<'a> {
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
