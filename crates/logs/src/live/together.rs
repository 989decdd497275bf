//! Sessions put together from their logs, those of their subagents, and what Switchboard knows.

use std::collections::{BTreeMap, HashMap};

use switchboard_agents::Spent;
use switchboard_event::Timestamp;

use super::{
    doing::Activity,
    followed::Followed,
    running::Running,
    used::{Stamp, Sums, Used, Whose},
    watcher::Watcher,
};
use crate::usage::Prices;

/// A subagent that says nothing for so long is not at work.
const QUIET_MS: u64 = 60_000;

/// Not every log says that a turn is over: an answer that nothing follows for so long was the last.
const SETTLED_MS: u64 = 10_000;

/// The sessions that run, the latest first.
pub fn running(watcher: &mut Watcher) -> Vec<Running> {
    let mut sessions: BTreeMap<Whose, Session<'_>> = BTreeMap::new();
    for log in watcher.logs.values() {
        let whose = (log.tail.agent(), log.machine.clone(), log.tail.session());
        sessions.entry(whose).or_default().add(log);
    }
    let now = (watcher.setup.now)();
    let mut sums = Sums::with_capacity(sessions.len());
    let mut running = Vec::with_capacity(sessions.len());
    for (whose, session) in sessions {
        let stamp = session.stamp();
        let used = match watcher.sums.get(&whose) {
            Some((known, used)) if *known == stamp => *used,
            _ => session.used(&watcher.setup.prices),
        };
        running.push(Running { used, ..session.running(&whose, now) });
        sums.insert(whose, (stamp, used));
    }
    watcher.sums = sums;
    for (stored, own) in watcher.own.iter().flat_map(|own| own.running()) {
        let is_it = |session: &&mut Running| {
            session.agent == *stored.agent && stored.agent_session.as_deref() == Some(session.id.as_str())
        };
        match running.iter_mut().find(is_it) {
            // Its log says what was used; what it waits for only Switchboard knows.
            Some(session) => {
                session.own = own.own;
                (session.activity, session.since) = (own.activity, own.since);
            }
            None => running.push(own),
        }
    }
    for session in &mut running {
        if matches!(session.activity, Activity::Answering) && now.millis_since(session.updated) > SETTLED_MS {
            session.activity = Activity::Waiting;
        }
    }
    running.retain(|session| session.fits(&watcher.setup.wanted));
    if let Some(only) = &watcher.setup.only {
        running.retain(|session| session.is(only));
    }
    running.sort_by(|a, b| (b.facts.began, &a.id).cmp(&(a.facts.began, &b.id)));
    running
}

/// The logs of one session.
#[derive(Default)]
struct Session<'a> {
    main: Option<&'a Followed>,
    subagents: Vec<&'a Followed>,
}

impl<'a> Session<'a> {
    fn add(&mut self, log: &'a Followed) {
        match log.tail.parent() {
            // A session can lie in several files: the one that grew last says what it is doing.
            None if self.main.is_none_or(|main| main.updated <= log.updated) => {
                self.subagents.extend(self.main.replace(log));
            }
            _ => self.subagents.push(log),
        }
    }

    fn logs(&self) -> impl Iterator<Item = &'a Followed> {
        self.main.iter().chain(&self.subagents).copied()
    }

    fn stamp(&self) -> Stamp {
        (self.logs().count(), self.logs().map(|log| log.read_at).max())
    }

    /// Each reply once, whichever files it lies in. What was copied from another session was used there.
    fn used(&self, prices: &Prices) -> Used {
        let mut all: HashMap<&str, &Spent> = HashMap::new();
        for (key, spent) in self.logs().flat_map(|log| &log.tail.known().spent).filter(|(_, spent)| !spent.copied) {
            let known = all.entry(key).or_insert(spent);
            if known.output < spent.output {
                *known = spent;
            }
        }
        let missing = self.missing(&all);
        Used::of(all.into_values().filter(|spent| !spent.is_total).chain(&missing), prices)
    }

    /// What the totals of the session have beyond its replies. Those of a fork begin with what it was forked from, which is
    /// not known here.
    fn missing(&self, all: &HashMap<&str, &Spent>) -> Vec<Spent> {
        let is_fork = self.logs().any(|log| log.tail.known().spent.values().any(|spent| spent.copied));
        let totals = all.values().filter(|spent| spent.is_total && !is_fork);
        let rest = |total: &Spent| {
            let replies = || all.values().filter(|spent| !spent.is_total && spent.model == total.model);
            let beyond = |of: fn(&Spent) -> u64| of(total).saturating_sub(replies().map(|spent| of(spent)).sum());
            Spent {
                at: total.at,
                model: total.model.clone(),
                input: beyond(|spent| spent.input),
                output: beyond(|spent| spent.output),
                cache_read: beyond(|spent| spent.cache_read),
                cache_write: beyond(|spent| spent.cache_write),
                cache_write_1h: beyond(|spent| spent.cache_write_1h),
                reasoning: beyond(|spent| spent.reasoning),
                ..Spent::default()
            }
        };
        totals.map(|total| rest(total)).filter(|rest| rest.all() > 0).collect()
    }

    fn running(&self, (agent, machine, id): &Whose, now: Timestamp) -> Running {
        let updated = self.logs().map(|log| log.updated).max().unwrap_or_default();
        let is_busy =
            |log: &&&Followed| log.tail.known().doing.activity().is_busy() && now.millis_since(log.updated) < QUIET_MS;
        let busiest = self.subagents.iter().filter(is_busy).max_by_key(|log| log.updated);
        let known = self.main.or(self.subagents.first().copied()).map(|log| (log, log.tail.known()));
        let mut facts = known.map(|(_, known)| known.facts.clone()).unwrap_or_default();
        facts.updated = Some(updated);
        Running {
            id: id.clone(),
            agent: (*agent).to_owned(),
            machine: machine.clone(),
            facts,
            path: known.map(|(log, _)| log.tail.path().to_owned()),
            own: None,
            activity: known.map(|(_, known)| known.doing.activity()).unwrap_or_default(),
            since: known.and_then(|(_, known)| known.doing.since()),
            updated,
            inner: busiest.map(|log| log.tail.known().doing.activity()),
            subagents: self.subagents.iter().filter(is_busy).count(),
            used: Used::default(),
        }
    }
}
