//! Which entry another one is below. The entry of a subagent may be known later than what the subagent does.

use switchboard_event::{Event, Id};

use super::{Kind, Sheet};

/// Entries are shown at most so deep.
const DEEPEST: u8 = 8;

/// All entries are looked through at most so often for what is below one that got its place late.
const MOST_LOOKS: u32 = 64;

impl Sheet {
    /// How many subagents an entry is within.
    pub(super) fn depth(&self, n: u32) -> u8 {
        let above = |n: &u32| self.line(*n)?.parent;
        let chain = std::iter::successors(above(&n), above).take(DEEPEST.into()).count();
        u8::try_from(chain).unwrap_or(DEEPEST)
    }

    /// The entry below which an event is, if it is known.
    pub(super) fn home_of(&self, event: &Event) -> Option<u32> {
        [&event.parent, &event.thread].into_iter().flatten().find_map(|id| self.homes.get(id)).copied()
    }

    /// Finds the place of an entry that begins.
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

    /// An item or a thread is at an entry: what is below it, and came before, is put there.
    pub(super) fn house(&mut self, id: &Id, n: u32, seq: u64) {
        self.homes.insert(id.clone(), n);
        let mut looks = MOST_LOOKS;
        for orphan in self.orphans.remove(id).unwrap_or_default() {
            let found = usize::try_from(orphan).ok().and_then(|at| self.lines.get_mut(at));
            let Some(line) = found.filter(|line| line.parent.is_none() && orphan != n) else { continue };
            line.parent = Some(n);
            let has_more = line.kind == Kind::Subagent && looks > 0;
            self.deeper(orphan, seq);
            if has_more {
                looks -= 1;
                self.below(orphan).into_iter().for_each(|n| self.deeper(n, seq));
            }
        }
    }

    /// The entries right below one.
    fn below(&self, n: u32) -> Vec<u32> {
        (0..).zip(&self.lines).filter(|(_, line)| line.parent == Some(n)).map(|(n, _)| n).collect()
    }

    /// An entry is deeper than it was. Nothing else happened to it.
    fn deeper(&mut self, n: u32, seq: u64) {
        let last = self.line(n).map(|line| line.last);
        if let (Some(line), Some(last)) = (self.touch(n, seq), last) {
            line.last = last;
        }
    }
}
