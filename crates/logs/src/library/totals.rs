//! What agents say that a session used in all, and no reply in its logs accounts for: side calls that are in no
//! transcript, such as compaction or a search of the web.

use std::collections::HashMap;

use crate::{Name, index::spent::Reply};

type Quick = foldhash::fast::FixedState;
type Tokens = [u64; 6];

/// Running totals of sessions, and what their replies came to.
#[derive(Default)]
pub struct Totals {
    totals: Vec<Total>,
    /// By session and model; a copy of a reply counts in each session that has it, as the totals do.
    covered: HashMap<(u32, u32), Tokens, Quick>,
    /// The sum that was added to last: most replies are of the same session as the one before.
    latest: ((u32, u32), Tokens),
}

/// What a session used of one model, and the log that says so.
struct Total {
    rank: u32,
    session: Name,
    reply: Reply,
}

impl Totals {
    /// A log says what its session used so far.
    pub fn add(&mut self, rank: u32, session: Name, reply: &Reply) {
        let same = |known: &&mut Total| known.session == session && known.reply.key == reply.key;
        match self.totals.iter_mut().find(same) {
            Some(known) if known.reply.total() < reply.total() => (known.rank, known.reply) = (rank, reply.clone()),
            Some(_) => {}
            None => self.totals.push(Total { rank, session, reply: reply.clone() }),
        }
    }

    /// A session has this reply, in its log or in that of a subagent.
    pub fn cover(&mut self, session: Name, reply: &Reply) {
        let key = (session.0, reply.model);
        if self.latest.0 != key {
            self.put_latest();
            self.latest.0 = key;
        }
        add(&mut self.latest.1, reply.tokens);
    }

    fn put_latest(&mut self) {
        let (key, tokens) = std::mem::take(&mut self.latest);
        add(self.covered.entry(key).or_default(), tokens);
    }

    /// What is missing, as replies of the logs that say so. A fork's total includes what is missing in the session that it
    /// was forked from, which has the same key: of sessions with one key, each only adds what those before it lack.
    pub fn into_missing(mut self) -> Vec<(u32, Reply)> {
        self.put_latest();
        let Self { mut totals, covered, .. } = self;
        totals.sort_by_key(|total| total.rank);
        let mut known: HashMap<u128, Tokens, Quick> = HashMap::default();
        let mut missing = Vec::new();
        for Total { rank, session, mut reply } in totals {
            let covered = covered.get(&(session.0, reply.model)).copied().unwrap_or_default();
            let known = known.entry(reply.key).or_default();
            for ((tokens, covered), known) in reply.tokens.iter_mut().zip(covered).zip(known) {
                let lacking = tokens.saturating_sub(covered);
                *tokens = lacking.saturating_sub(*known);
                *known = lacking.max(*known);
            }
            if reply.total() > 0 {
                missing.push((rank, reply));
            }
        }
        missing
    }
}

fn add(sum: &mut Tokens, tokens: Tokens) {
    sum.iter_mut().zip(tokens).for_each(|(sum, tokens)| *sum = sum.saturating_add(tokens));
}

#[cfg(test)]
mod tests {
    use super::Totals;
    use crate::{Name, index::spent::Reply};

    fn reply(key: u128, output: u64) -> Reply {
        Reply { key, model: 1, tokens: [0, output, 0, 0, 0, 0], ..Reply::default() }
    }

    fn missing(totals: Totals) -> Vec<(u32, u64)> {
        totals.into_missing().into_iter().map(|(rank, reply)| (rank, reply.total())).collect()
    }

    #[test]
    fn what_replies_come_to_is_not_missing() {
        let mut totals = Totals::default();
        totals.add(0, Name(1), &reply(7, 30));
        totals.add(0, Name(1), &reply(7, 40));
        totals.cover(Name(1), &reply(1, 25));
        totals.cover(Name(1), &reply(2, 10));
        totals.cover(Name(2), &reply(3, 99));
        assert_eq!(missing(totals), [(0, 5)]);
    }

    #[test]
    fn a_fork_does_not_count_what_was_missing_before() {
        let mut totals = Totals::default();
        for (rank, session, total) in [(1, Name(2), 60), (0, Name(1), 40)] {
            totals.add(rank, session, &reply(7, total));
            totals.cover(session, &reply(1, 30));
        }
        totals.cover(Name(2), &reply(2, 13));
        assert_eq!(missing(totals), [(0, 10), (1, 7)]);
    }

    #[test]
    fn more_replies_than_the_total_are_no_debt() {
        let mut totals = Totals::default();
        totals.add(0, Name(1), &reply(7, 5));
        totals.cover(Name(1), &reply(1, 9));
        assert_eq!(missing(totals), []);
    }
}
