//! File changes: one line per file with the number of added and removed lines, and the diff in color; long ones are
//! folded.

use anstyle::Style;
use switchboard_event::{Change, ChangeKind, Event, FileChange, Item, Status};

use super::{
    DetailLevel, TranscriptView,
    figures::pluralize,
    renderer::{BlockKind, StyledSpan},
    style::{BOLD, CYAN, DIM, GREEN, PLAIN, RED},
    tool_calls::relative_path,
};

/// Lines shown at the beginning and at the end of a diff.
const DIFF_LINES: (usize, usize) = (28, 8);

/// Maximum number of files shown per change.
const MAX_FILES: usize = 20;

pub fn change_verb(change: &Change) -> &'static str {
    match change.kind {
        ChangeKind::Add => "new",
        ChangeKind::Modify => "edit",
        ChangeKind::Delete => "delete",
        ChangeKind::Move => "move",
    }
}

/// Returns a diff without its header lines.
pub fn diff_body(diff: &str) -> &str {
    let header = |line: &str| line.starts_with("--- ") || line.starts_with("+++ ") || line.starts_with("diff --git ");
    let mut rest = diff;
    while let Some((line, after)) = rest.split_once('\n')
        && header(line)
    {
        rest = after;
    }
    rest
}

/// Returns the numbers of added and removed lines.
pub fn count_changed_lines(diff: &str) -> (usize, usize) {
    let lines = |mark| diff_body(diff).split('\n').filter(|line| line.starts_with(mark)).count();
    (lines('+'), lines('-'))
}

pub fn diff_line_style(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => GREEN,
        Some(b'-') => RED,
        Some(b'@') => CYAN,
        Some(b'\\') => DIM,
        _ => PLAIN,
    }
}

impl TranscriptView {
    pub(super) fn files_changed(&mut self, event: &Event, item: &Item, change: &FileChange) {
        let Some(id) = &event.item else { return };
        if item.status == Status::Declined && self.requests.was_reported(id) {
            return;
        }
        // The user has seen an approved change.
        let is_seen = self.requests.was_shown(id) || item.status != Status::Completed;
        let files = if self.renderer.options.detail == DetailLevel::Full { change.changes.len() } else { MAX_FILES };
        for change in change.changes.iter().take(files) {
            self.begin(event, BlockKind::Work);
            self.show_change(change);
            if !is_seen {
                self.show_diff(change);
            }
        }
        let more = change.changes.len().saturating_sub(files);
        if more > 0 {
            self.renderer.line(0, &[(DIM, &format!("… {} …", pluralize(more, "more file")))]);
        }
        if change.changes.is_empty() {
            self.begin(event, BlockKind::Work);
            let what = item.call.as_ref().map_or("", |call| call.title.as_deref().unwrap_or(&call.name));
            self.renderer.line(0, &[(CYAN, "→ "), (BOLD, "edit"), (PLAIN, " "), (PLAIN, what)]);
        }
        self.show_failure(item);
    }

    fn show_change(&mut self, change: &Change) {
        let cwd = self.cwd.as_deref();
        let (path, to) = (relative_path(&change.path, cwd), change.to.as_deref().map(|to| relative_path(to, cwd)));
        let (path, to) = (path.into_owned(), to.map(|to| format!(" → {to}")).unwrap_or_default());
        let (added, removed) = count_changed_lines(&change.diff);
        let [added, removed] = [("+", added), ("-", removed)]
            .map(|(mark, lines)| if lines == 0 { String::new() } else { format!(" {mark}{lines}") });
        let spans: [StyledSpan<'_>; 7] = [
            (CYAN, "→ "),
            (DIM, change_verb(change)),
            (DIM, " "),
            (BOLD, &path),
            (BOLD, &to),
            (GREEN, &added),
            (RED, &removed),
        ];
        self.renderer.line(0, &spans);
    }

    fn show_diff(&mut self, change: &Change) {
        let folded = self.fold(diff_body(&change.diff), DIFF_LINES.0, DIFF_LINES.1);
        folded.head.iter().for_each(|line| self.renderer.line(2, &[(diff_line_style(line), line)]));
        self.show_more(2, folded.more);
        folded.tail.iter().for_each(|line| self.renderer.line(2, &[(diff_line_style(line), line)]));
    }
}
