//! Threads of the connection: the session's, those of subagents, and the usage of each.

use std::collections::VecDeque;

use switchboard_event::{Context, Id, Info, Notice, Scope, Topic};

use super::{AppServerReader, control_notice, settings};
use crate::{
    JsonObject, RunRecorder,
    codex::{tool_calls, usage},
};

/// Maximum number of remembered threads, and of pending spawns.
const MAX_THREADS: usize = 256;

#[derive(Default)]
pub struct AppServerThreads {
    /// The first is the session.
    known: VecDeque<AppServerThread>,
    /// Spawn calls whose thread is not known yet.
    spawns: VecDeque<Id>,
    /// A new thread was requested and has no id yet: until then, records are about other threads.
    opening: bool,
    /// The thread that was opened last in addition to the session's.
    another: Option<Id>,
}

struct AppServerThread {
    id: Id,
    /// The item that spawned it.
    parent: Option<Id>,
    totals: usage::ThreadUsageTotals,
    counted: bool,
}

impl AppServerThreads {
    /// Sets whether the client awaits the reply to a request for a new thread.
    pub fn set_opening(&mut self, opening: bool) {
        self.opening = opening;
    }

    /// Remembers a thread that the client opened. If it is not the session's, the session may continue with it.
    pub fn remember_opened_thread(&mut self, id: &str) {
        if self.known.front().is_some_and(|first| first.id != *id) {
            self.another = Some(Id::from(id));
        }
    }

    /// Handles leaving a thread. If it was the session's, the session continues with the thread that was opened after
    /// it.
    pub fn leave_thread(&mut self, id: &str, recorder: &mut RunRecorder) {
        if self.known.front().is_none_or(|first| first.id != *id) {
            return;
        }
        let Some(next) = self.another.take() else { return };
        let Some(index) = self.known.iter().position(|thread| thread.id == next) else { return };
        if let Some(thread) = self.known.remove(index) {
            self.known.push_front(thread);
        }
        recorder.replace_agent_session(&next);
    }

    fn has_threads(&self) -> bool {
        !self.known.is_empty()
    }

    /// Returns the threads of subagents.
    pub fn child_thread_ids(&self) -> impl Iterator<Item = &str> {
        self.known.iter().skip(1).map(|thread| thread.id.as_str())
    }

    /// Identifies the session by its thread, once the thread is at work. A thread that is only named in a request or in
    /// a notification is about to report more about itself.
    pub fn identify_session(&self, recorder: &mut RunRecorder) {
        if let Some(thread) = self.known.front() {
            recorder.set_agent_session(&thread.id);
        }
    }

    /// Attributes the record to this thread. Returns true if the thread is the session's.
    pub fn enter_thread(&mut self, thread: Option<&str>, recorder: &mut RunRecorder) -> bool {
        let Some(id) = thread.filter(|id| !id.is_empty()) else { return true };
        if self.opening && self.known.is_empty() {
            recorder.set_scope(None, Some(Id::from(id)));
            return false;
        }
        let index = self.find_or_insert(id, recorder);
        if index == 0 {
            return true;
        }
        recorder.set_scope(self.known.get(index).and_then(|thread| thread.parent.clone()), Some(Id::from(id)));
        false
    }

    fn find_or_insert(&mut self, id: &str, recorder: &RunRecorder) -> usize {
        if let Some(index) = self.known.iter().position(|thread| thread.id == *id) {
            return index;
        }
        if self.known.len() >= MAX_THREADS {
            self.known.remove(1);
        }
        let base = recorder.session_context().usage_base.clone().filter(|_| self.known.is_empty());
        // While exactly one spawn is pending, a new thread belongs to it.
        let parent = self.spawns.front().filter(|_| self.spawns.len() == 1).cloned();
        self.known.push_back(AppServerThread {
            id: Id::from(id),
            parent,
            totals: usage::ThreadUsageTotals::for_older_thread(base),
            counted: false,
        });
        self.known.len() - 1
    }

    /// The thread starts here, so it has no usage yet.
    pub fn mark_fresh(&mut self, id: &str) {
        if let Some(thread) = self.known.iter_mut().find(|thread| thread.id == *id && !thread.counted) {
            thread.totals = usage::ThreadUsageTotals::for_new_thread();
        }
    }

    /// The thread is a copy of another, including the other's usage.
    pub fn mark_fork(&mut self, id: &str, from: &str) {
        let known = self.known.iter().find(|thread| thread.id == *from).map(|thread| thread.totals.clone());
        if let Some(thread) = self.known.iter_mut().find(|thread| thread.id == *id && !thread.counted) {
            thread.totals = known.unwrap_or_else(usage::ThreadUsageTotals::for_unknown_copy);
        }
    }

    /// Tracks the start or the end of a call that may spawn an agent.
    pub fn track_spawn(&mut self, item: &Id, native: &JsonObject<'_>, ended: bool) {
        let activity = native.str_equals("type", "subAgentActivity") && native.str_equals("kind", "started");
        if !tool_calls::is_spawn_call(native) && !activity {
            return;
        }
        self.spawns.retain(|spawn| spawn != item);
        let mut made = tool_calls::receiver_threads(native);
        made.extend(native.get_non_empty("agentThreadId"));
        for thread in self.known.iter_mut().skip(1).filter(|thread| made.iter().any(|id| thread.id == *id.as_str())) {
            thread.parent = Some(item.clone());
        }
        if !ended && self.spawns.len() < MAX_THREADS {
            self.spawns.push_back(item.clone());
        }
    }

    /// Registers threads of spawned agents before their first record.
    pub fn register_children(&mut self, made: &[String], parent: &Id, recorder: &RunRecorder) {
        for id in made {
            let index = self.find_or_insert(id, recorder);
            if let Some(thread) = self.known.get_mut(index).filter(|_| index > 0) {
                thread.parent = Some(parent.clone());
            }
        }
    }
}

impl AppServerReader {
    /// Reads a notification about a thread.
    pub(super) fn read_thread_notification(
        &mut self,
        method: &str,
        params: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        if method == "thread/started" {
            return self.start_thread(&params.get_object("thread"), recorder);
        }
        let main = self.threads.enter_thread(params.get_str("threadId").as_deref(), recorder);
        match method {
            "thread/tokenUsage/updated" => self.count_usage(params, main, recorder),
            "thread/status/changed" if main => {
                let status = settings::parse_thread_status(&params.get_object("status"));
                recorder.update_info(Info { status, ..Info::default() });
            }
            "thread/name/updated" if main => {
                recorder.update_info(Info { title: params.get_non_empty("threadName"), ..Info::default() });
            }
            "thread/settings/updated" if main => {
                let info = self.settings.apply_thread_settings(&params.get_object("threadSettings"));
                recorder.update_info(info);
            }
            "thread/compacted" => recorder.write_notice(Notice::new(Topic::Compaction).with_status("completed")),
            _ => {}
        }
        recorder.write_notice_if_no_event(control_notice(method));
    }

    fn start_thread(&mut self, thread: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let id = thread.get_str("id").unwrap_or_default();
        // A child's thread can come first only if its parent's was opened before the stream began.
        self.threads.enter_thread(
            thread.get_str("parentThreadId").filter(|_| !self.threads.has_threads()).as_deref(),
            recorder,
        );
        let main = self.threads.enter_thread(Some(&id), recorder);
        self.threads.identify_session(recorder);
        match thread.get_str("forkedFromId") {
            Some(from) => self.threads.mark_fork(&id, &from),
            None => self.threads.mark_fresh(&id),
        }
        if main {
            self.opened = true;
            let info = self.settings.apply_thread_settings(thread);
            recorder.update_info(info);
        }
        recorder.write_notice_if_no_event(control_notice("thread/started"));
    }

    /// Reported once per model reply, but also without new usage: when a thread is resumed and after a compaction.
    fn count_usage(&mut self, params: &JsonObject<'_>, main: bool, recorder: &mut RunRecorder) {
        let usage = params.get_object("tokenUsage");
        let figures =
            |name| usage::parse_usage(&usage.get_object(name), Scope::Reply, recorder.current_model().filter(|_| main));
        let (total, reply) = (figures("total"), figures("last"));
        let id = params.get_str("threadId").unwrap_or_default();
        let Some(thread) = self.threads.known.iter_mut().find(|thread| thread.id == *id) else { return };
        thread.totals.apply_first_reply(&total, &reply);
        let news = thread.totals.add_total(total);
        thread.counted = true;
        if main && !news.is_zero() && !news.cumulative {
            self.turns.steps += 1;
        }
        recorder.record_usage(news);
        if main {
            let context = Context {
                used: usage.get_object("last").get_u64("totalTokens"),
                size: usage.get_u64("modelContextWindow"),
            };
            recorder.update_info(Info { context: Some(context), ..Info::default() });
        }
    }
}
