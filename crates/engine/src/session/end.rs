//! The end of a run: what is left is read, everything open is closed, and nothing of the agent stays.

use std::time::Duration;

use switchboard_agents::Note;
use switchboard_event::{ErrorCode, Fault};

use switchboard_store::Run;

use super::actor::Actor;
use crate::supervise::Exit;

/// How long the last processes of an agent may take to go.
const GONE: Duration = Duration::from_secs(10);

impl Actor {
    pub(super) async fn finish(mut self) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.finish(|frame| self.hear_frame(&frame));
        if let Some(line) = self.stderr.finish() {
            self.note(&Note::Stderr(&line));
        }
        self.note_planted_files().await;
        self.send_pending_notices();
        self.why();
        if let Some(Exit { code, signal }) = self.exit {
            self.note(&Note::Exited { code, signal });
        }
        let mut events = Vec::new();
        self.parts.translator.end(&mut events);
        self.told(events);
        self.stream_mask.close_all();
        self.write_decided();
        self.todo.clear();
        if self.outcome.unwritten.is_none()
            && let Err(error) = self.parts.journal.commit().await
        {
            self.outcome.unwritten = Some(error.to_string());
        }
        self.leave().await;
    }

    /// What went wrong, in case that something did: the agent's own last words explain most ends.
    fn why(&mut self) {
        let tail = self.stderr.tail();
        let last_words = if tail.is_empty() { String::new() } else { format!("\n{tail}") };
        let fault = match (self.fault.take(), self.exit) {
            (Some(fault), _) => Fault { message: format!("{}{last_words}", fault.message), ..fault },
            (None, Some(exit)) => {
                let (title, how) = (self.parts.agent.title, describe(exit));
                Fault::new(ErrorCode::ExecutionError, format!("{title} {how} before the turn was over{last_words}"))
            }
            (None, None) => return,
        };
        self.note(&Note::Failed(fault));
    }

    async fn leave(self) {
        let Self { mut parts, outcome, .. } = self;
        if tokio::time::timeout(GONE, parts.link.gone()).await.is_err() {
            parts.link.stop(Duration::ZERO);
        }
        if let Some(run) = parts.run.take() {
            parts.journal.change().run = Some(Run { ended: Some((parts.machine.now)()), ..run });
            // If not, the next start only looks for processes that are gone.
            drop(parts.journal.commit().await);
        }
        drop(parts.private);
        parts.journal.end();
        // Nobody may want to know.
        drop(parts.outcome.send(Some(outcome)));
    }
}

fn describe(exit: Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (_, Some(signal)) => format!("was ended by signal {signal}"),
        _ => "was killed".to_owned(),
    }
}
