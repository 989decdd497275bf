//! Tells the editor how a session goes on: events become updates and questions, in their order.

use std::sync::Arc;

use agent_client_protocol::UntypedMessage;
use serde::Deserialize;
use serde_json::Value;
use switchboard_dialects::{
    MessageBuffer, Projection as _,
    acp::{AcpProjection, request_kind},
};
use switchboard_event::{Event, EventBody, RequestOpened, SessionState};

use super::{
    asks::Ask,
    editor::{Editor, Line},
    flow::Flow,
    open::Open,
};
use crate::{Problem, conversation::EventWatch};

/// A session on its way to the editor.
pub struct Pump {
    editor: Editor,
    open: Arc<Open>,
    events: EventWatch,
    updates: AcpProjection,
    state: SessionState,
    /// What the agent asked in the past: only what is still open is asked again.
    past_asks: Vec<Ask>,
}

/// What the editor is told of an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tense {
    /// It happens now.
    Now,
    /// It is history, and the editor wants to have it.
    Told,
    /// It is history, and the editor has it.
    Known,
}

/// A message of the dialect.
#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    id: Option<String>,
    method: String,
    params: Value,
}

impl Message {
    fn update(&self, name: &str) -> Option<&str> {
        self.params.get("update")?.get(name)?.as_str()
    }
}

impl Pump {
    /// From the first event of a session.
    pub async fn new(editor: &Editor, open: &Arc<Open>) -> Result<Self, Problem> {
        let events = open.conversation.events().await?;
        Ok(Self {
            editor: editor.clone(),
            open: open.clone(),
            events,
            updates: AcpProjection::for_client(editor.shows()),
            state: SessionState::default(),
            past_asks: Vec::new(),
        })
    }

    /// Goes through what has been, up to an event.
    pub async fn catch_up(&mut self, head: u64, tense: Tense) -> Result<(), Problem> {
        while self.events.seen() < head {
            let events = self.events.next().await?;
            self.tell_events(&events, tense).await;
        }
        Ok(())
    }

    /// Goes on with what will be, as long as the editor has the session open.
    pub fn go_on(mut self) {
        let open = self.open.clone();
        let task = tokio::spawn(async move {
            for ask in std::mem::take(&mut self.past_asks) {
                ask.put(&self.open);
            }
            // A session that is deleted, or a log that cannot be read, has nothing more to tell.
            while let Ok(events) = self.events.next().await {
                self.tell_events(&events, Tense::Now).await;
            }
        });
        open.is_pumped(task.abort_handle());
    }

    async fn tell_events(&mut self, events: &[Event], tense: Tense) {
        for event in events {
            self.event(event, tense).await;
            self.open.has_told(event.seq);
        }
        self.past_asks.retain(|ask| self.state.is_open(&ask.request.request));
    }

    async fn event(&mut self, event: &Event, tense: Tense) {
        self.state.apply(event);
        self.before(event, tense);
        let mut out = MessageBuffer::default();
        self.updates.project_event(event, &mut out);
        let messages = out.iter().filter_map(|message| serde_json::from_slice::<Message>(message).ok());
        let messages: Vec<_> = messages.collect();
        let (questions, updates): (Vec<_>, Vec<_>) = messages.into_iter().partition(|message| message.id.is_some());
        for message in updates {
            if tense == Tense::Told || tense == Tense::Now && !self.is_echo(event, &message) {
                send(self.editor.flow(), &self.open.line, message).await;
            }
        }
        if let EventBody::RequestOpened(request) = &event.body {
            self.ask(request, questions, tense);
        }
        self.after(event, tense);
    }

    /// What must be known before the editor is told.
    fn before(&mut self, event: &Event, tense: Tense) {
        match (&event.body, event.turn) {
            (EventBody::TurnStarted(started), Some(turn)) => {
                let is_cancelled = self.open.tickets().turn_started(turn, started);
                if is_cancelled && tense == Tense::Now {
                    self.open.clone().stop();
                }
            }
            (EventBody::RequestResolved(resolved), _) => self.open.answered(&resolved.request),
            _ => {}
        }
    }

    /// What follows when the editor was told.
    fn after(&mut self, event: &Event, tense: Tense) {
        match (&event.body, event.turn) {
            (EventBody::TurnCompleted(completed), Some(turn)) => {
                self.open.tickets().turn_completed(turn, completed, &self.state.turn_usage);
            }
            (EventBody::SessionEnded(ended), _) if tense == Tense::Now => {
                self.open.tickets().run_ended(event.run, ended.error.as_ref());
            }
            _ => {}
        }
    }

    /// The editor shows what it said itself.
    fn is_echo(&self, event: &Event, message: &Message) -> bool {
        let said = message.params.pointer("/update/content/text").and_then(Value::as_str);
        message.update("sessionUpdate") == Some("user_message_chunk")
            && self.open.tickets().is_own(event.turn, said.unwrap_or_default())
    }

    fn ask(&mut self, request: &RequestOpened, questions: Vec<Message>, tense: Tense) {
        let questions = questions.into_iter().map(|question| (question.method, question.params)).collect();
        let ask = Ask { request: request.clone(), how: request_kind(request), questions };
        match tense {
            Tense::Now => ask.put(&self.open),
            Tense::Told | Tense::Known => self.past_asks.push(ask),
        }
    }
}

async fn send(flow: &Flow, line: &Line, message: Message) {
    flow.enter().await;
    if let Ok(message) = UntypedMessage::new(&message.method, message.params) {
        // When the editor is gone, so are we in a moment.
        drop(line.send_notification(message));
    }
}
