//! Threads: which of them is the session, whose child another is, what each has used.

use std::collections::VecDeque;

use switchboard_event::{Context, Id, Info, Notice, Scope, Topic};

use super::{
    super::{collab, usage},
    AppServer,
    reader::control,
    settings,
};
use crate::{Object, Scribe};

/// How many threads, and how many agents that are being made, are remembered.
const LIMIT: usize = 256;

/// The threads of the connection.
#[derive(Default)]
pub struct Threads {
    /// The first is the session.
    known: VecDeque<Thread>,
    /// Calls that make an agent whose thread is not known yet.
    spawns: VecDeque<Id>,
    /// We asked for a new thread and do not know its name yet: what is heard until then is about others.
    opening: bool,
    /// The thread that we opened last beside the session's.
    another: Option<Id>,
}

struct Thread {
    id: Id,
    /// The item that made it.
    parent: Option<Id>,
    totals: usage::Totals,
    counted: bool,
}

impl Threads {
    /// We ask for a new thread, or got the answer.
    pub fn is_opening(&mut self, opening: bool) {
        self.opening = opening;
    }

    /// We opened this thread. Beside the session's, it may be the one to go on with.
    pub fn is_another(&mut self, id: &str) {
        if self.known.front().is_some_and(|first| first.id != *id) {
            self.another = Some(Id::from(id));
        }
    }

    /// We leave a thread. If it is the session's, the session goes on with the one that we opened after it.
    pub fn left(&mut self, id: &str, scribe: &mut Scribe) {
        if self.known.front().is_none_or(|first| first.id != *id) {
            return;
        }
        let Some(next) = self.another.take() else { return };
        let Some(index) = self.known.iter().position(|thread| thread.id == next) else { return };
        if let Some(thread) = self.known.remove(index) {
            self.known.push_front(thread);
        }
        scribe.moved(&next);
    }

    /// There is a thread.
    pub fn any(&self) -> bool {
        !self.known.is_empty()
    }

    /// The threads of subagents.
    pub fn children(&self) -> impl Iterator<Item = &str> {
        self.known.iter().skip(1).map(|thread| thread.id.as_str())
    }

    /// The session's thread is at work, so that the session can say who it is. A thread that is only named, in a
    /// request of ours or in news about it, is about to tell more about itself.
    pub fn identify(&self, scribe: &mut Scribe) {
        if let Some(thread) = self.known.front() {
            scribe.identify(&thread.id);
        }
    }

    /// The record belongs to this thread; true if that is the session.
    pub fn enter(&mut self, thread: Option<&str>, scribe: &mut Scribe) -> bool {
        let Some(id) = thread.filter(|id| !id.is_empty()) else { return true };
        if self.opening && self.known.is_empty() {
            scribe.within(None, Some(Id::from(id)));
            return false;
        }
        let index = self.find(id, scribe);
        if index == 0 {
            return true;
        }
        scribe.within(self.known.get(index).and_then(|thread| thread.parent.clone()), Some(Id::from(id)));
        false
    }

    fn find(&mut self, id: &str, scribe: &Scribe) -> usize {
        if let Some(index) = self.known.iter().position(|thread| thread.id == *id) {
            return index;
        }
        if self.known.len() >= LIMIT {
            self.known.remove(1);
        }
        let base = scribe.start().usage_base.clone().filter(|_| self.known.is_empty());
        // While exactly one agent is being made, a new thread is its.
        let parent = self.spawns.front().filter(|_| self.spawns.len() == 1).cloned();
        self.known.push_back(Thread { id: Id::from(id), parent, totals: usage::Totals::older(base), counted: false });
        self.known.len() - 1
    }

    /// The thread begins here, so it has used nothing yet.
    pub fn is_fresh(&mut self, id: &str) {
        if let Some(thread) = self.known.iter_mut().find(|thread| thread.id == *id && !thread.counted) {
            thread.totals = usage::Totals::fresh();
        }
    }

    /// The thread is a copy of another, with all that the other has used.
    pub fn is_fork(&mut self, id: &str, from: &str) {
        let known = self.known.iter().find(|thread| thread.id == *from).map(|thread| thread.totals.clone());
        if let Some(thread) = self.known.iter_mut().find(|thread| thread.id == *id && !thread.counted) {
            thread.totals = known.unwrap_or_else(usage::Totals::copied);
        }
    }

    /// A call that may make an agent began or ended.
    pub fn spawn(&mut self, item: &Id, native: &Object<'_>, ended: bool) {
        let activity = native.is("type", "subAgentActivity") && native.is("kind", "started");
        if !collab::is_spawn(native) && !activity {
            return;
        }
        self.spawns.retain(|spawn| spawn != item);
        let mut made = collab::receivers(native);
        made.extend(native.filled("agentThreadId"));
        for thread in self.known.iter_mut().skip(1).filter(|thread| made.iter().any(|id| thread.id == *id.as_str())) {
            thread.parent = Some(item.clone());
        }
        if !ended && self.spawns.len() < LIMIT {
            self.spawns.push_back(item.clone());
        }
    }

    /// The thread of an agent is known before it says anything.
    pub fn expect(&mut self, made: &[String], parent: &Id, scribe: &Scribe) {
        for id in made {
            let index = self.find(id, scribe);
            if let Some(thread) = self.known.get_mut(index).filter(|_| index > 0) {
                thread.parent = Some(parent.clone());
            }
        }
    }
}

impl AppServer {
    /// Notifications about threads.
    pub(super) fn thread(&mut self, method: &str, params: &Object<'_>, scribe: &mut Scribe) {
        if method == "thread/started" {
            return self.thread_started(&params.object("thread"), scribe);
        }
        let main = self.threads.enter(params.str("threadId").as_deref(), scribe);
        match method {
            "thread/tokenUsage/updated" => self.used(params, main, scribe),
            "thread/status/changed" if main => {
                let status = settings::status(&params.object("status"));
                scribe.info(Info { status, ..Info::default() });
            }
            "thread/name/updated" if main => {
                scribe.info(Info { title: params.filled("threadName"), ..Info::default() });
            }
            "thread/settings/updated" if main => {
                let info = self.settings.of(&params.object("threadSettings"));
                scribe.info(info);
            }
            "thread/compacted" => scribe.notice(Notice::new(Topic::Compaction).with_status("completed")),
            _ => {}
        }
        scribe.otherwise(control(method));
    }

    fn thread_started(&mut self, thread: &Object<'_>, scribe: &mut Scribe) {
        let id = thread.str("id").unwrap_or_default();
        // A child's thread can be seen first only if its parent's was opened before the stream began.
        self.threads.enter(thread.str("parentThreadId").filter(|_| !self.threads.any()).as_deref(), scribe);
        let main = self.threads.enter(Some(&id), scribe);
        self.threads.identify(scribe);
        match thread.str("forkedFromId") {
            Some(from) => self.threads.is_fork(&id, &from),
            None => self.threads.is_fresh(&id),
        }
        if main {
            self.opened = true;
            let info = self.settings.of(thread);
            scribe.info(info);
        }
        scribe.otherwise(control("thread/started"));
    }

    /// Reported once a model reply, but also without any news: when a thread is resumed, after a compaction.
    fn used(&mut self, params: &Object<'_>, main: bool, scribe: &mut Scribe) {
        let usage = params.object("tokenUsage");
        let figures = |name| usage::figures(&usage.object(name), Scope::Reply, scribe.model().filter(|_| main));
        let (total, reply) = (figures("total"), figures("last"));
        let id = params.str("threadId").unwrap_or_default();
        let Some(thread) = self.threads.known.iter_mut().find(|thread| thread.id == *id) else { return };
        thread.totals.first_reply(&total, &reply);
        let news = thread.totals.step(total);
        thread.counted = true;
        if main && !news.is_zero() && !news.cumulative {
            self.turns.steps += 1;
        }
        scribe.usage(news);
        if main {
            let context =
                Context { used: usage.object("last").u64("totalTokens"), size: usage.u64("modelContextWindow") };
            scribe.info(Info { context: Some(context), ..Info::default() });
        }
    }
}
