//! Tracks what a session is doing, from its latest events.

use std::sync::Arc;

use switchboard_event::{Details, Event, EventBody, Id, Item, SessionStatus, Timestamp, Topic};

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
    /// Returns the current activity.
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
