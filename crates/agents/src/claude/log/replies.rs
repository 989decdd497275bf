//! Counting replies once. A reply that says why it stopped has its final figures; until then they are those of its
//! beginning, and wait for a record with more, or for the reply to be over.

use std::collections::VecDeque;

use foldhash::HashMap;
use switchboard_event::{Id, Usage};

use super::figures::total;
use crate::Scribe;

/// How many replies are remembered as counted. A reply that is repeated is repeated soon.
const REMEMBERED: usize = 1 << 15;

/// How many conversations can have a reply that is not over.
const WAITING: usize = 64;

/// The replies of a log.
#[derive(Default)]
pub struct Replies {
    /// Figures that may still grow, with the subagent's thread.
    waiting: Vec<(Option<Id>, Usage)>,
    counted: HashMap<Id, Usage>,
    order: VecDeque<Id>,
}

impl Replies {
    /// A record has figures. Gives what is to be counted now.
    pub fn see(&mut self, thread: Option<&Id>, usage: Usage, is_final: bool) -> Option<Usage> {
        let Some(key) = usage.key.clone() else { return Some(usage) };
        if let Some(counted) = self.counted.get_mut(&*key) {
            return grown(counted, usage);
        }
        let before = self.waiting.iter().position(|(of, waits)| of.as_ref() == thread && waits.key == usage.key);
        let before = before.map(|at| self.waiting.remove(at).1);
        let most = before.filter(|before| total(before) > total(&usage)).unwrap_or(usage);
        if is_final || self.waiting.len() == WAITING {
            return Some(self.count(most));
        }
        self.waiting.push((thread.cloned(), most));
        None
    }

    /// A conversation has gone on to another reply, or to another prompt: what waited there is final.
    pub fn over(&mut self, thread: Option<&Id>, next: Option<&str>, scribe: &mut Scribe) {
        let is_over = |(of, waits): &(Option<Id>, Usage)| {
            of.as_ref() == thread && (next.is_none() || waits.key.as_deref() != next)
        };
        if !self.waiting.iter().any(is_over) {
            return;
        }
        let (over, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(is_over);
        self.waiting = waiting;
        scribe.before(|scribe| self.give(over, scribe));
    }

    /// The log is over.
    pub fn end(&mut self, scribe: &mut Scribe) {
        let over = std::mem::take(&mut self.waiting);
        self.give(over, scribe);
    }

    fn give(&mut self, over: Vec<(Option<Id>, Usage)>, scribe: &mut Scribe) {
        for (thread, usage) in over {
            scribe.within(None, thread);
            let usage = self.count(usage);
            scribe.usage(usage);
        }
        scribe.within(None, None);
    }

    fn count(&mut self, usage: Usage) -> Usage {
        let Some(key) = usage.key.clone() else { return usage };
        if self.order.len() == REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.counted.remove(&*oldest);
        }
        self.order.push_back(key.clone());
        self.counted.insert(key, usage.clone());
        usage
    }
}

/// What a reply that was counted has more than it had then. No version of Claude Code writes that; if one does, the sum
/// is right all the same.
fn grown(counted: &mut Usage, usage: Usage) -> Option<Usage> {
    if total(&usage) <= total(counted) {
        return None;
    }
    let more = usage.minus(counted);
    *counted = usage;
    Some(Usage { key: None, ..more })
}

#[cfg(test)]
mod tests {
    use switchboard_event::{Id, Usage};

    use super::Replies;

    fn figures(key: &str, output: u64) -> Usage {
        Usage { key: Some(Id::from(key)), input: 10, output, ..Usage::default() }
    }

    #[test]
    fn the_last_block_has_the_figures() {
        let mut replies = Replies::default();
        assert_eq!(replies.see(None, figures("a", 1), false), None);
        assert_eq!(replies.see(None, figures("a", 40), true).map(|usage| usage.output), Some(40));
        assert_eq!(replies.see(None, figures("a", 40), true), None, "and each block repeats them");
    }

    #[test]
    fn what_grows_later_is_added() {
        let mut replies = Replies::default();
        assert_eq!(replies.see(None, figures("a", 3), true).map(|usage| usage.output), Some(3));
        let more = replies.see(None, figures("a", 40), true).unwrap();
        assert_eq!((more.key, more.input, more.output), (None, 0, 37));
    }
}
