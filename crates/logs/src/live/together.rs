//! Sessions put together from their logs, those of their subagents, and what Switchboard knows.

use std::collections::{BTreeMap, HashMap};

use switchboard_agents::Spent;

use super::{followed::Followed, running::Running, watcher::Watcher};

/// A subagent that says nothing for so long is not at work.
const QUIET_MS: u64 = 60_000;

/// The sessions that run, the latest first.
pub fn running(watcher: &Watcher) -> Vec<Running> {
    let mut sessions: BTreeMap<(&str, Option<&str>, String), Session<'_>> = BTreeMap::new();
    for log in watcher.logs.values() {
        let key = (log.tail.agent(), log.machine.as_deref(), log.tail.session());
        sessions.entry(key).or_default().add(log);
    }
    let now = (watcher.setup.now)();
    let mut running: Vec<Running> =
        sessions.into_iter().map(|((agent, _, id), session)| session.running(id, agent, now)).collect();
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

    fn running(&self, id: String, agent: &str, now: switchboard_event::Timestamp) -> Running {
        let logs = || self.main.iter().chain(&self.subagents);
        let updated = logs().map(|log| log.updated).max().unwrap_or_default();
        let is_busy =
            |log: &&&Followed| log.tail.known().doing.activity().is_busy() && now.millis_since(log.updated) < QUIET_MS;
        let busiest = self.subagents.iter().filter(is_busy).max_by_key(|log| log.updated);
        let known = self.main.or(self.subagents.first().copied()).map(|log| (log, log.tail.known()));
        let mut facts = known.map(|(_, known)| known.facts.clone()).unwrap_or_default();
        facts.updated = Some(updated);
        Running {
            id,
            agent: agent.to_owned(),
            machine: known.and_then(|(log, _)| log.machine.clone()),
            facts,
            path: known.map(|(log, _)| log.tail.path().to_owned()),
            own: None,
            activity: known.map(|(_, known)| known.doing.activity()).unwrap_or_default(),
            since: known.and_then(|(_, known)| known.doing.since()),
            updated,
            inner: busiest.map(|log| log.tail.known().doing.activity()),
            subagents: self.subagents.iter().filter(is_busy).count(),
            spent: spent(logs().copied()),
        }
    }
}

/// Each reply once, whichever files it lies in. What was copied from another session was used there.
fn spent<'a>(logs: impl Iterator<Item = &'a Followed>) -> Vec<Spent> {
    let mut all: HashMap<&str, &Spent> = HashMap::new();
    for (key, spent) in logs.flat_map(|log| &log.tail.known().spent).filter(|(_, spent)| !spent.copied) {
        let known = all.entry(key).or_insert(spent);
        if known.output < spent.output {
            *known = spent;
        }
    }
    all.into_values().cloned().collect()
}
