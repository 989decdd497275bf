//! Counts each reply once. A reply with a stop reason has its final figures; until then they are those of its
//! beginning, and wait for a record with higher ones or for the end of the reply.

use switchboard_event::{Id, Usage};

use super::figures::total_tokens;
use crate::{RunRecorder, bounded::BoundedMap};

/// The maximum number of replies remembered as counted. A repeated reply is repeated soon.
const MAX_COUNTED_REPLIES: usize = 1 << 15;

/// The maximum number of conversations with an unfinished reply.
const MAX_WAITING_REPLIES: usize = 64;

#[derive(Default)]
pub struct ReplyCounter {
    /// Usage that may still grow, with the subagent's thread.
    waiting: Vec<(Option<Id>, Usage)>,
    counted: BoundedMap<Usage, MAX_COUNTED_REPLIES>,
}

impl ReplyCounter {
    /// Takes the usage of a record and returns the part to count now.
    pub fn observe_usage(&mut self, thread: Option<&Id>, usage: Usage, is_final: bool) -> Option<Usage> {
        let Some(key) = usage.key.clone() else { return Some(usage) };
        if let Some(counted) = self.counted.get_mut(&key) {
            return additional_usage(counted, usage);
        }
        let before = self.waiting.iter().position(|(of, waits)| of.as_ref() == thread && waits.key == usage.key);
        let before = before.map(|at| self.waiting.remove(at).1);
        let most = before.filter(|before| total_tokens(before) > total_tokens(&usage)).unwrap_or(usage);
        if is_final || self.waiting.len() == MAX_WAITING_REPLIES {
            return Some(self.mark_counted(most));
        }
        self.waiting.push((thread.cloned(), most));
        None
    }

    /// Finishes the waiting replies of a conversation that continued with another reply or prompt.
    pub fn finish_replies(&mut self, thread: Option<&Id>, next: Option<&str>, recorder: &mut RunRecorder) {
        let is_over = |(of, waits): &(Option<Id>, Usage)| {
            of.as_ref() == thread && (next.is_none() || waits.key.as_deref() != next)
        };
        if !self.waiting.iter().any(is_over) {
            return;
        }
        let (over, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(is_over);
        self.waiting = waiting;
        recorder.write_before_record(|recorder| self.write_counted(over, recorder));
    }

    /// Finishes all waiting replies at the end of the log.
    pub fn finish_all(&mut self, recorder: &mut RunRecorder) {
        let over = std::mem::take(&mut self.waiting);
        self.write_counted(over, recorder);
    }

    fn write_counted(&mut self, over: Vec<(Option<Id>, Usage)>, recorder: &mut RunRecorder) {
        for (thread, usage) in over {
            recorder.set_scope(None, thread);
            let usage = self.mark_counted(usage);
            recorder.record_usage(usage);
        }
        recorder.set_scope(None, None);
    }

    fn mark_counted(&mut self, usage: Usage) -> Usage {
        let Some(key) = usage.key.clone() else { return usage };
        self.counted.insert(key, usage.clone());
        usage
    }
}

/// Returns the usage beyond what was counted. No version of Claude Code is known to write such a record; if one does,
/// the sum is still right.
fn additional_usage(counted: &mut Usage, usage: Usage) -> Option<Usage> {
    if total_tokens(&usage) <= total_tokens(counted) {
        return None;
    }
    let more = usage.saturating_sub(counted);
    *counted = usage;
    Some(Usage { key: None, ..more })
}

#[cfg(test)]
mod tests {

    use switchboard_event::{Id, Usage};

    use super::ReplyCounter;

    fn usage_with_output(key: &str, output: u64) -> Usage {
        Usage { key: Some(Id::from(key)), input: 10, output, ..Usage::default() }
    }

    #[test]
    fn the_last_block_has_the_figures() {
        let mut replies = ReplyCounter::default();
        assert_eq!(replies.observe_usage(None, usage_with_output("a", 1), false), None);
        assert_eq!(replies.observe_usage(None, usage_with_output("a", 40), true).map(|usage| usage.output), Some(40));
        assert_eq!(replies.observe_usage(None, usage_with_output("a", 40), true), None, "and each block repeats them");
    }

    #[test]
    fn what_grows_later_is_added() {
        let mut replies = ReplyCounter::default();
        assert_eq!(replies.observe_usage(None, usage_with_output("a", 3), true).map(|usage| usage.output), Some(3));
        let more = replies.observe_usage(None, usage_with_output("a", 40), true).unwrap();
        assert_eq!((more.key, more.input, more.output), (None, 0, 37));
    }
}
