//! The nesting of entries. The entry of a subagent may appear later than the subagent's own entries.

use switchboard_event::{Event, Id};

use super::{EntryKind, Timeline};

/// The maximum nesting depth.
const MAX_DEPTH: u8 = 8;

/// The maximum number of scans for the children of entries that got their parent late.
const MAX_SCANS: u32 = 64;

impl Timeline {
    /// Returns the number of subagents that enclose an entry.
    pub(super) fn depth(&self, n: u32) -> u8 {
        let above = |n: &u32| self.line(*n)?.parent;
        let chain = std::iter::successors(above(&n), above).take(MAX_DEPTH.into()).count();
        u8::try_from(chain).unwrap_or(MAX_DEPTH)
    }

    /// Returns the parent entry of an event, if known.
    pub(super) fn home_of(&self, event: &Event) -> Option<u32> {
        [&event.parent, &event.thread].into_iter().flatten().find_map(|id| self.homes.get(id)).copied()
    }

    /// Sets the parent of a new entry.
    pub(super) fn settle(&mut self, n: u32, event: &Event) {
        let found = self.home_of(event);
        if let Some(line) = self.lines.last_mut() {
            line.parent = found.filter(|found| *found != n);
        }
        if found.is_none() {
            for id in [&event.parent, &event.thread].into_iter().flatten() {
                self.orphans.entry(id.clone()).or_default().push(n);
            }
        }
    }

    /// Binds an item or a thread to an entry and moves earlier entries below it.
    pub(super) fn house(&mut self, id: &Id, n: u32, seq: u64) {
        self.homes.insert(id.clone(), n);
        let mut looks = MAX_SCANS;
        for orphan in self.orphans.remove(id).unwrap_or_default() {
            let found = usize::try_from(orphan).ok().and_then(|at| self.lines.get_mut(at));
            let Some(line) = found.filter(|line| line.parent.is_none() && orphan != n) else { continue };
            line.parent = Some(n);
            let has_more = line.kind == EntryKind::Subagent && looks > 0;
            self.deeper(orphan, seq);
            if has_more {
                looks -= 1;
                self.below(orphan).into_iter().for_each(|n| self.deeper(n, seq));
            }
        }
    }

    /// Returns the direct children of an entry.
    fn below(&self, n: u32) -> Vec<u32> {
        (0..).zip(&self.lines).filter(|(_, line)| line.parent == Some(n)).map(|(n, _)| n).collect()
    }

    /// Records that only the depth of an entry changed.
    fn deeper(&mut self, n: u32, seq: u64) {
        let last = self.line(n).map(|line| line.last);
        if let (Some(line), Some(last)) = (self.touch(n, seq), last) {
            line.last = last;
        }
    }
}
