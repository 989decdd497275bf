//! Tells the editor how a session goes on: events become updates and questions, in their order.

use std::sync::Arc;

use agent_client_protocol::UntypedMessage;
use serde::Deserialize;
use serde_json::Value;
use switchboard_dialects::{
    DIALECTS, Dialect, Messages, Projection as _,
    acp::{Updates, asked},
};
use switchboard_event::{Body, Event, Id, RequestOpened, Usage};

use super::{
    asks::Ask,
    editor::{Editor, Line},
    flow::Flow,
    open::Open,
};
use crate::{
    Problem,
    conversation::Watch,
    feed::{Begin, Part},
};

/// A session on its way to the editor.
pub struct Pump {
    editor: Editor,
    open: Arc<Open>,
    watch: Watch,
    updates: Updates,
    usage: Usage,
    /// What the agent asks, while the past is told: only what is still open is asked again.
    unanswered: Vec<(Id, Ask)>,
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

/// The dialect that is the events themselves.
fn verbatim() -> Result<&'static Dialect, Problem> {
    let missing = || Problem::conflict("no_events", "there is no dialect of the events themselves");
    DIALECTS.iter().find(|dialect| dialect.verbatim).ok_or_else(missing)
}

impl Pump {
    /// From the first event of a session.
    pub async fn new(editor: &Editor, open: &Arc<Open>) -> Result<Self, Problem> {
        let watch = open.conversation.feed(verbatim()?, Begin::Event(0)).await?;
        Ok(Self {
            editor: editor.clone(),
            open: open.clone(),
            watch,
            updates: Updates::for_client(editor.shows()),
            usage: Usage::default(),
            unanswered: Vec::new(),
        })
    }

    /// Goes through what has been, up to an event.
    pub async fn catch_up(&mut self, head: u64, tense: Tense) -> Result<(), Problem> {
        while self.watch.seen() < head {
            let part = self.watch.next().await?;
            self.part(&part, tense).await?;
        }
        Ok(())
    }

    /// Goes on with what will be, as long as the editor has the session open.
    pub fn go_on(mut self) {
        let open = self.open.clone();
        let task = tokio::spawn(async move {
            for (_, ask) in std::mem::take(&mut self.unanswered) {
                ask.put(&self.open);
            }
            // A session that is deleted, or a log that cannot be read, has nothing more to tell.
            while let Ok(part) = self.watch.next().await {
                if self.part(&part, Tense::Now).await.is_err() {
                    return;
                }
            }
        });
        open.is_pumped(task.abort_handle());
    }

    async fn part(&mut self, part: &Part, tense: Tense) -> Result<(), Problem> {
        for message in part.messages() {
            let text = std::str::from_utf8(&message.json).unwrap_or_default();
            let unread = |_| Problem::conflict("unreadable", "an event of the log cannot be read");
            let event = Event::from_json(text).map_err(unread)?;
            self.event(&event, tense).await;
            self.open.has_told(event.seq);
        }
        Ok(())
    }

    async fn event(&mut self, event: &Event, tense: Tense) {
        self.before(event, tense);
        let mut out = Messages::default();
        self.updates.event(event, &mut out);
        let messages = out.iter().filter_map(|message| serde_json::from_slice::<Message>(message).ok());
        let messages: Vec<_> = messages.collect();
        let (questions, updates): (Vec<_>, Vec<_>) = messages.into_iter().partition(|message| message.id.is_some());
        for message in updates {
            if tense == Tense::Told || tense == Tense::Now && !self.is_echo(event, &message) {
                send(self.editor.flow(), &self.open.line, message).await;
            }
        }
        if let Body::RequestOpened(request) = &event.body {
            self.ask(request, questions, tense);
        }
        self.after(event, tense);
    }

    /// What must be known before the editor is told.
    fn before(&mut self, event: &Event, tense: Tense) {
        match (&event.body, event.turn) {
            (Body::TurnStarted(started), Some(turn)) => {
                self.usage = Usage::default();
                if self.open.tickets().turn_started(turn, started) && tense == Tense::Now {
                    self.open.clone().stop();
                }
            }
            (Body::Usage(usage), _) if !usage.cumulative => self.usage.add(usage),
            (Body::RequestResolved(resolved), _) => {
                self.unanswered.retain(|(request, _)| *request != resolved.request);
                self.open.answered(&resolved.request);
            }
            _ => {}
        }
    }

    /// What follows when the editor was told.
    fn after(&mut self, event: &Event, tense: Tense) {
        match (&event.body, event.turn) {
            (Body::TurnCompleted(completed), Some(turn)) => {
                self.open.tickets().turn_completed(turn, completed, &self.usage);
            }
            (Body::SessionEnded(ended), _) if tense == Tense::Now => {
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
        let ask = Ask { request: request.clone(), how: asked(request), questions };
        match tense {
            Tense::Now => ask.put(&self.open),
            Tense::Told | Tense::Known => self.unanswered.push((request.request.clone(), ask)),
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
