//! Counts each reply once among the events of several logs, by the same keys as `usage`. Copies, forks and subagent
//! progress repeat events, but the tokens stay only where most of them are reported.

use std::collections::HashMap;

use switchboard_agents::ReplyKey;
use switchboard_event::{Event, EventBody, Timestamp, Usage};
use xxhash_rust::xxh3::xxh3_128;

use crate::LedgerName;
use crate::index::reply_rows::StoredReply;

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

type TotalsHasher = foldhash::fast::FixedState;
type TokenCounts = [u64; 6];

/// Reported totals of sessions, and the sums of their replies.
#[derive(Default)]
pub struct SessionTotals {
    totals: Vec<ReportedTotal>,
    /// By session and model. A copied reply counts in each session that has it, as in the totals.
    covered: HashMap<(u32, u32), TokenCounts, TotalsHasher>,
    /// The sum last added to: most replies belong to the same session as the previous one.
    latest: ((u32, u32), TokenCounts),
}

/// The reported usage of one model in a session, and the log that reports it.
struct ReportedTotal {
    rank: u32,
    session: LedgerName,
    reply: StoredReply,
}

impl SessionTotals {
    /// Adds a total reported by a log.
    pub fn add_total(&mut self, rank: u32, session: LedgerName, reply: &StoredReply) {
        let same = |known: &&mut ReportedTotal| known.session == session && known.reply.key == reply.key;
        match self.totals.iter_mut().find(same) {
            Some(known) if known.reply.total_tokens() < reply.total_tokens() => {
                (known.rank, known.reply) = (rank, reply.clone())
            }
            Some(_) => {}
            None => self.totals.push(ReportedTotal { rank, session, reply: reply.clone() }),
        }
    }

    /// Adds a reply of a session or of its subagents.
    pub fn add_covered(&mut self, session: LedgerName, reply: &StoredReply) {
        let key = (session.0, reply.model);
        if self.latest.0 != key {
            self.flush_latest();
            self.latest.0 = key;
        }
        add_tokens(&mut self.latest.1, reply.tokens);
    }

    fn flush_latest(&mut self) {
        let (key, tokens) = std::mem::take(&mut self.latest);
        add_tokens(self.covered.entry(key).or_default(), tokens);
    }

    /// Returns the unaccounted usage as replies of the reporting logs. A fork's total includes the unaccounted usage of
    /// the session it was forked from, which has the same key: of sessions with one key, each adds only the excess over
    /// those before it.
    pub fn into_unaccounted(mut self) -> Vec<(u32, StoredReply)> {
        self.flush_latest();
        let Self { mut totals, covered, .. } = self;
        totals.sort_by_key(|total| total.rank);
        let mut known: HashMap<u128, TokenCounts, TotalsHasher> = HashMap::default();
        let mut missing = Vec::new();
        for ReportedTotal { rank, session, mut reply } in totals {
            let covered = covered.get(&(session.0, reply.model)).copied().unwrap_or_default();
            let known = known.entry(reply.key).or_default();
            for ((tokens, covered), known) in reply.tokens.iter_mut().zip(covered).zip(known) {
                let lacking = tokens.saturating_sub(covered);
                *tokens = lacking.saturating_sub(*known);
                *known = lacking.max(*known);
            }
            if reply.total_tokens() > 0 {
                missing.push((rank, reply));
            }
        }
        missing
    }
}

fn add_tokens(sum: &mut TokenCounts, tokens: TokenCounts) {
    sum.iter_mut().zip(tokens).for_each(|(sum, tokens)| *sum = sum.saturating_add(tokens));
}

#[cfg(test)]
mod tests {
    use switchboard_agents::own_reply_key;
    use switchboard_event::{Event, EventBody, Id, Timestamp, Usage};

    use super::{ReplyDeduplicator, SessionTotals, UnitEvents};
    use crate::LedgerName;
    use crate::index::reply_rows::StoredReply;

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

    fn reply_with_output(key: u128, output: u64) -> StoredReply {
        StoredReply { key, model: 1, tokens: [0, output, 0, 0, 0, 0], ..StoredReply::default() }
    }

    fn unaccounted_tokens(totals: SessionTotals) -> Vec<(u32, u64)> {
        totals.into_unaccounted().into_iter().map(|(rank, reply)| (rank, reply.total_tokens())).collect()
    }

    #[test]
    fn what_replies_come_to_is_not_missing() {
        let mut totals = SessionTotals::default();
        totals.add_total(0, LedgerName(1), &reply_with_output(7, 30));
        totals.add_total(0, LedgerName(1), &reply_with_output(7, 40));
        totals.add_covered(LedgerName(1), &reply_with_output(1, 25));
        totals.add_covered(LedgerName(1), &reply_with_output(2, 10));
        totals.add_covered(LedgerName(2), &reply_with_output(3, 99));
        assert_eq!(unaccounted_tokens(totals), [(0, 5)]);
    }

    #[test]
    fn a_fork_does_not_count_what_was_missing_before() {
        let mut totals = SessionTotals::default();
        for (rank, session, total) in [(1, LedgerName(2), 60), (0, LedgerName(1), 40)] {
            totals.add_total(rank, session, &reply_with_output(7, total));
            totals.add_covered(session, &reply_with_output(1, 30));
        }
        totals.add_covered(LedgerName(2), &reply_with_output(2, 13));
        assert_eq!(unaccounted_tokens(totals), [(0, 10), (1, 7)]);
    }

    #[test]
    fn more_replies_than_the_total_are_no_debt() {
        let mut totals = SessionTotals::default();
        totals.add_total(0, LedgerName(1), &reply_with_output(7, 5));
        totals.add_covered(LedgerName(1), &reply_with_output(1, 9));
        assert_eq!(unaccounted_tokens(totals), []);
    }
}
