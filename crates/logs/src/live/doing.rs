//! What a session is doing, as its last events say.

use std::sync::Arc;

use switchboard_event::{Body, Details, Event, Id, Item, SessionStatus, Timestamp, Topic};

/// So many things are done at once, at most; of more, the oldest are forgotten.
const MOST: usize = 64;

/// What a session is doing.
#[derive(Clone, Debug, Default)]
pub enum Activity {
    /// It has begun, and more is not known.
    #[default]
    Starting,
    /// The model is at work.
    Thinking,
    /// The model says something.
    Answering,
    /// A tool runs.
    Tool(Arc<Item>),
    /// Somebody has to answer this.
    Asking(String),
    /// The model could not be reached, and it is tried again.
    Retrying,
    /// The context is made smaller.
    Compacting,
    /// It waits for a prompt.
    Waiting,
}

impl Activity {
    /// One word for it, for programs.
    #[must_use]
    pub fn name(&self) -> &'static str {
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

    /// The agent has something to do.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !matches!(self, Self::Waiting | Self::Asking(_))
    }
}

/// Follows what a session is doing.
#[derive(Default)]
pub struct Doing {
    /// Tools that run, the youngest last.
    tools: Vec<(Id, Arc<Item>)>,
    /// What was asked and not answered.
    asked: Vec<(Id, String)>,
    /// What it does beside that.
    voice: Activity,
    /// The log says that nothing is left to be done, though it does not say that the turn is over.
    rests: bool,
    /// Since when it does what it does.
    since: Option<Timestamp>,
}

impl Doing {
    /// What it is doing.
    pub fn activity(&self) -> Activity {
        match (self.asked.last(), self.tools.last()) {
            (Some((_, title)), _) => Activity::Asking(title.clone()),
            (None, Some((_, item))) if !matches!(self.voice, Activity::Retrying | Activity::Compacting) => {
                Activity::Tool(item.clone())
            }
            _ if self.rests => Activity::Waiting,
            _ => self.voice.clone(),
        }
    }

    /// Takes note of whether something is left to be done, after the record of this time.
    pub fn rests(&mut self, rests: bool, at: Option<Timestamp>) {
        if rests && !self.rests {
            self.since = at.or(self.since);
        }
        self.rests = rests;
    }

    /// Since when.
    pub fn since(&self) -> Option<Timestamp> {
        self.since
    }

    /// Takes note of an event. Says whether it does something else now.
    pub fn see(&mut self, event: &Event) -> bool {
        let changed = match &event.body {
            Body::SessionStarted(_) => false,
            Body::SessionUpdated(updated) => self.status(updated.info.status),
            Body::TurnStarted(_) => self.speak(Activity::Thinking),
            Body::TurnCompleted(_) => event.thread.is_none() && self.rest(),
            Body::SessionEnded(_) => self.rest(),
            Body::ItemStarted(item) => self.began(event.item.as_ref(), item),
            Body::ItemDelta(_) => false,
            Body::ItemCompleted(item) => self.ended(event.item.as_ref(), item),
            Body::RequestOpened(request) => {
                self.asked.push((request.request.clone(), request.title.clone()));
                true
            }
            Body::RequestResolved(resolved) => {
                self.asked.retain(|(id, _)| *id != resolved.request);
                true
            }
            Body::Notice(notice) if notice.topic == Topic::Retry => self.speak(Activity::Retrying),
            Body::Usage(_) | Body::Notice(_) => false,
        };
        if changed {
            self.since = Some(event.at);
        }
        changed
    }

    fn status(&mut self, status: Option<SessionStatus>) -> bool {
        match status {
            Some(SessionStatus::Compacting) => self.speak(Activity::Compacting),
            Some(SessionStatus::Retrying) => self.speak(Activity::Retrying),
            Some(SessionStatus::Idle) => self.rest(),
            Some(SessionStatus::Running | SessionStatus::RequiresAction) | None => false,
        }
    }

    fn began(&mut self, id: Option<&Id>, item: &Item) -> bool {
        match &item.details {
            Details::UserMessage(_) | Details::Reasoning(_) | Details::Plan(_) => self.speak(Activity::Thinking),
            Details::AgentMessage(_) => self.speak(Activity::Answering),
            _ => {
                let Some(id) = id else { return false };
                self.tools.retain(|(known, _)| known != id);
                if self.tools.len() >= MOST {
                    self.tools.remove(0);
                }
                self.tools.push((id.clone(), Arc::new(item.clone())));
                self.voice = Activity::Thinking;
                true
            }
        }
    }

    fn ended(&mut self, id: Option<&Id>, item: &Item) -> bool {
        let before = self.tools.len();
        self.tools.retain(|(known, _)| Some(known) != id);
        match &item.details {
            Details::AgentMessage(_) => self.speak(Activity::Answering),
            // Whatever it was, the model goes on from there.
            _ => self.speak(Activity::Thinking) || before != self.tools.len(),
        }
    }

    fn speak(&mut self, voice: Activity) -> bool {
        let changed = self.voice.name() != voice.name();
        self.voice = voice;
        changed
    }

    /// Nothing is to be done.
    fn rest(&mut self) -> bool {
        let changed = !matches!(self.voice, Activity::Waiting) || !self.tools.is_empty() || !self.asked.is_empty();
        (self.tools, self.asked) = (Vec::new(), Vec::new());
        self.voice = Activity::Waiting;
        changed
    }
}
