//! What happens in a thread, told to the client: its history if it was resumed, then what comes, across all its runs.

use std::sync::Arc;

use bytes::Bytes;
use switchboard_dialects::{
    Dialect, DialectSurface, default_dialect,
    harness::{
        HarnessMessageKind, HarnessRequestKind, TurnStartResult, classify_message, mark_replayed, replay_completed,
        result_response, start_as_update, warning_notice, with_message_id, with_request_id,
    },
};
use switchboard_engine::TailRead;
use switchboard_event::{Id, Origin};

use super::{connection::Connection, outbox::Gone, thread::OpenThread};
use crate::{
    Problem,
    feed::{Begin, Message},
};

/// Something that was asked in the past, and by whom it can still be answered.
type Open = Vec<(Id, HarnessRequestKind, Bytes)>;

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
        let (mut open, mut turn) = (Open::new(), None);
        while reader.seen() < head {
            let TailRead::Events(part) = reader.step().await.map_err(Problem::from)? else { break };
            for message in part.messages().iter().take_while(|message| message.seq <= head) {
                self.pass_history(thread, message, &mut open, &mut turn).await?;
            }
        }
        // A turn that is only passed on its way through the history is not in progress.
        if let Some(turn) = turn {
            thread.turn_began(turn, false);
        }
        self.outbox().say(replay_completed(id)).await?;
        for (request, asked, message) in open {
            self.ask(thread, request, asked, message).await?;
        }
        Ok(reader.seen().min(head))
    }

    async fn pass_history(
        &self,
        thread: &OpenThread,
        message: &Message,
        open: &mut Open,
        turn: &mut Option<String>,
    ) -> Result<(), Gone> {
        let json = &message.json;
        match classify_message(json) {
            HarnessMessageKind::Asks { request, asked } => {
                open.push((request, asked, json.clone()));
                return Ok(());
            }
            HarnessMessageKind::Resolved { request } => open.retain(|(asked, ..)| *asked != request),
            HarnessMessageKind::TurnStarted { id, .. } => *turn = Some(id),
            HarnessMessageKind::TurnCompleted => *turn = None,
            HarnessMessageKind::Ended => thread.run_ended(),
            HarnessMessageKind::Started => return self.outbox().say(mark_replayed(&start_as_update(json))).await,
            HarnessMessageKind::Updated | HarnessMessageKind::Other => {}
        }
        self.outbox().say(mark_replayed(json)).await
    }

    /// Passes on what happens now.
    async fn pass(&self, thread: &Arc<OpenThread>, json: Bytes) -> Result<(), Gone> {
        match classify_message(&json) {
            HarnessMessageKind::Started => return self.outbox().say(start_as_update(&json)).await,
            HarnessMessageKind::Asks { request, asked } => return self.ask(thread, request, asked, json.clone()).await,
            HarnessMessageKind::Resolved { request } => {
                if let Some(id) = self.asks().close(thread.conversation.id(), &request).filter(|id| request != **id) {
                    return self.outbox().say(with_request_id(&json, &id)).await;
                }
            }
            HarnessMessageKind::TurnStarted { id, turn, origin } => {
                if let Some(starting) = thread.turn_began(id, origin != Origin::Background) {
                    self.outbox().say(result_response(&starting.id, TurnStartResult { turn })).await?;
                    // Whoever asked may have gone on to other things.
                    starting.answered.send(()).ok();
                }
            }
            // Before it is told, for who hears of it may begin the next.
            HarnessMessageKind::TurnCompleted => thread.turn_ended(),
            HarnessMessageKind::Ended => thread.run_ended(),
            HarnessMessageKind::Updated | HarnessMessageKind::Other => {}
        }
        self.outbox().say(json).await
    }

    async fn ask(
        &self,
        thread: &Arc<OpenThread>,
        request: Id,
        asked: HarnessRequestKind,
        json: Bytes,
    ) -> Result<(), Gone> {
        let id = self.asks().open(thread, request.clone(), asked);
        let json = if request == *id { json } else { with_message_id(&json, &id).into() };
        self.outbox().say(json).await
    }

    /// A thread can no longer be followed: it was deleted, or the log cannot be read.
    async fn lose(&self, thread: &OpenThread, problem: &Problem) {
        let id = thread.conversation.id();
        self.threads().remove(id);
        let text = format!("thread {id} is no longer open on this connection: {}", problem.detail);
        self.say(warning_notice(id, &text)).await;
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
    default_dialect(DialectSurface::Harness)
}
