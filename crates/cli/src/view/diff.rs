//! Changes of files: one line a file with what was added and removed, and the diff in colour, long ones folded.

use anstyle::Style;
use switchboard_event::{Change, ChangeKind, Event, FileChange, Item, Status};

use super::{
    figures::count,
    options::Detail,
    paper::{Block, Span},
    style::{BOLD, CYAN, DIM, GREEN, PLAIN, RED},
    tools::short_path,
    viewer::View,
};

/// Lines of a diff that are shown: the first, and the last.
const DIFF: (usize, usize) = (28, 8);

/// Maximum number of files shown per change.
const FILES: usize = 20;

/// What a change is called.
pub fn verb(change: &Change) -> &'static str {
    match change.kind {
        ChangeKind::Add => "new",
        ChangeKind::Modify => "edit",
        ChangeKind::Delete => "delete",
        ChangeKind::Move => "move",
    }
}

/// The lines of a diff without the names of the files, which are shown above it.
pub fn body(diff: &str) -> &str {
    let header = |line: &str| line.starts_with("--- ") || line.starts_with("+++ ") || line.starts_with("diff --git ");
    let mut rest = diff;
    while let Some((line, after)) = rest.split_once('\n')
        && header(line)
    {
        rest = after;
    }
    rest
}

/// How many lines are added and removed.
pub fn counts(diff: &str) -> (usize, usize) {
    let lines = |mark| body(diff).split('\n').filter(|line| line.starts_with(mark)).count();
    (lines('+'), lines('-'))
}

/// The style of a line of a diff.
pub fn style(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => GREEN,
        Some(b'-') => RED,
        Some(b'@') => CYAN,
        Some(b'\\') => DIM,
        _ => PLAIN,
    }
}

impl View {
    pub(super) fn files_changed(&mut self, event: &Event, item: &Item, change: &FileChange) {
        let Some(id) = &event.item else { return };
        if item.status == Status::Declined && self.requests.is_told(id) {
            return;
        }
        // An approved change was on the screen already.
        let is_seen = self.requests.was_shown(id) || item.status != Status::Completed;
        let files = if self.paper.options.detail == Detail::Full { change.changes.len() } else { FILES };
        for change in change.changes.iter().take(files) {
            self.begin(event, Block::Work);
            self.show_change(change);
            if !is_seen {
                self.show_diff(change);
            }
        }
        let more = change.changes.len().saturating_sub(files);
        if more > 0 {
            self.paper.line(0, &[(DIM, &format!("… {} …", count(more, "more file")))]);
        }
        if change.changes.is_empty() {
            self.begin(event, Block::Work);
            let what = item.call.as_ref().map_or("", |call| call.title.as_deref().unwrap_or(&call.name));
            self.paper.line(0, &[(CYAN, "→ "), (BOLD, "edit"), (PLAIN, " "), (PLAIN, what)]);
        }
        self.show_failure(item);
    }

    fn show_change(&mut self, change: &Change) {
        let cwd = self.cwd.as_deref();
        let (path, to) = (short_path(&change.path, cwd), change.to.as_deref().map(|to| short_path(to, cwd)));
        let (path, to) = (path.into_owned(), to.map(|to| format!(" → {to}")).unwrap_or_default());
        let (added, removed) = counts(&change.diff);
        let [added, removed] = [("+", added), ("-", removed)]
            .map(|(mark, lines)| if lines == 0 { String::new() } else { format!(" {mark}{lines}") });
        let spans: [Span<'_>; 7] = [
            (CYAN, "→ "),
            (DIM, verb(change)),
            (DIM, " "),
            (BOLD, &path),
            (BOLD, &to),
            (GREEN, &added),
            (RED, &removed),
        ];
        self.paper.line(0, &spans);
    }

    fn show_diff(&mut self, change: &Change) {
        let folded = self.fold(body(&change.diff), DIFF.0, DIFF.1);
        folded.head.iter().for_each(|line| self.paper.line(2, &[(style(line), line)]));
        self.show_more(2, folded.more);
        folded.tail.iter().for_each(|line| self.paper.line(2, &[(style(line), line)]));
    }
}
