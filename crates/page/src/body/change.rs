//! Changes of files.

use switchboard_event::{Change, ChangeKind, FileChange, Item};

use super::{Body, call::returned, content::Address, pile::Pile};
use crate::html::{Edit, Html, Tally, code_title, diff, element, line, terminal, words};

/// So many files are named.
const FILES: usize = 100;
/// Behind so many lines files are named, but their changes are not shown.
const LINES: u32 = 1_200;
/// Longer changes are folded at first.
const LONG: u32 = 200;

/// An item that changes files.
pub(super) fn file_change(item: &Item, change: &FileChange, address: &Address<'_>) -> Body {
    let mut pile = Pile::default();
    let tally = changes(&mut pile, &change.changes);
    if let Some(output) = change.output.as_deref().filter(|output| !output.trim().is_empty()) {
        pile.folded("Output", terminal(output));
    }
    returned(&mut pile, item, address);
    let mut body = pile.body("change", title(item, &change.changes));
    body.fold = body.size > LONG;
    body.label = (tally != Tally::default()).then(|| label(tally));
    body
}

/// The changes of files, and what they come to.
pub(super) fn changes(pile: &mut Pile, changes: &[Change]) -> Tally {
    let mut sum = Tally::default();
    for change in changes.iter().take(FILES) {
        let tally = one(pile, change);
        sum = Tally { added: sum.added + tally.added, removed: sum.removed + tally.removed };
    }
    if changes.len() > FILES {
        pile.cut(&format!("… {} more files …", changes.len() - FILES));
    }
    sum
}

/// The title of some changes.
pub(super) fn title(item: &Item, changes: &[Change]) -> Html {
    match changes {
        [] => super::call::title(item, "change"),
        [change] => named(change),
        _ => line(&format!("{} files", changes.len())),
    }
}

fn one(pile: &mut Pile, change: &Change) -> Tally {
    let Some(edit) = edit(change) else {
        pile.line(element("div", "diff-file", &[named(change)]));
        return Tally::default();
    };
    let (shown, tally) = diff(edit, change.to.as_deref().unwrap_or(&change.path));
    let count = |class, sign: char, count: usize| element("span", class, &[line(&format!("{sign}{count}"))]);
    let heading = words(&[named(change), count("add", '+', tally.added), count("del", '−', tally.removed)]);
    pile.line(element("div", "diff-file", &[heading]));
    if pile.lines() < LINES {
        pile.add(shown)
    } else {
        pile.cut("… not shown here …")
    }
    tally
}

/// How the change is known.
fn edit(change: &Change) -> Option<Edit<'_>> {
    match (&change.before, &change.after) {
        _ if !change.diff.is_empty() => Some(Edit::Unified(&change.diff)),
        (None, None) => None,
        (before, after) => {
            Some(Edit::Sides(before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default()))
        }
    }
}

/// What happened to which file.
fn named(change: &Change) -> Html {
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

fn label(tally: Tally) -> String {
    format!("+{} −{}", tally.added, tally.removed)
}
