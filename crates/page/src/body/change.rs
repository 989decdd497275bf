//! File changes.

use switchboard_event::{Change, ChangeKind, FileChange, Item};

use super::{EntryBody, call::returned, content::ImageUrlFn, pile::BodyBuilder};
use crate::html::{DiffSource, DiffStat, SafeHtml, code_title, diff, element, line, terminal, words};

/// The maximum number of files to list.
const MAX_FILES: usize = 100;
/// After this many lines, files are listed without their diffs.
const MAX_DIFF_LINES: u32 = 1_200;
/// Longer changes are initially folded.
const MAX_UNFOLDED_DIFF_LINES: u32 = 200;

pub(super) fn file_change(item: &Item, change: &FileChange, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut pile = BodyBuilder::default();
    let tally = changes(&mut pile, &change.changes);
    if let Some(output) = change.output.as_deref().filter(|output| !output.trim().is_empty()) {
        pile.folded("Output", terminal(output));
    }
    returned(&mut pile, item, address);
    let mut body = pile.body("change", title(item, &change.changes));
    body.fold = body.size > MAX_UNFOLDED_DIFF_LINES;
    body.label = (tally != DiffStat::default()).then(|| label(tally));
    body
}

/// Adds file changes and returns their total.
pub(super) fn changes(pile: &mut BodyBuilder, changes: &[Change]) -> DiffStat {
    let mut sum = DiffStat::default();
    for change in changes.iter().take(MAX_FILES) {
        let tally = one(pile, change);
        sum = DiffStat { added: sum.added + tally.added, removed: sum.removed + tally.removed };
    }
    if changes.len() > MAX_FILES {
        pile.cut(&format!("… {} more files …", changes.len() - MAX_FILES));
    }
    sum
}

pub(super) fn title(item: &Item, changes: &[Change]) -> SafeHtml {
    match changes {
        [] => super::call::title(item, "change"),
        [change] => named(change),
        _ => line(&format!("{} files", changes.len())),
    }
}

fn one(pile: &mut BodyBuilder, change: &Change) -> DiffStat {
    let Some(edit) = edit(change) else {
        pile.line(element("div", "diff-file", &[named(change)]));
        return DiffStat::default();
    };
    let (shown, tally) = diff(edit, change.to.as_deref().unwrap_or(&change.path));
    let count = |class, sign: char, count: usize| element("span", class, &[line(&format!("{sign}{count}"))]);
    let heading = words(&[named(change), count("add", '+', tally.added), count("del", '−', tally.removed)]);
    pile.line(element("div", "diff-file", &[heading]));
    if pile.lines() < MAX_DIFF_LINES {
        pile.add(shown)
    } else {
        pile.cut("… not shown here …")
    }
    tally
}

fn edit(change: &Change) -> Option<DiffSource<'_>> {
    match (&change.before, &change.after) {
        _ if !change.diff.is_empty() => Some(DiffSource::Unified(&change.diff)),
        (None, None) => None,
        (before, after) => {
            Some(DiffSource::Sides(before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default()))
        }
    }
}

fn named(change: &Change) -> SafeHtml {
    let verb = match change.kind {
        ChangeKind::Add => "Add",
        ChangeKind::Modify => "Edit",
        ChangeKind::Delete => "Delete",
        ChangeKind::Move => "Move",
    };
    let to = change.to.as_deref().map(|to| [line("→"), code_title(to)]);
    let pieces = [line(verb), code_title(&change.path)].into_iter().chain(to.into_iter().flatten());
    words(&pieces.collect::<Vec<_>>())
}

fn label(tally: DiffStat) -> String {
    format!("+{} −{}", tally.added, tally.removed)
}
