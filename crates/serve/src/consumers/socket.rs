//! One consumer's connection. It stays open when a run ends, until the consumer goes or the server does.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    extract::ws::{Message, Utf8Bytes, WebSocket},
};
use futures_util::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use serde::{Deserialize, Serialize};
use switchboard_dialects::consumer::{
    unified::{VerbatimFields, VerbatimJson},
    wire::{Consumer, Permission, Sequenced, ServerMessage},
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};

use super::{
    Guest,
    hearing::Speaker,
    room::{Board, Room},
    waiting::{Ended, Waiting},
};
use crate::{
    Drain, Problem,
    conversation::Watch,
    feed::{self, Part},
    ws::{Close, farewell},
};

/// A ping is sent when there was nothing to say for so long: who is gone without a word is noticed then.
const QUIET: Duration = Duration::from_secs(30);

/// So many replies may wait for a consumer that does not read.
const REPLIES: usize = 16;

/// So many pings are answered on a connection: one a second for a day.
const PINGS: u32 = 86_400;

type Sink = SplitSink<WebSocket, Message>;

/// Serves a session to one consumer.
pub async fn serve(socket: WebSocket, guest: Guest, drain: Drain) {
    let (mut sink, mut stream) = socket.split();
    let (replies, inbox) = mpsc::channel(REPLIES);
    let close = {
        let room = guest.speaker.seat.room.clone();
        let changes = room.changes();
        let known = room.look().passed();
        let mut line = Line { sink: &mut sink, room, changes, present: Vec::new(), waiting: None, known, sent: None };
        let (greeting, pending) = (guest.greeting(), guest.pending());
        let Guest { speaker, feed, count, begin, .. } = guest;
        let speaker = Arc::new(speaker);
        let story = Story { feed, count, place: begin, greeting, pending };
        tokio::select! {
            close = line.tell(story, inbox) => close,
            () = listen(&mut stream, &speaker, replies) => Close::Gone,
            () = drain.begun() => Close::Shutdown,
        }
    };
    farewell(sink, stream, close).await;
}

/// What a consumer is told of the session.
struct Story {
    feed: Watch,
    /// So many messages are history.
    count: u64,
    /// So many messages were told, or will not be.
    place: u64,
    greeting: Vec<ServerMessage>,
    /// What the agent asks, without what is told as it happened.
    pending: Vec<Permission>,
}

impl Story {
    /// Those of some messages that are history: what the agent still asks is told as if it happened now, and so is all
    /// that came behind it. So it is told once, and also to whoever takes history for what is over.
    fn history<'a>(&mut self, messages: &'a [feed::Message], before: u64) -> &'a [feed::Message] {
        let open = |message: &feed::Message| {
            let asked = asked_in(&message.json)?;
            self.pending.iter().position(|request| request.request_id == asked)
        };
        if self.pending.is_empty() {
            return messages;
        }
        let Some((at, oldest)) = messages.iter().enumerate().find_map(|(at, message)| Some((at, open(message)?)))
        else {
            return messages;
        };
        // All younger ones come behind it.
        self.pending.truncate(oldest);
        self.count = before + at as u64;
        messages.get(..at).unwrap_or_default()
    }
}

/// Where a consumer is told something, and what of the room it was told last.
struct Line<'a> {
    sink: &'a mut Sink,
    room: Arc<Room>,
    changes: watch::Receiver<()>,
    present: Vec<Consumer>,
    waiting: Option<Arc<Waiting>>,
    /// The last one that was said to wait, or was over before.
    known: u64,
    /// The one that was said to be sent last.
    sent: Option<u64>,
}

/// Why nothing more can be told.
enum Lost {
    /// The consumer is gone.
    Gone,
    /// The session was deleted.
    Deleted,
    /// The session cannot be read any more.
    Session(Problem),
}

impl From<axum::Error> for Lost {
    fn from(_: axum::Error) -> Self {
        Self::Gone
    }
}

impl From<Problem> for Lost {
    fn from(problem: Problem) -> Self {
        if problem.code == "no_session" { Self::Deleted } else { Self::Session(problem) }
    }
}

impl Line<'_> {
    async fn tell(&mut self, story: Story, inbox: mpsc::Receiver<ServerMessage>) -> Close {
        let Err(lost) = self.tell_all(story, inbox).await;
        match lost {
            Lost::Gone => Close::Gone,
            Lost::Deleted => {
                let (subtype, metadata) = ("session_deleted".to_owned(), VerbatimFields::default());
                // Who is gone meanwhile need not know.
                self.send(ServerMessage::SessionLifecycle { subtype, metadata }).await.ok();
                Close::Deleted
            }
            Lost::Session(problem) => Close::Failed(problem.detail.into()),
        }
    }

    async fn tell_all(
        &mut self,
        mut story: Story,
        mut inbox: mpsc::Receiver<ServerMessage>,
    ) -> Result<std::convert::Infallible, Lost> {
        for message in std::mem::take(&mut story.greeting) {
            self.send(message).await?;
        }
        self.tell_presence().await?;
        let rest = self.tell_history(&mut story).await?;
        for request in std::mem::take(&mut story.pending) {
            self.send(asked(request)).await?;
        }
        self.tell_waiting().await?;
        if let Some((part, told)) = rest {
            self.tell_part(&part, told).await?;
        }
        loop {
            let quiet = sleep_until(Instant::now() + QUIET);
            tokio::select! {
                Some(reply) = inbox.recv() => self.send(reply).await?,
                part = story.feed.next() => {
                    let part = part?;
                    // What waited is said to be sent before its turn is told.
                    self.tell_news().await?;
                    self.tell_part(&part, 0).await?;
                }
                Ok(()) = self.changes.changed() => self.tell_room().await?,
                () = quiet => self.sink.send(Message::Ping(Bytes::new())).await?,
            }
        }
    }

    /// What has happened, in pieces. The last of them may go beyond what is history: then, how much of it is.
    async fn tell_history(&mut self, story: &mut Story) -> Result<Option<(Part, usize)>, Lost> {
        while story.place < story.count {
            let part = story.feed.next().await?;
            let left = usize::try_from(story.count - part.first_offset()).unwrap_or(usize::MAX);
            let past = part.messages().get(..left.min(part.messages().len())).unwrap_or_default();
            let past = story.history(past, part.first_offset());
            let messages =
                past.iter().filter_map(|message| serde_json::from_slice(&message.json).ok().map(VerbatimJson));
            let messages: Vec<_> = messages.collect();
            story.place = part.first_offset() + past.len() as u64;
            let (told, more) = (past.len(), story.place < story.count);
            self.send(ServerMessage::MessageHistory { messages, more }).await?;
            if told < part.messages().len() {
                return Ok(Some((part, told)));
            }
            if !more {
                return Ok(None);
            }
        }
        self.send(ServerMessage::MessageHistory { messages: Vec::new(), more: false }).await?;
        Ok(None)
    }

    /// What happens, but for so many messages that were told.
    async fn tell_part(&mut self, part: &Part, told: usize) -> Result<(), Lost> {
        for message in part.messages().get(told..).unwrap_or_default() {
            // All that we write is UTF-8.
            let text = Utf8Bytes::try_from(message.json.clone()).unwrap_or_default();
            self.sink.feed(Message::Text(text)).await?;
        }
        Ok(self.sink.flush().await?)
    }

    /// What is different in the room, if something may be.
    async fn tell_news(&mut self) -> Result<(), Lost> {
        if self.changes.has_changed().unwrap_or_default() {
            self.changes.mark_unchanged();
            self.tell_room().await?;
        }
        Ok(())
    }

    async fn tell_room(&mut self) -> Result<(), Lost> {
        self.tell_presence().await?;
        self.tell_waiting().await?;
        if self.room.look().deleted { Err(Lost::Deleted) } else { Ok(()) }
    }

    async fn tell_presence(&mut self) -> Result<(), Lost> {
        let present = self.room.look().present();
        if present != self.present {
            self.present.clone_from(&present);
            self.send(ServerMessage::PresenceUpdate { consumers: present }).await?;
        }
        Ok(())
    }

    /// What became of the prompt that waits, since it was told of last.
    async fn tell_waiting(&mut self) -> Result<(), Lost> {
        let Board { waiting: now, ends, waited, .. } = self.room.look();
        let before = std::mem::replace(&mut self.waiting, now.clone());
        let goes_on = |one: &Arc<Waiting>| now.as_ref().is_some_and(|now| now.number == one.number);
        if let Some(ended) = before.as_ref().filter(|before| !goes_on(before)) {
            self.tell_end(ended.number, &ends).await?;
        } else if let Some(sent) = self.sent.filter(|sent| !matches!(end_of(*sent, &ends), Ended::Sent)) {
            self.tell_end(sent, &ends).await?;
        }
        // Those that came and went since the last look.
        let known = std::mem::replace(&mut self.known, waited);
        for (passed, _) in ends.iter().filter(|(passed, _)| passed.number > known) {
            self.send(passed.told()).await?;
            self.tell_end(passed.number, &ends).await?;
        }
        match (before.filter(|before| goes_on(before)), now) {
            (None, Some(now)) => self.send(now.told()).await,
            (Some(before), Some(now)) if before.changed != now.changed => self.send(now.told_change()).await,
            _ => Ok(()),
        }
    }

    async fn tell_end(&mut self, number: u64, ends: &VecDeque<(Arc<Waiting>, Ended)>) -> Result<(), Lost> {
        let how = end_of(number, ends);
        self.sent = (how == Ended::Sent).then_some(number);
        self.send(how.told()).await
    }

    async fn send(&mut self, message: ServerMessage) -> Result<(), Lost> {
        let text = text(&Sequenced::from(message));
        Ok(self.sink.send(Message::Text(text.into())).await?)
    }
}

/// How one that waited ended.
fn end_of(number: u64, ends: &VecDeque<(Arc<Waiting>, Ended)>) -> Ended {
    ends.iter().find(|(ended, _)| ended.number == number).map_or(Ended::Sent, |(_, how)| how.clone())
}

/// A request that is open, told apart from the history.
fn asked(request: Permission) -> ServerMessage {
    let request = Box::new(request);
    match request.subtype.as_str() {
        "can_use_tool" => ServerMessage::PermissionRequest { request },
        _ => ServerMessage::AgentRequest { request },
    }
}

/// What is asked in a message, if something is.
fn asked_in(message: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Asked {
        request: Named,
    }
    #[derive(Deserialize)]
    struct Named {
        request_id: String,
    }
    serde_json::from_slice::<Asked>(message).ok().map(|asked| asked.request.request_id)
}

fn text(message: &impl Serialize) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

/// Hears the consumer, until it goes.
async fn listen(stream: &mut SplitStream<WebSocket>, speaker: &Arc<Speaker>, replies: mpsc::Sender<ServerMessage>) {
    let mut pings = 0;
    while let Some(Ok(message)) = stream.next().await {
        let text = match message {
            Message::Text(text) => Bytes::from(text),
            Message::Binary(bytes) => bytes,
            // Each is answered, and the answers to one who does not read would pile up.
            Message::Ping(_) if pings > PINGS => return,
            Message::Ping(_) => {
                pings += 1;
                continue;
            }
            Message::Pong(_) => continue,
            Message::Close(_) => return,
        };
        let speaker = speaker.clone();
        // What was said is done, also if who said it goes in the middle.
        let hearing = tokio::spawn(async move { speaker.hear(&text).await });
        if let Ok(Some(reply)) = hearing.await
            && replies.send(reply).await.is_err()
        {
            return;
        }
    }
}
