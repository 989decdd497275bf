//! What happens in a thread, told to the client: its history if it was resumed, then what comes, across all its runs.

use std::sync::Arc;

use bytes::Bytes;
use switchboard_dialects::{
    Dialect, Surface,
    harness::{
        Asked, Said, TurnStartResult, asked_as, history_told, look, replayed, resolved_as, result, updated, warning,
    },
    usual,
};
use switchboard_event::{Id, Origin};

use super::{connection::Connection, outbox::Gone, thread::OpenThread};
use crate::{
    Problem,
    feed::{Begin, Message, Step},
};

/// Something that was asked in the past, and by whom it can still be answered.
type Open = Vec<(Id, Asked, Bytes)>;

impl Connection {
    /// Tells what happens in a thread from now on. One that has a history up to some event tells that first.
    pub(super) fn tell(&self, thread: &Arc<OpenThread>, history: Option<u64>) {
        let (connection, told) = (self.clone(), thread.clone());
        let pump = tokio::spawn(async move {
            tokio::select! {
                () = connection.outbox().gone() => {}
                end = connection.told(&told, history) => match end {
                    Ended::Gone => {}
                    Ended::Failed(problem) => connection.lose(&told, &problem).await,
                },
            }
        });
        thread.told_by(pump.abort_handle());
    }

    /// Tells until that cannot go on; gives why.
    async fn told(&self, thread: &Arc<OpenThread>, history: Option<u64>) -> Ended {
        match self.told_all(thread, history).await {
            Ok(never) => match never {},
            Err(end) => end,
        }
    }

    async fn told_all(&self, thread: &Arc<OpenThread>, history: Option<u64>) -> Result<Never, Ended> {
        let begin = match history {
            Some(head) => self.told_history(thread, head).await?,
            None => 0,
        };
        let mut watch = thread.conversation.feed(dialect(), Begin::Event(begin)).await?;
        loop {
            let part = watch.next().await?;
            for message in part.messages() {
                self.pass(thread, message.json.clone()).await?;
            }
        }
    }

    /// Tells what has happened up to an event; gives the last event that was told. What is still asked comes last, for
    /// it is asked now.
    async fn told_history(&self, thread: &Arc<OpenThread>, head: u64) -> Result<u64, Ended> {
        let id = thread.conversation.id();
        let mut reader = self.service().read(id, dialect(), Begin::Event(0)).await?;
        let mut open = Open::new();
        while reader.seen() < head {
            let Step::More(part) = reader.step().await.map_err(Problem::from)? else { break };
            for message in part.messages().iter().take_while(|message| message.seq <= head) {
                self.pass_history(thread, message, &mut open).await?;
            }
        }
        self.outbox().say(history_told(id)).await?;
        for (request, asked, message) in open {
            self.ask(thread, request, asked, message).await?;
        }
        Ok(reader.seen().min(head))
    }

    async fn pass_history(&self, thread: &OpenThread, message: &Message, open: &mut Open) -> Result<(), Gone> {
        let json = &message.json;
        match look(json) {
            Said::Asks { request, asked } => {
                open.push((request, asked, json.clone()));
                return Ok(());
            }
            Said::Resolved { request } => open.retain(|(asked, ..)| *asked != request),
            Said::TurnStarted { id, .. } => drop(thread.turn_began(id, false)),
            Said::TurnCompleted => thread.turn_ended(),
            Said::Ended => thread.run_ended(),
            Said::Started => return self.outbox().say(replayed(&updated(json))).await,
            Said::Updated | Said::Other => {}
        }
        self.outbox().say(replayed(json)).await
    }

    /// Passes on what happens now.
    async fn pass(&self, thread: &Arc<OpenThread>, json: Bytes) -> Result<(), Gone> {
        match look(&json) {
            Said::Started => return self.outbox().say(updated(&json)).await,
            Said::Asks { request, asked } => return self.ask(thread, request, asked, json.clone()).await,
            Said::Resolved { request } => {
                if let Some(id) = self.asks().close(thread.conversation.id(), &request).filter(|id| request != **id) {
                    return self.outbox().say(resolved_as(&json, &id)).await;
                }
            }
            Said::TurnStarted { id, turn, origin } => {
                if let Some(starting) = thread.turn_began(id, origin != Origin::Background) {
                    self.outbox().say(result(&starting.id, TurnStartResult { turn })).await?;
                    // Whoever asked may have gone on to other things.
                    starting.answered.send(()).ok();
                }
            }
            // Before it is told, for who hears of it may begin the next.
            Said::TurnCompleted => thread.turn_ended(),
            Said::Ended => thread.run_ended(),
            Said::Updated | Said::Other => {}
        }
        self.outbox().say(json).await
    }

    async fn ask(&self, thread: &Arc<OpenThread>, request: Id, asked: Asked, json: Bytes) -> Result<(), Gone> {
        let id = self.asks().open(thread, request.clone(), asked);
        let json = if request == *id { json } else { asked_as(&json, &id).into() };
        self.outbox().say(json).await
    }

    /// A thread can no longer be followed: it was deleted, or the log cannot be read.
    async fn lose(&self, thread: &OpenThread, problem: &Problem) {
        let id = thread.conversation.id();
        self.threads().remove(id);
        let text = format!("thread {id} is no longer open on this connection: {}", problem.detail);
        self.say(warning(id, &text)).await;
    }
}

/// Nothing is ever this.
enum Never {}

/// Why nothing more is told.
enum Ended {
    /// The client is gone.
    Gone,
    /// The session is.
    Failed(Problem),
}

impl From<Gone> for Ended {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl From<Problem> for Ended {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

fn dialect() -> &'static Dialect {
    usual(Surface::Harness)
}
