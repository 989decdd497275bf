//! Each reply once in an export of several sessions: what a fork or a copy repeats of another session is told again, but
//! its tokens stand where they were used.

use std::collections::HashSet;

use switchboard_event::{Body, Event, Id, Usage};

/// The replies of the sessions so far: the agent, and the reply.
#[derive(Default)]
pub struct Counted(HashSet<(Id, Id)>);

impl Counted {
    /// Takes out the tokens of replies that were in sessions before this one.
    pub fn once(&mut self, events: &mut Vec<Event>) {
        let own: Vec<_> = events.iter().filter_map(reply).collect();
        events.retain_mut(|event| {
            let is_again = reply(event).is_some_and(|reply| self.0.contains(&reply));
            if is_again && let Body::Usage(usage) = &mut event.body {
                **usage = Usage { key: usage.key.take(), model: usage.model.take(), ..Usage::default() };
            }
            // An event that has the record of others stays for them.
            !is_again || event.native.is_some()
        });
        // Figures of one reply that come in parts within a session belong together.
        self.0.extend(own);
    }
}

/// The reply whose tokens an event tells.
fn reply(event: &Event) -> Option<(Id, Id)> {
    match &event.body {
        Body::Usage(usage) => Some((event.agent.clone(), usage.key.clone()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use switchboard_event::{Body, Event, Id, Timestamp, Usage};

    use super::Counted;

    fn used(agent: &str, key: Option<&str>) -> Event {
        let usage = Usage { key: key.map(Id::from), output: 5, ..Usage::default() };
        Event {
            seq: 1,
            session: Id::from("s"),
            at: Timestamp::default(),
            agent: Id::from(agent),
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

    #[test]
    fn what_another_session_had_is_not_counted_again() {
        let mut counted = Counted::default();
        let mut lengths = Vec::new();
        for session in [
            vec![used("a", Some("1")), used("a", Some("1")), used("a", None)],
            vec![used("a", Some("1")), used("a", Some("2")), used("a", None), used("b", Some("1"))],
        ] {
            let mut events = session;
            counted.once(&mut events);
            lengths.push(events.len());
        }
        assert_eq!(lengths, [3, 3]);
    }
}
