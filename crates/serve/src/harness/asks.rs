//! What the agents of a connection ask, until it is answered. Ids of requests are unique in a session; on a connection
//! with several threads, one that is taken already gets another.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use serde_json::value::RawValue;
use switchboard_dialects::harness::{Decision, HarnessRequestKind, RequestVerdict, warning_notice};
use switchboard_event::Id;

use super::{connection::Connection, thread::OpenThread};
use crate::order::{ApprovalAnswer, ApprovalDecision};

/// What is asked on a connection, by the id that it has there.
#[derive(Default)]
pub struct Asks(Mutex<HashMap<String, Ask>>);

/// Something that an agent asks.
#[derive(Clone)]
struct Ask {
    thread: Arc<OpenThread>,
    request: Id,
    asked: HarnessRequestKind,
}

impl Ask {
    fn is(&self, session: &Id, request: &Id) -> bool {
        self.thread.conversation.id() == session && self.request == *request
    }
}

impl Asks {
    /// Something is asked; gives the id that it has on this connection.
    pub fn open(&self, thread: &Arc<OpenThread>, request: Id, asked: HarnessRequestKind) -> String {
        let mut asks = self.0.lock();
        let session = thread.conversation.id();
        let taken = asks.get(&*request).is_some_and(|ask| !ask.is(session, &request));
        let id = if taken { format!("{request}@{session}") } else { request.to_string() };
        asks.insert(id.clone(), Ask { thread: thread.clone(), request, asked });
        id
    }

    /// It is no longer asked; gives the id that it had on this connection.
    pub fn close(&self, session: &Id, request: &Id) -> Option<String> {
        let mut asks = self.0.lock();
        let found = [request.to_string(), format!("{request}@{session}")];
        let id = found.into_iter().find(|id| asks.get(id).is_some_and(|ask| ask.is(session, request)))?;
        asks.remove(&id);
        Some(id)
    }

    fn find(&self, id: &str) -> Option<Ask> {
        self.0.lock().get(id).cloned()
    }
}

impl Connection {
    /// The client answers what an agent asks. What is not open, or not any more, needs no answer.
    pub(super) async fn responded(&self, id: &str, result: Result<Box<RawValue>, String>) {
        let Some(Ask { thread, request, asked }) = self.asks().find(id) else { return };
        let session = thread.conversation.id();
        if self.may_command().await.is_err() {
            return;
        }
        let response = result.as_deref().map_err(String::as_str);
        let unheard = match RequestVerdict::read_response(asked, response) {
            Err(why) => why,
            Ok(verdict) => match thread.conversation.answer(&request, &answer(verdict)).await {
                Err(problem) if problem.code == "bad_answer" || problem.code == "unsupported" => problem.detail.into(),
                // Somebody was faster, or nobody needs it any more: that is told where it is resolved.
                _ => return,
            },
        };
        let text = format!("the response to {id} makes no sense, so the request is still open: {unheard}");
        self.say(warning_notice(session, &text)).await;
    }
}

fn answer(verdict: RequestVerdict) -> ApprovalAnswer {
    let RequestVerdict { decision, option, answers, input, message } = verdict;
    let decision = match decision {
        Decision::Accept => ApprovalDecision::Accept,
        Decision::AcceptForSession => ApprovalDecision::AcceptForSession,
        Decision::Decline => ApprovalDecision::Decline,
        Decision::Cancel => ApprovalDecision::Cancel,
    };
    ApprovalAnswer { decision, option, reason: message, input, answers }
}
