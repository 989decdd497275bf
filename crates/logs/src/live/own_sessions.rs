//! Sessions that Switchboard runs, read from its own log: for agents without logs, and for details that agent logs
//! lack.

use std::collections::HashMap;
use std::sync::Arc;

use switchboard_agents::{ReplyTokens, SessionFacts};
use switchboard_event::{Details, Event, EventBody, Id, Item, SessionStatus, Timestamp, Topic, Usage};
use switchboard_store::{PageQuery, SessionFilter, SessionLog, SessionPhase, SessionRecord};

use super::running_session::{RunningSession, SessionUsage};
use crate::usage::TokenPrices;

/// Events read per page.
const LIVE_PAGE: PageQuery = PageQuery { after: 0, limit: 10_000, max_bytes: 16 << 20, kinds: &[] };

/// The sessions that Switchboard runs.
pub struct OwnSessionTracker {
    log: Arc<dyn SessionLog>,
    known: HashMap<Id, TrackedOwnSession>,
}

/// The state of a session.
struct TrackedOwnSession {
    session: SessionRecord,
    seen: u64,
    doing: ActivityTracker,
    facts: SessionFacts,
    spent: HashMap<Id, ReplyTokens>,
    /// The sum of `spent`.
    used: SessionUsage,
}

impl OwnSessionTracker {
    /// Creates a tracker that knows no sessions.
    pub fn new(log: Arc<dyn SessionLog>) -> Self {
        Self { log, known: HashMap::new() }
    }

    /// Returns the agents' IDs of the sessions.
    pub fn agent_session_ids(&self) -> impl Iterator<Item = String> {
        self.known.values().filter_map(|known| known.session.agent_session.as_ref().map(ToString::to_string))
    }

    /// Reads new events. Returns the changed sessions, with their events if `events` is set.
    pub fn read(&mut self, events: bool, prices: &TokenPrices) -> Vec<(SessionRecord, Vec<Event>)> {
        let filter = SessionFilter { states: SessionPhase::OPEN.to_vec(), ..SessionFilter::default() };
        // A log that cannot be read now is read later.
        let Ok(open) = self.log.list_sessions(&filter) else { return Vec::new() };
        let is_open = |id: &Id| open.iter().any(|session| session.id == *id);
        let ended: Vec<Id> = self.known.keys().filter(|id| !is_open(id)).cloned().collect();
        let ended = ended.into_iter().filter_map(|id| self.log.get_session(&id).ok().flatten());
        let looked: Vec<SessionRecord> = open.iter().cloned().chain(ended).collect();
        let mut changed = Vec::new();
        for session in looked {
            if let Some(events) = self.read_session(&session, events, prices) {
                changed.push((session, events));
            }
        }
        self.known.retain(|id, _| open.iter().any(|session| session.id == *id));
        changed
    }

    /// Returns the current state of the sessions.
    pub fn running_sessions(&self) -> impl Iterator<Item = (&SessionRecord, RunningSession)> {
        self.known.values().map(|known| (&known.session, known.to_running_session()))
    }

    fn read_session(&mut self, session: &SessionRecord, follow: bool, prices: &TokenPrices) -> Option<Vec<Event>> {
        let is_new = !self.known.contains_key(&session.id);
        let known = self.known.entry(session.id.clone()).or_insert_with(|| TrackedOwnSession::new(session.clone()));
        let changed = is_new || known.session.head != session.head || known.session.state != session.state;
        known.session = session.clone();
        let (mut events, before) = (Vec::new(), known.seen);
        while let Ok(page) = self.log.read_events(&session.id, PageQuery { after: known.seen, ..LIVE_PAGE }) {
            let Some(last) = page.last() else { break };
            known.seen = last.seq;
            page.iter().for_each(|event| known.apply_event(event));
            if follow {
                events.extend(page);
            }
        }
        if known.seen != before {
            known.used = SessionUsage::from_replies(known.spent.values(), prices);
        }
        changed.then_some(events)
    }
}

impl TrackedOwnSession {
    fn new(session: SessionRecord) -> Self {
        let facts = SessionFacts {
            session: session.agent_session.as_ref().map(ToString::to_string),
            cwd: Some(session.cwd.clone()),
            title: session.title.clone(),
            prompt: Some(session.prompt.clone()),
            began: Some(session.created),
            ..SessionFacts::default()
        };
        Self {
            session,
            seen: 0,
            doing: ActivityTracker::default(),
            facts,
            spent: HashMap::new(),
            used: SessionUsage::default(),
        }
    }

    fn apply_event(&mut self, event: &Event) {
        self.doing.apply_event(event);
        let info = match &event.body {
            EventBody::SessionStarted(started) => &started.info,
            EventBody::SessionUpdated(updated) => &updated.info,
            EventBody::Usage(usage) if !usage.cumulative => return self.add_usage(event.at, event.seq, usage),
            _ => return,
        };
        let context = info.context.as_ref();
        self.facts.merge_newer(SessionFacts {
            model: info.model.clone(),
            title: info.title.clone(),
            version: info.version.clone(),
            context_used: context.and_then(|context| context.used),
            context_size: context.and_then(|context| context.size),
            ..SessionFacts::default()
        });
    }

    fn add_usage(&mut self, at: Timestamp, seq: u64, usage: &Usage) {
        let key = usage.key.clone().unwrap_or_else(|| Id::from(seq.to_string()));
        let spent = ReplyTokens {
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
            ..ReplyTokens::default()
        };
        self.spent.insert(key, spent);
    }

    fn to_running_session(&self) -> RunningSession {
        let SessionRecord { id, agent, agent_session, updated, .. } = &self.session;
        RunningSession {
            id: agent_session.as_ref().unwrap_or(id).to_string(),
            agent: agent.to_string(),
            facts: self.facts.clone(),
            own: Some(id.clone()),
            activity: self.doing.current_activity(),
            since: self.doing.active_since(),
            updated: *updated,
            used: self.used,
            ..RunningSession::default()
        }
    }
}

/// The maximum number of tools tracked at once; the oldest are dropped.
const MAX_RUNNING_TOOLS: usize = 64;

/// What a session is doing.
#[derive(Clone, Debug, Default)]
pub enum SessionActivity {
    /// Started; nothing else is known.
    #[default]
    Starting,
    /// The model is working.
    Thinking,
    /// The model is writing a message.
    Answering,
    Tool(Arc<Item>),
    /// A request is waiting for an answer.
    Asking(String),
    /// The model could not be reached, and the agent retries.
    Retrying,
    /// The context is being compacted.
    Compacting,
    /// Waiting for a prompt.
    Waiting,
}

impl SessionActivity {
    /// Returns the name used in JSON output.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Thinking => "thinking",
            Self::Answering => "answering",
            Self::Tool(_) => "tool",
            Self::Asking(_) => "asking",
            Self::Retrying => "retrying",
            Self::Compacting => "compacting",
            Self::Waiting => "waiting",
        }
    }

    /// Returns whether the agent is working.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !matches!(self, Self::Waiting | Self::Asking(_))
    }
}

/// Tracks the activity of a session.
#[derive(Default)]
pub struct ActivityTracker {
    /// Running tools, the newest last.
    tools: Vec<(Id, Arc<Item>)>,
    /// Unanswered requests.
    asked: Vec<(Id, String)>,
    /// The activity apart from tools and requests.
    voice: SessionActivity,
    /// The log shows that no work is left, although it has no end of the turn.
    rests: bool,
    /// When the current activity began.
    since: Option<Timestamp>,
}

impl ActivityTracker {
    pub fn current_activity(&self) -> SessionActivity {
        match (self.asked.last(), self.tools.last()) {
            (Some((_, title)), _) => SessionActivity::Asking(title.clone()),
            (None, Some((_, item)))
                if !matches!(self.voice, SessionActivity::Retrying | SessionActivity::Compacting) =>
            {
                SessionActivity::Tool(item.clone())
            }
            _ if self.rests => SessionActivity::Waiting,
            _ => self.voice.clone(),
        }
    }

    /// Sets whether any work is left after the record of this time.
    pub fn set_resting(&mut self, rests: bool, at: Option<Timestamp>) {
        if rests && !self.rests {
            self.since = at.or(self.since);
        }
        self.rests = rests;
    }

    pub fn active_since(&self) -> Option<Timestamp> {
        self.since
    }

    /// Applies an event. Returns whether the activity changed.
    pub fn apply_event(&mut self, event: &Event) -> bool {
        let changed = match &event.body {
            EventBody::SessionStarted(_) => false,
            EventBody::SessionUpdated(updated) => self.apply_status(updated.info.status),
            EventBody::TurnStarted(_) => self.set_activity(SessionActivity::Thinking),
            EventBody::TurnCompleted(_) => event.thread.is_none() && self.set_waiting(),
            EventBody::SessionEnded(_) => self.set_waiting(),
            EventBody::ItemStarted(item) => self.start_item(event.item.as_ref(), item),
            EventBody::ItemDelta(_) => false,
            EventBody::ItemCompleted(item) => self.complete_item(event.item.as_ref(), item),
            EventBody::RequestOpened(request) => {
                self.asked.push((request.request.clone(), request.title.clone()));
                true
            }
            EventBody::RequestResolved(resolved) => {
                self.asked.retain(|(id, _)| *id != resolved.request);
                true
            }
            EventBody::Notice(notice) if notice.topic == Topic::Retry => self.set_activity(SessionActivity::Retrying),
            EventBody::Usage(_) | EventBody::Notice(_) => false,
        };
        if changed {
            self.since = Some(event.at);
        }
        changed
    }

    fn apply_status(&mut self, status: Option<SessionStatus>) -> bool {
        match status {
            Some(SessionStatus::Compacting) => self.set_activity(SessionActivity::Compacting),
            Some(SessionStatus::Retrying) => self.set_activity(SessionActivity::Retrying),
            Some(SessionStatus::Idle) => self.set_waiting(),
            Some(SessionStatus::Running | SessionStatus::RequiresAction) | None => false,
        }
    }

    fn start_item(&mut self, id: Option<&Id>, item: &Item) -> bool {
        match &item.details {
            Details::UserMessage(_) | Details::Reasoning(_) | Details::Plan(_) => {
                self.set_activity(SessionActivity::Thinking)
            }
            Details::AgentMessage(_) => self.set_activity(SessionActivity::Answering),
            _ => {
                let Some(id) = id else { return false };
                self.tools.retain(|(known, _)| known != id);
                if self.tools.len() >= MAX_RUNNING_TOOLS {
                    self.tools.remove(0);
                }
                self.tools.push((id.clone(), Arc::new(item.clone())));
                self.voice = SessionActivity::Thinking;
                true
            }
        }
    }

    fn complete_item(&mut self, id: Option<&Id>, item: &Item) -> bool {
        let before = self.tools.len();
        self.tools.retain(|(known, _)| Some(known) != id);
        match &item.details {
            Details::AgentMessage(_) => self.set_activity(SessionActivity::Answering),
            // In any case the model continues from there.
            _ => self.set_activity(SessionActivity::Thinking) || before != self.tools.len(),
        }
    }

    fn set_activity(&mut self, voice: SessionActivity) -> bool {
        let changed = self.voice.as_str() != voice.as_str();
        self.voice = voice;
        changed
    }

    /// Clears running tools and requests.
    fn set_waiting(&mut self) -> bool {
        let changed =
            !matches!(self.voice, SessionActivity::Waiting) || !self.tools.is_empty() || !self.asked.is_empty();
        (self.tools, self.asked) = (Vec::new(), Vec::new());
        self.voice = SessionActivity::Waiting;
        changed
    }
}
