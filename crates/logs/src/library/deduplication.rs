//! Counts each reply once among the events of several logs, by the same keys as `usage`. Copies, forks and subagent
//! progress repeat events, but the tokens stay only where most of them are reported.

use std::collections::HashMap;

use switchboard_agents::ReplyKey;
use switchboard_event::{Event, EventBody, Timestamp, Usage};
use xxhash_rust::xxh3::xxh3_128;

type CountedReplyHasher = foldhash::fast::FixedState;

/// The usage counted so far in earlier sessions, by reply.
#[derive(Default)]
pub struct ReplyDeduplicator(HashMap<u128, Usage, CountedReplyHasher>);

/// The events of one log.
pub(super) struct UnitEvents {
    /// The session of the log, possibly a subagent's.
    pub session: String,
    /// Identifies replies across logs.
    pub key: ReplyKey,
    pub events: Vec<Event>,
}

/// Where the largest usage of a reply is reported: tokens, log, event.
type LargestReports = HashMap<u128, (u64, usize, u64), CountedReplyHasher>;

impl ReplyDeduplicator {
    /// Leaves the usage of each reply in one event of these logs, minus the usage counted in earlier sessions.
    pub(super) fn deduplicate_usage(&mut self, logs: &mut [UnitEvents]) {
        let most = largest_reports(logs);
        for (number, log) in logs.iter_mut().enumerate() {
            let (session, key) = (&log.session, log.key);
            log.events.retain_mut(|event| {
                let Some(reply) = reply_hash(session, key, event) else { return true };
                let is_here = most.get(&reply).is_some_and(|(_, log, seq)| (*log, *seq) == (number, event.seq));
                self.subtract_counted(reply, is_here, event)
            });
        }
    }

    /// Reduces an event to the usage not counted yet. Returns whether the event is kept.
    fn subtract_counted(&mut self, reply: u128, is_here: bool, event: &mut Event) -> bool {
        let EventBody::Usage(usage) = &mut event.body else { return true };
        let told = self.0.entry(reply).or_default();
        let more = usage.saturating_sub(if is_here { told } else { usage });
        told.add(&more);
        let is_again = more.is_zero() && !usage.is_zero();
        **usage = more;
        // An event that carries the native record of others is kept.
        !is_again || event.native.is_some()
    }
}

fn largest_reports(logs: &[UnitEvents]) -> LargestReports {
    let mut most = LargestReports::default();
    for (number, log) in logs.iter().enumerate() {
        for event in &log.events {
            let (Some(reply), EventBody::Usage(usage)) = (reply_hash(&log.session, log.key, event), &event.body) else {
                continue;
            };
            let here = (usage.all_input().saturating_add(usage.output), number, event.seq);
            let known = most.entry(reply).or_insert(here);
            if here.0 > known.0 {
                *known = here;
            }
        }
    }
    most
}

/// Returns the hash of the reply whose usage an event reports. Replies without a key are never equal.
fn reply_hash(session: &str, key: ReplyKey, event: &Event) -> Option<u128> {
    let EventBody::Usage(usage) = &event.body else { return None };
    let name = usage.key.as_ref().filter(|_| !usage.cumulative)?;
    let at = Some(event.at).filter(|at| *at != Timestamp::default());
    Some(xxh3_128(key(session, name, usage, at).as_bytes()))
}

#[cfg(test)]
mod tests {
    use switchboard_agents::own_reply_key;
    use switchboard_event::{Event, EventBody, Id, Timestamp, Usage};

    use super::{ReplyDeduplicator, UnitEvents};

    fn usage_event(seq: u64, key: Option<&str>, output: u64) -> Event {
        let usage = Usage { key: key.map(Id::from), output, ..Usage::default() };
        Event {
            seq,
            session: Id::from("s"),
            at: Timestamp::default(),
            agent: Id::from("a"),
            run: 1,
            turn: None,
            item: None,
            parent: None,
            thread: None,
            body: EventBody::Usage(Box::new(usage)),
            native: None,
            cause: None,
        }
    }

    fn unit_events(log: &str, replies: &[(Option<&str>, u64)]) -> UnitEvents {
        let events = (1..).zip(replies).map(|(seq, (key, output))| usage_event(seq, *key, *output)).collect();
        UnitEvents { session: log.to_owned(), key: own_reply_key, events }
    }

    fn output_tokens(log: &UnitEvents) -> Vec<u64> {
        let output = |event: &Event| if let EventBody::Usage(usage) = &event.body { usage.output } else { 0 };
        log.events.iter().map(output).collect()
    }

    #[test]
    fn a_reply_counts_where_the_most_is_told_of_it() {
        let mut logs = [
            unit_events("x", &[(Some("1"), 5), (Some("2"), 7), (None, 3)]),
            unit_events("x", &[(Some("1"), 9), (Some("2"), 7), (None, 3)]),
            unit_events("y", &[(Some("1"), 5)]),
        ];
        ReplyDeduplicator::default().deduplicate_usage(&mut logs);
        assert_eq!(logs.each_ref().map(output_tokens), [vec![7, 3], vec![9, 3], vec![5]]);
    }

    #[test]
    fn of_what_another_session_had_only_the_rest_counts() {
        let mut counted = ReplyDeduplicator::default();
        let mut first = [unit_events("x", &[(Some("1"), 5), (Some("2"), 7)])];
        let mut second = [unit_events("x", &[(Some("1"), 8), (Some("2"), 6), (Some("3"), 1)])];
        counted.deduplicate_usage(&mut first);
        counted.deduplicate_usage(&mut second);
        assert_eq!((output_tokens(&first[0]), output_tokens(&second[0])), (vec![5, 7], vec![3, 1]));
    }
}
