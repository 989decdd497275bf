//! Each reply once among the events of several logs, by the keys by which `usage` counts. What a copy, a fork or the
//! progress of a subagent repeats is told again, but its tokens stand where there are most of them.

use std::collections::HashMap;

use switchboard_agents::ReplyKey;
use switchboard_event::{Body, Event, Timestamp, Usage};
use xxhash_rust::xxh3::xxh3_128;

type Quick = foldhash::fast::FixedState;

/// The replies of the sessions so far, and what was told of each.
#[derive(Default)]
pub struct Counted(HashMap<u128, Usage, Quick>);

/// The events of one log.
pub(super) struct Told {
    /// The session that it is the log of, be it a subagent's.
    pub session: String,
    /// What makes its replies the same everywhere.
    pub key: ReplyKey,
    pub events: Vec<Event>,
}

/// Where the most is told of a reply: how much, in which log, by which event.
type Most = HashMap<u128, (u64, usize, u64), Quick>;

impl Counted {
    /// Leaves the tokens of each reply in one place of these logs, without what was told in sessions before.
    pub(super) fn once(&mut self, logs: &mut [Told]) {
        let most = most(logs);
        for (number, log) in logs.iter_mut().enumerate() {
            let (session, key) = (&log.session, log.key);
            log.events.retain_mut(|event| {
                let Some(reply) = reply(session, key, event) else { return true };
                let is_here = most.get(&reply).is_some_and(|(_, log, seq)| (*log, *seq) == (number, event.seq));
                self.count(reply, is_here, event)
            });
        }
    }

    /// Leaves in an event what was not told yet. False if nothing is left of it.
    fn count(&mut self, reply: u128, is_here: bool, event: &mut Event) -> bool {
        let Body::Usage(usage) = &mut event.body else { return true };
        let told = self.0.entry(reply).or_default();
        let more = usage.minus(if is_here { told } else { usage });
        told.add(&more);
        let is_again = more.is_zero() && !usage.is_zero();
        **usage = more;
        // An event that has the record of others stays for them.
        !is_again || event.native.is_some()
    }
}

fn most(logs: &[Told]) -> Most {
    let mut most = Most::default();
    for (number, log) in logs.iter().enumerate() {
        for event in &log.events {
            let (Some(reply), Body::Usage(usage)) = (reply(&log.session, log.key, event), &event.body) else {
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

/// The reply whose tokens an event tells. One without a name is never the same as another.
fn reply(session: &str, key: ReplyKey, event: &Event) -> Option<u128> {
    let Body::Usage(usage) = &event.body else { return None };
    let name = usage.key.as_ref().filter(|_| !usage.cumulative)?;
    let at = Some(event.at).filter(|at| *at != Timestamp::default());
    Some(xxh3_128(key(session, name, usage, at).as_bytes()))
}

#[cfg(test)]
mod tests {
    use switchboard_agents::own_key;
    use switchboard_event::{Body, Event, Id, Timestamp, Usage};

    use super::{Counted, Told};

    fn used(seq: u64, key: Option<&str>, output: u64) -> Event {
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
            body: Body::Usage(Box::new(usage)),
            native: None,
            cause: None,
        }
    }

    fn told(log: &str, replies: &[(Option<&str>, u64)]) -> Told {
        let events = (1..).zip(replies).map(|(seq, (key, output))| used(seq, *key, *output)).collect();
        Told { session: log.to_owned(), key: own_key, events }
    }

    fn outputs(log: &Told) -> Vec<u64> {
        let output = |event: &Event| if let Body::Usage(usage) = &event.body { usage.output } else { 0 };
        log.events.iter().map(output).collect()
    }

    #[test]
    fn a_reply_counts_where_the_most_is_told_of_it() {
        let mut logs = [
            told("x", &[(Some("1"), 5), (Some("2"), 7), (None, 3)]),
            told("x", &[(Some("1"), 9), (Some("2"), 7), (None, 3)]),
            told("y", &[(Some("1"), 5)]),
        ];
        Counted::default().once(&mut logs);
        assert_eq!(logs.each_ref().map(outputs), [vec![7, 3], vec![9, 3], vec![5]]);
    }

    #[test]
    fn of_what_another_session_had_only_the_rest_counts() {
        let mut counted = Counted::default();
        let mut first = [told("x", &[(Some("1"), 5), (Some("2"), 7)])];
        let mut second = [told("x", &[(Some("1"), 8), (Some("2"), 6), (Some("3"), 1)])];
        counted.once(&mut first);
        counted.once(&mut second);
        assert_eq!((outputs(&first[0]), outputs(&second[0])), (vec![5, 7], vec![3, 1]));
    }
}
