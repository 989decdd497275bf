//! Combines sessions from their logs, those of their subagents, and Switchboard's own log.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Instant;

use jiff::tz::TimeZone;
use switchboard_agents::{ReplyTokens, SessionFacts};
use switchboard_event::{Id, Timestamp};

use super::follower::LogFollower;
use super::own_sessions::SessionActivity;
use super::watcher::LogWatcher;
use crate::usage::{TokenPrices, UsageGrouping, UsageQuestion, aggregate_usage};
use crate::{LedgerEntry, LedgerName, LogFilter, UsageLedger};

/// A subagent without output for this long is not working.
const SUBAGENT_IDLE_MS: u64 = 60_000;

/// Not every log records the end of a turn: a message without a successor for this long was the last.
const ANSWER_SETTLED_MS: u64 = 10_000;

/// Returns the running sessions, latest first.
pub fn collect_running_sessions(watcher: &mut LogWatcher) -> Vec<RunningSession> {
    let mut sessions: BTreeMap<SessionIdentity, SessionLogs<'_>> = BTreeMap::new();
    for log in watcher.logs.values() {
        let whose = (log.tail.agent_name(), log.machine.clone(), log.tail.session_id());
        sessions.entry(whose).or_default().add_log(log);
    }
    let now = (watcher.setup.now)();
    let mut sums = SessionUsageCache::with_capacity(sessions.len());
    let mut running = Vec::with_capacity(sessions.len());
    for (whose, session) in sessions {
        let stamp = session.cache_stamp();
        let used = match watcher.sums.get(&whose) {
            Some((known, used)) if *known == stamp => *used,
            _ => session.sum_usage(&watcher.setup.prices),
        };
        running.push(RunningSession { used, ..session.to_running_session(&whose, now) });
        sums.insert(whose, (stamp, used));
    }
    watcher.sums = sums;
    for (stored, own) in watcher.own.iter().flat_map(|own| own.running_sessions()) {
        let is_it = |session: &&mut RunningSession| {
            session.agent == *stored.agent && stored.agent_session.as_deref() == Some(session.id.as_str())
        };
        match running.iter_mut().find(is_it) {
            // The agent's log has the usage; only Switchboard knows what the session is waiting for.
            Some(session) => {
                session.own = own.own;
                (session.activity, session.since) = (own.activity, own.since);
            }
            None => running.push(own),
        }
    }
    for session in &mut running {
        if matches!(session.activity, SessionActivity::Answering)
            && now.millis_since(session.updated) > ANSWER_SETTLED_MS
        {
            session.activity = SessionActivity::Waiting;
        }
    }
    running.retain(|session| session.matches_filter(&watcher.setup.wanted));
    if let Some(only) = &watcher.setup.only {
        running.retain(|session| session.matches_id(only));
    }
    running.sort_by(|a, b| (b.facts.began, &a.id).cmp(&(a.facts.began, &b.id)));
    running
}

/// The logs of one session.
#[derive(Default)]
struct SessionLogs<'a> {
    main: Option<&'a LogFollower>,
    subagents: Vec<&'a LogFollower>,
}

impl<'a> SessionLogs<'a> {
    fn add_log(&mut self, log: &'a LogFollower) {
        match log.tail.parent_session() {
            // A session can have several files: the one that grew last shows its activity.
            None if self.main.is_none_or(|main| main.updated <= log.updated) => {
                self.subagents.extend(self.main.replace(log));
            }
            _ => self.subagents.push(log),
        }
    }

    fn iter_logs(&self) -> impl Iterator<Item = &'a LogFollower> {
        self.main.iter().chain(&self.subagents).copied()
    }

    fn cache_stamp(&self) -> UsageCacheStamp {
        (self.iter_logs().count(), self.iter_logs().map(|log| log.read_at).max())
    }

    /// Sums the usage of each reply once, even if it is in several files. Replies copied from another session count
    /// there.
    fn sum_usage(&self, prices: &TokenPrices) -> SessionUsage {
        let mut all: HashMap<&str, &ReplyTokens> = HashMap::new();
        for (key, spent) in
            self.iter_logs().flat_map(|log| &log.tail.tail_state().spent).filter(|(_, spent)| !spent.copied)
        {
            let known = all.entry(key).or_insert(spent);
            if known.output < spent.output {
                *known = spent;
            }
        }
        let missing = self.unaccounted_usage(&all);
        SessionUsage::from_replies(all.into_values().filter(|spent| !spent.is_total).chain(&missing), prices)
    }

    /// Returns the reported totals in excess of the replies. The totals of a fork include the original session, which
    /// is unknown here.
    fn unaccounted_usage(&self, all: &HashMap<&str, &ReplyTokens>) -> Vec<ReplyTokens> {
        let is_fork = self.iter_logs().any(|log| log.tail.tail_state().spent.values().any(|spent| spent.copied));
        let totals = all.values().filter(|spent| spent.is_total && !is_fork);
        let rest = |total: &ReplyTokens| {
            let replies = || all.values().filter(|spent| !spent.is_total && spent.model == total.model);
            let beyond = |of: fn(&ReplyTokens) -> u64| of(total).saturating_sub(replies().map(|spent| of(spent)).sum());
            ReplyTokens {
                at: total.at,
                model: total.model.clone(),
                input: beyond(|spent| spent.input),
                output: beyond(|spent| spent.output),
                cache_read: beyond(|spent| spent.cache_read),
                cache_write: beyond(|spent| spent.cache_write),
                cache_write_1h: beyond(|spent| spent.cache_write_1h),
                reasoning: beyond(|spent| spent.reasoning),
                ..ReplyTokens::default()
            }
        };
        totals.map(|total| rest(total)).filter(|rest| rest.total_tokens() > 0).collect()
    }

    fn to_running_session(&self, (agent, machine, id): &SessionIdentity, now: Timestamp) -> RunningSession {
        let updated = self.iter_logs().map(|log| log.updated).max().unwrap_or_default();
        let is_busy = |log: &&&LogFollower| {
            log.tail.tail_state().doing.current_activity().is_busy() && now.millis_since(log.updated) < SUBAGENT_IDLE_MS
        };
        let busiest = self.subagents.iter().filter(is_busy).max_by_key(|log| log.updated);
        let known = self.main.or(self.subagents.first().copied()).map(|log| (log, log.tail.tail_state()));
        let mut facts = known.map(|(_, known)| known.facts.clone()).unwrap_or_default();
        facts.updated = Some(updated);
        RunningSession {
            id: id.clone(),
            agent: (*agent).to_owned(),
            machine: machine.clone(),
            facts,
            path: known.map(|(log, _)| log.tail.log_path().to_owned()),
            own: None,
            activity: known.map(|(_, known)| known.doing.current_activity()).unwrap_or_default(),
            since: known.and_then(|(_, known)| known.doing.active_since()),
            updated,
            inner: busiest.map(|log| log.tail.tail_state().doing.current_activity()),
            subagents: self.subagents.iter().filter(is_busy).count(),
            used: SessionUsage::default(),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct RunningSession {
    /// The agent's ID, or Switchboard's if it has none.
    pub id: String,
    pub agent: String,
    /// The machine, unless it is this one.
    pub machine: Option<String>,
    pub facts: SessionFacts,
    /// The main log file.
    pub path: Option<PathBuf>,
    /// Switchboard's ID, if Switchboard runs the session.
    pub own: Option<Id>,
    /// The current activity.
    pub activity: SessionActivity,
    /// When the activity began.
    pub since: Option<Timestamp>,
    /// When the session was last written.
    pub updated: Timestamp,
    /// The activity of the subagent that wrote last.
    pub inner: Option<SessionActivity>,
    /// The number of working subagents.
    pub subagents: usize,
    /// The usage of all replies, each counted once.
    pub used: SessionUsage,
}

impl RunningSession {
    /// Returns whether the ID or prefix means this session. Switchboard's ID works too.
    #[must_use]
    fn matches_id(&self, id: &str) -> bool {
        self.id.starts_with(id) || self.own.as_ref().is_some_and(|own| own.starts_with(id))
    }

    /// Returns whether the session matches the filter.
    #[must_use]
    fn matches_filter(&self, filter: &LogFilter) -> bool {
        filter.matches_session(&self.agent, self.machine.as_deref(), &self.facts)
    }
}

/// The sum of replies, each counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionUsage {
    /// Excludes cached tokens.
    pub input: u64,
    /// Includes reasoning tokens.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache, with any lifetime.
    pub cache_write: u64,
    /// Part of `output`.
    pub reasoning: u64,
    /// All tokens of every kind.
    pub total: u64,
    /// The number of replies.
    pub replies: u64,
    /// As reported by the agent, else computed from prices; `None` if no price is known.
    pub cost_usd: Option<f64>,
}

impl SessionUsage {
    /// Sums replies.
    pub fn from_replies<'a>(replies: impl Iterator<Item = &'a ReplyTokens>, prices: &TokenPrices) -> Self {
        let question = UsageQuestion {
            by: UsageGrouping::Model,
            zone: &TimeZone::UTC,
            now: Timestamp::default(),
            prices,
            breakdown: false,
        };
        let sum = aggregate_usage(&replies_ledger(replies), &question).total;
        let is_priced = sum.replies > 0 && (sum.cost_usd > 0.0 || sum.unpriced_models.is_empty());
        Self {
            input: sum.input_tokens,
            output: sum.output_tokens,
            cache_read: sum.cache_read_tokens,
            cache_write: sum.cache_write_tokens,
            reasoning: sum.reasoning_tokens,
            total: sum.total_tokens,
            replies: sum.replies,
            cost_usd: is_priced.then_some(sum.cost_usd),
        }
    }
}

fn replies_ledger<'a>(replies: impl Iterator<Item = &'a ReplyTokens>) -> UsageLedger {
    let mut ledger = UsageLedger { names: vec![String::new()], entries: Vec::new(), tools: vec![Vec::new()] };
    for spent in replies {
        let model = intern_name(&mut ledger.names, spent.model.as_deref().unwrap_or_default());
        ledger.entries.push(LedgerEntry {
            at: spent.at.unwrap_or_default(),
            model,
            input: spent.input,
            output: spent.output,
            cache_read: spent.cache_read,
            cache_write: spent.cache_write,
            cache_write_1h: spent.cache_write_1h,
            reasoning: spent.reasoning,
            cost_usd: spent.cost_usd,
            ..LedgerEntry::default()
        });
    }
    ledger
}

fn intern_name(names: &mut Vec<String>, name: &str) -> LedgerName {
    let known = names.iter().position(|known| known == name);
    let place = known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    LedgerName(u32::try_from(place).unwrap_or_default())
}

/// The cached usage of sessions, with the state of the logs it is based on.
pub type SessionUsageCache = HashMap<SessionIdentity, (UsageCacheStamp, SessionUsage)>;

/// A session: its agent, machine and ID.
type SessionIdentity = (&'static str, Option<String>, String);

/// The number of logs of a session, and when one was last read. It changes whenever the usage can have changed: a log
/// that replaces another is read later.
type UsageCacheStamp = (usize, Option<Instant>);
