//! What events mean to the session itself: requests to decide, replies to count, what the log keeps beside them.

use std::collections::{HashMap, VecDeque};

use switchboard_agents::{Answer, Decision, Why};
use switchboard_event::{
    Body, Decider, Details, EndReason, Event, Id, RequestOpened, Scope, SessionEnded, Timestamp, Usage, raw,
};
use switchboard_store::{End, State};

use super::{
    actor::Actor,
    session_approvals::{ApprovalKey, approval_keys},
    timers::Due,
};
use crate::{
    Audience,
    policy::{self, Verdict},
};

/// How often the model was called.
#[derive(Default)]
pub struct Replies {
    count: u32,
    last: Option<Id>,
}

/// Which open tools belong to MCP servers.
#[derive(Default)]
pub struct Tools {
    mcp: HashMap<Id, ()>,
    order: VecDeque<Id>,
}

/// More open tools than any agent has.
const OPEN: usize = 256;

impl Actor {
    /// Looks at what is told, and writes it down.
    pub(super) fn told(&mut self, events: Vec<Event>) {
        self.learn_name();
        for event in events {
            let mut event = self.stream_mask.cover_joined(event);
            let mut asked = None;
            match &mut event.body {
                Body::RequestOpened(request) => {
                    let expires = deadline(event.at, self.parts.limits.approval);
                    request.expires_at = request.expires_at.or(expires);
                    let is_mcp = event.item.as_ref().is_some_and(|item| self.tools.mcp.contains_key(item));
                    let keys = approval_keys(request, &self.parts.workspace, is_mcp);
                    let verdict = self.verdict(request, &keys, is_mcp);
                    request.decided = verdict.is_some();
                    asked = Some((request.clone(), verdict, keys));
                }
                Body::RequestResolved(resolved) => {
                    self.desk.resolved(&resolved.request);
                    self.timers.disarm(&Due::Request(resolved.request.clone()));
                    self.sign_of_life();
                    if !self.desk.is_waiting() {
                        self.parts.journal.change().state = Some(State::Running);
                    }
                }
                // Also one that nobody asked for: work in the background woke it. And in a one-shot nobody else says
                // that it could start.
                Body::TurnStarted(_) => {
                    (self.busy, self.outcome.started) = (true, true);
                    self.timers.disarm(&Due::Unused);
                }
                Body::SessionUpdated(updated) => {
                    if let Some(title) = updated.info.title.clone() {
                        self.parts.journal.change().title = Some(title);
                    }
                }
                Body::SessionEnded(ended) => {
                    let ended = (**ended).clone();
                    self.ended(event.at, ended);
                }
                Body::Usage(usage) if !usage.cumulative => {
                    let usage = (**usage).clone();
                    self.used(&usage);
                }
                Body::ItemCompleted(item) => self.note_refused_write(item),
                Body::ItemStarted(item) => {
                    if let (Details::Mcp(_), Some(id)) = (&item.details, &event.item) {
                        self.tools.add(id.clone());
                    }
                    let reply = item.reply.clone().filter(|_| event.thread.is_none());
                    self.replied(reply);
                }
                _ => {}
            }
            self.stream_mask.push(event);
            if let Some((request, verdict, keys)) = asked {
                self.asked(&request, verdict, keys);
            }
        }
        self.write_decided();
    }

    /// Writes the events down that cannot be part of a secret any more.
    pub(super) fn write_decided(&mut self) {
        let journal = &mut self.parts.journal;
        self.stream_mask.release(|event| journal.push(event));
    }

    /// Who the session is to the agent, now. One that is slow to begin may say it long after its first event.
    fn learn_name(&mut self) {
        let name = self.parts.translator.agent_session();
        if name.is_some() && name != self.named.as_ref() {
            self.named = name.cloned();
            self.parts.journal.change().agent_session = name.cloned();
        }
    }

    /// What the settings or an earlier answer decide; nothing if a client must be asked.
    fn verdict(&self, request: &RequestOpened, keys: &[ApprovalKey], is_mcp: bool) -> Option<Verdict> {
        let verdict = match policy::decide(&self.parts.config, &self.parts.workspace, request, is_mcp) {
            Verdict::Ask if self.approvals.covers(keys) => Verdict::Allow,
            verdict => verdict,
        };
        Some(verdict).filter(|verdict| !matches!(verdict, Verdict::Ask) || self.parts.audience != Audience::Client)
    }

    /// The agent asks: the settings decide, or whoever is there.
    fn asked(&mut self, request: &RequestOpened, verdict: Option<Verdict>, keys: Vec<ApprovalKey>) {
        self.desk.opened(request, keys);
        let (decision, message) = match verdict {
            Some(Verdict::Allow) => (Decision::Allow, None),
            Some(Verdict::Decline(reason)) => (Decision::Decline, Some(reason)),
            None => {
                self.timers.disarm(&Due::Idle);
                self.parts.journal.change().state = Some(State::Waiting);
                return self.timers.arm(Due::Request(request.request.clone()), self.parts.limits.approval);
            }
            Some(Verdict::Ask) => {
                self.warn(format!("declined, because nobody is there to ask: {}", request.title));
                (Decision::Decline, Some("nobody is there to ask, so the answer is no".to_owned()))
            }
        };
        let answer = Answer { request: request.request.clone(), decision, message, ..Answer::default() };
        if self.desk.take(&answer, &self.parts.agent.abilities).is_ok() {
            // An answer that the agent does not take was turned into a no, and told.
            drop(self.answer(answer, Decider::Policy));
        }
    }

    fn used(&mut self, usage: &Usage) {
        self.parts.used.add(usage);
        if usage.scope == Scope::Reply && usage.key.is_none() {
            // A reply without a name that still counts as one.
            self.replies.last = None;
        }
        let used = raw(&self.parts.used);
        self.parts.journal.change().carry = Some(used);
    }

    /// Another reply of the model began. More than the limit are not waited for.
    fn replied(&mut self, reply: Option<Id>) {
        let Some(reply) = reply.filter(|reply| self.replies.last.as_ref() != Some(reply)) else { return };
        self.replies.last = Some(reply);
        self.replies.count += 1;
        let limit = self.parts.config.max_turns.filter(|_| !self.parts.counts_turns);
        if limit.is_some_and(|limit| self.replies.count > limit) {
            self.stop(Why::MaxTurns);
        }
    }

    fn ended(&mut self, at: Timestamp, how: SessionEnded) {
        let state = match how.reason {
            EndReason::Completed => State::Done,
            EndReason::Cancelled => State::Cancelled,
            EndReason::Failed | EndReason::Timeout => State::Failed,
        };
        (self.outcome.reason, self.outcome.error) = (Some(how.reason), how.error.clone());
        let change = self.parts.journal.change();
        (change.state, change.end) = (Some(state), Some(End { at, how }));
    }
}

impl Tools {
    fn add(&mut self, id: Id) {
        if self.order.len() == OPEN
            && let Some(oldest) = self.order.pop_front()
        {
            self.mcp.remove(&oldest);
        }
        self.order.push_back(id.clone());
        self.mcp.insert(id, ());
    }
}

fn deadline(at: Timestamp, after: std::time::Duration) -> Option<Timestamp> {
    let after = i64::try_from(after.as_micros()).ok()?;
    Timestamp::from_micros(at.as_micros().checked_add(after)?)
}
