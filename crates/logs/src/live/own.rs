//! Sessions that Switchboard runs, read from its own log: for agents that leave none, and for what a log does not say.

use std::{collections::HashMap, sync::Arc};

use switchboard_agents::{Facts, Spent};
use switchboard_event::{Body, Event, Id, Timestamp, Usage};
use switchboard_store::{Filter, Log, Page, Session, State};

use super::{doing::Doing, running::Running, used::Used};
use crate::usage::Prices;

/// So much is read at once.
const PAGE: Page = Page { after: 0, limit: 10_000, max_bytes: 16 << 20 };

/// The sessions that Switchboard runs.
pub struct Own {
    log: Arc<dyn Log>,
    known: HashMap<Id, Known>,
}

/// What is known of one.
struct Known {
    session: Session,
    seen: u64,
    doing: Doing,
    facts: Facts,
    spent: HashMap<Id, Spent>,
    /// What that comes to.
    used: Used,
}

impl Own {
    /// None are known yet.
    pub fn new(log: Arc<dyn Log>) -> Self {
        Self { log, known: HashMap::new() }
    }

    /// The agents' own ids of the sessions.
    pub fn agent_sessions(&self) -> impl Iterator<Item = String> {
        self.known.values().filter_map(|known| known.session.agent_session.as_ref().map(ToString::to_string))
    }

    /// Reads what is new. Says which sessions changed, with their events if those are wanted.
    pub fn read(&mut self, events: bool, prices: &Prices) -> Vec<(Session, Vec<Event>)> {
        let filter = Filter { states: State::OPEN.to_vec(), ..Filter::default() };
        // A log that cannot be read now can be read later.
        let Ok(open) = self.log.sessions(&filter) else { return Vec::new() };
        let is_open = |id: &Id| open.iter().any(|session| session.id == *id);
        let ended: Vec<Id> = self.known.keys().filter(|id| !is_open(id)).cloned().collect();
        let ended = ended.into_iter().filter_map(|id| self.log.session(&id).ok().flatten());
        let looked: Vec<Session> = open.iter().cloned().chain(ended).collect();
        let mut changed = Vec::new();
        for session in looked {
            if let Some(events) = self.one(&session, events, prices) {
                changed.push((session, events));
            }
        }
        self.known.retain(|id, _| open.iter().any(|session| session.id == *id));
        changed
    }

    /// The sessions, as they are.
    pub fn running(&self) -> impl Iterator<Item = (&Session, Running)> {
        self.known.values().map(|known| (&known.session, known.running()))
    }

    fn one(&mut self, session: &Session, follow: bool, prices: &Prices) -> Option<Vec<Event>> {
        let is_new = !self.known.contains_key(&session.id);
        let known = self.known.entry(session.id.clone()).or_insert_with(|| Known::new(session.clone()));
        let changed = is_new || known.session.head != session.head || known.session.state != session.state;
        known.session = session.clone();
        let (mut events, before) = (Vec::new(), known.seen);
        while let Ok(page) = self.log.page(&session.id, Page { after: known.seen, ..PAGE }) {
            let Some(last) = page.last() else { break };
            known.seen = last.seq;
            page.iter().for_each(|event| known.see(event));
            if follow {
                events.extend(page);
            }
        }
        if known.seen != before {
            known.used = Used::of(known.spent.values(), prices);
        }
        changed.then_some(events)
    }
}

impl Known {
    fn new(session: Session) -> Self {
        let facts = Facts {
            session: session.agent_session.as_ref().map(ToString::to_string),
            cwd: Some(session.cwd.clone()),
            title: session.title.clone(),
            prompt: Some(session.prompt.clone()),
            began: Some(session.created),
            ..Facts::default()
        };
        Self { session, seen: 0, doing: Doing::default(), facts, spent: HashMap::new(), used: Used::default() }
    }

    fn see(&mut self, event: &Event) {
        self.doing.see(event);
        let info = match &event.body {
            Body::SessionStarted(started) => &started.info,
            Body::SessionUpdated(updated) => &updated.info,
            Body::Usage(usage) if !usage.cumulative => return self.spend(event.at, event.seq, usage),
            _ => return,
        };
        let context = info.context.as_ref();
        self.facts.learn(Facts {
            model: info.model.clone(),
            title: info.title.clone(),
            version: info.version.clone(),
            context_used: context.and_then(|context| context.used),
            context_size: context.and_then(|context| context.size),
            ..Facts::default()
        });
    }

    fn spend(&mut self, at: Timestamp, seq: u64, usage: &Usage) {
        let key = usage.key.clone().unwrap_or_else(|| Id::from(seq.to_string()));
        let spent = Spent {
            key: key.to_string(),
            at: Some(at),
            model: usage.model.clone().or_else(|| self.facts.model.clone()),
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write_5m,
            cache_write_1h: usage.cache_write_1h,
            reasoning: usage.reasoning,
            cost_usd: usage.cost_usd,
            ..Spent::default()
        };
        self.spent.insert(key, spent);
    }

    fn running(&self) -> Running {
        let Session { id, agent, agent_session, updated, .. } = &self.session;
        Running {
            id: agent_session.as_ref().unwrap_or(id).to_string(),
            agent: agent.to_string(),
            facts: self.facts.clone(),
            own: Some(id.clone()),
            activity: self.doing.activity(),
            since: self.doing.since(),
            updated: *updated,
            used: self.used,
            ..Running::default()
        }
    }
}
