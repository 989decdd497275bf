//! The effects of events on the session itself: requests to decide, replies to count, updates of the session's record.

use std::{
    collections::{HashSet, VecDeque},
    time::Duration,
};

use switchboard_agents::{RequestAnswer, RequestDecision, StopCause};
use switchboard_event::{
    Decider, Details, EndReason, Event, EventBody, Id, RequestOpened, RequestResolved, Scope, SessionEnded,
    SessionStarted, Timestamp, Usage, to_raw_json,
};
use switchboard_store::{SessionEnd, SessionPhase};
use tracing::{debug, info};

use super::{
    actor::SessionActor,
    approvals::{ApprovalKey, approval_keys},
    stop::TimerKind,
};
use crate::{
    RequestAudience,
    policy::{PolicyVerdict, decide_request},
};

/// The maximum number of remembered items; agents have fewer open at once.
const MAX_MCP_ITEMS: usize = 256;

/// The replies of the model so far.
#[derive(Default)]
pub struct ModelReplies {
    count: u32,
    last: Option<Id>,
}

/// The latest items that are tools of MCP servers.
#[derive(Default)]
pub struct McpItems {
    items: HashSet<Id>,
    order: VecDeque<Id>,
}

impl McpItems {
    fn insert(&mut self, id: Id) {
        if self.order.len() == MAX_MCP_ITEMS
            && let Some(oldest) = self.order.pop_front()
        {
            self.items.remove(&oldest);
        }
        self.order.push_back(id.clone());
        self.items.insert(id);
    }
}

impl SessionActor {
    /// Applies events to the session, and writes them.
    pub(super) fn apply_events(&mut self, events: Vec<Event>) {
        self.record_agent_session();
        for event in events {
            let mut event = self.stream_mask.mask_joined(event);
            let mut opened = None;
            match &mut event.body {
                EventBody::RequestOpened(request) => {
                    let deadline = deadline(event.at, self.parts.timeouts.approval);
                    request.expires_at = request.expires_at.or(deadline);
                    let is_mcp = event.item.as_ref().is_some_and(|item| self.mcp_items.items.contains(item));
                    let keys = approval_keys(request, &self.parts.workspace, is_mcp);
                    let verdict = self.decide_request(request, &keys, is_mcp);
                    request.decided = verdict.is_some();
                    opened = Some((request.clone(), verdict, keys));
                }
                EventBody::RequestResolved(resolved) => self.close_request(resolved),
                // Background work can start a turn without a prompt. In one-shot form, this is the only sign that the
                // agent could start.
                EventBody::TurnStarted(_) => {
                    debug!(turn = event.turn, "turn started");
                    (self.is_busy, self.agent_started) = (true, true);
                    self.parts.network.begin_turn();
                    self.timers.disarm(&TimerKind::Unused);
                }
                EventBody::TurnCompleted(turn) => {
                    debug!(turn = event.turn, status = ?turn.status, stop = ?turn.stop, "turn completed");
                }
                EventBody::SessionStarted(started) => self.record_agent_type(started),
                EventBody::SessionUpdated(updated) => {
                    if let Some(title) = updated.info.title.clone() {
                        self.parts.event_writer.patch().title = Some(title);
                    }
                }
                EventBody::SessionEnded(ended) => {
                    let ended = (**ended).clone();
                    self.record_end(event.at, ended);
                }
                EventBody::Usage(usage) if !usage.cumulative => self.add_usage(usage),
                EventBody::ItemCompleted(item) => self.report_refused_write(item),
                EventBody::ItemStarted(item) => {
                    if let (Details::Mcp(_), Some(id)) = (&item.details, &event.item) {
                        self.mcp_items.insert(id.clone());
                    }
                    if event.thread.is_none() {
                        self.count_reply(item.reply.as_ref());
                    }
                }
                _ => {}
            }
            self.stream_mask.push(event);
            if let Some((request, verdict, keys)) = opened {
                self.open_request(&request, verdict, keys);
            }
        }
        self.write_released_events();
    }

    /// Writes the events that can no longer be part of a secret.
    pub(super) fn write_released_events(&mut self) {
        let event_writer = &mut self.parts.event_writer;
        self.stream_mask.release(|event| event_writer.push(event));
    }

    fn close_request(&mut self, resolved: &RequestResolved) {
        debug!(request = %resolved.request, outcome = ?resolved.outcome, by = ?resolved.by, "request resolved");
        self.open_requests.remove(&resolved.request);
        self.parts.network.close(&resolved.request);
        self.timers.disarm(&TimerKind::Request(resolved.request.clone()));
        self.note_activity();
        if !self.open_requests.is_waiting() {
            self.parts.event_writer.patch().state = Some(SessionPhase::Running);
        }
    }

    /// Records the agent that runs a session on another server.
    fn record_agent_type(&mut self, started: &SessionStarted) {
        let (reported, config) = (&started.config.agent_type, &mut self.parts.config);
        if reported.is_some() && *reported != config.agent_type {
            config.agent_type.clone_from(reported);
            self.parts.event_writer.patch().config = Some(config.clone());
        }
    }

    /// Records the agent's own ID of the session. A slow agent may report it long after its first event.
    fn record_agent_session(&mut self) {
        let id = self.parts.translator.agent_session();
        if id.is_some() && id != self.agent_session.as_ref() {
            self.agent_session = id.cloned();
            self.parts.event_writer.patch().agent_session = id.cloned();
        }
    }

    /// Returns the decision of the settings or of an earlier answer; `None` if a client must be asked.
    fn decide_request(&self, request: &RequestOpened, keys: &[ApprovalKey], is_mcp: bool) -> Option<PolicyVerdict> {
        let verdict = match decide_request(&self.parts.config, &self.parts.workspace, request, is_mcp) {
            PolicyVerdict::Ask if self.approvals.covers(keys) => PolicyVerdict::Allow,
            verdict => verdict,
        };
        let can_ask = self.parts.audience == RequestAudience::Client;
        Some(verdict).filter(|verdict| !can_ask || !matches!(verdict, PolicyVerdict::Ask))
    }

    /// Opens a request of the agent, and answers it if the settings decide or no client can.
    fn open_request(&mut self, request: &RequestOpened, verdict: Option<PolicyVerdict>, keys: Vec<ApprovalKey>) {
        let id = request.request.clone();
        self.open_requests.insert(id.clone(), keys);
        let (decision, message) = match verdict {
            Some(PolicyVerdict::Allow) => (RequestDecision::Allow, None),
            Some(PolicyVerdict::Decline(reason)) => (RequestDecision::Decline, Some(reason)),
            None => {
                info!(request = %id, about = ?request.about, "waiting for an answer");
                self.timers.disarm(&TimerKind::Idle);
                self.parts.event_writer.patch().state = Some(SessionPhase::Waiting);
                return self.timers.arm(TimerKind::Request(id), self.parts.timeouts.approval);
            }
            Some(PolicyVerdict::Ask) => {
                self.write_warning(format!("declined, because no client can answer: {}", request.title));
                (RequestDecision::Decline, Some("no client can answer".to_owned()))
            }
        };
        debug!(request = %id, about = ?request.about, ?decision, "request decided by the settings");
        self.open_requests.mark_answered(&id);
        let answer = RequestAnswer { request: id, decision, message, ..RequestAnswer::default() };
        // An answer that the agent does not accept was turned into a refusal, and reported.
        drop(self.send_answer(answer, Decider::Policy));
    }

    fn add_usage(&mut self, usage: &Usage) {
        self.parts.usage.add(usage);
        if usage.scope == Scope::Reply && usage.key.is_none() {
            // A reply without an ID that still counts.
            self.replies.last = None;
        }
        self.parts.event_writer.patch().carry = Some(to_raw_json(&self.parts.usage));
    }

    /// Counts a new reply of the model, and stops the session beyond the limit.
    fn count_reply(&mut self, reply: Option<&Id>) {
        let Some(reply) = reply.filter(|reply| self.replies.last.as_ref() != Some(*reply)) else { return };
        self.replies.last = Some(reply.clone());
        self.replies.count += 1;
        let limit = self.parts.config.max_turns.filter(|_| !self.parts.agent_counts_turns);
        if limit.is_some_and(|limit| self.replies.count > limit) {
            self.stop(StopCause::MaxTurns);
        }
    }

    fn record_end(&mut self, at: Timestamp, how: SessionEnded) {
        let phase = match how.reason {
            EndReason::Completed => SessionPhase::Done,
            EndReason::Cancelled => SessionPhase::Cancelled,
            EndReason::Failed | EndReason::Timeout => SessionPhase::Failed,
        };
        let patch = self.parts.event_writer.patch();
        (patch.state, patch.end) = (Some(phase), Some(SessionEnd { at, how }));
    }
}

fn deadline(at: Timestamp, after: Duration) -> Option<Timestamp> {
    let after = i64::try_from(after.as_micros()).ok()?;
    Timestamp::from_micros(at.as_micros().checked_add(after)?)
}
