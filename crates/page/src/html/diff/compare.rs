//! Two texts compared by lines.

use std::{ops::Range, time::Duration};

use similar::{Algorithm, DiffOp, DiffTag, TextDiff};

use super::rows::{Kind, Row, Rows, is_mixed, lines};

/// Longer texts count as replaced: comparing them costs seconds.
const LIMIT: usize = 2 << 20;
/// So many lines are shown around a change.
const AROUND: usize = 3;
/// After this, what was not yet compared counts as replaced.
const PATIENCE: Duration = Duration::from_millis(50);

/// The rows of what changed between two texts.
pub(super) fn compare<'a>(before: &'a str, after: &'a str) -> Rows<'a> {
    let is_mixed = is_mixed(lines(before, true).chain(lines(after, true)));
    let (old, new): (Vec<_>, Vec<_>) = (lines(before, is_mixed).collect(), lines(after, is_mixed).collect());
    let mut rows = Rows::default();
    if before.len() + after.len() > LIMIT {
        rows.lines(Kind::Removed, &old, 0, 0);
        rows.lines(Kind::Added, &new, 0, 0);
        return rows;
    }
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(PATIENCE).diff_slices(&old, &new);
    for (at, hunk) in diff.grouped_ops(AROUND).iter().enumerate() {
        if at > 0 {
            rows.gap("");
        }
        hunk.iter().for_each(|op| rows.op(op, &old, &new));
    }
    rows
}

impl<'a> Rows<'a> {
    fn op(&mut self, op: &DiffOp, old: &[&'a str], new: &[&'a str]) {
        let (tag, in_old, in_new) = op.as_tag_tuple();
        let (from, to) = (in_old.start, in_new.start);
        let of = |lines: &[&'a str], range: Range<usize>| lines.get(range).unwrap_or_default().to_vec();
        match tag {
            DiffTag::Equal => self.lines(Kind::Same, &of(new, in_new), from, to),
            DiffTag::Delete => self.lines(Kind::Removed, &of(old, in_old), from, to),
            DiffTag::Insert => self.lines(Kind::Added, &of(new, in_new), from, to),
            DiffTag::Replace => {
                self.lines(Kind::Removed, &of(old, in_old), from, to);
                self.lines(Kind::Added, &of(new, in_new), from, to);
            }
        }
    }

    /// Lines of one kind, the first of which has these places in both texts, from 0.
    fn lines(&mut self, kind: Kind, lines: &[&'a str], old: usize, new: usize) {
        let number = |from: usize, at: usize| u64::try_from(from + at + 1).ok();
        for (at, text) in lines.iter().enumerate() {
            let (old, new) = (number(old, at), number(new, at));
            let row = Row {
                kind,
                old: old.filter(|_| kind != Kind::Added),
                new: new.filter(|_| kind != Kind::Removed),
                text,
            };
            self.push(row);
        }
    }
}
