//! What the app-server asks of us: approvals, questions, forms.

use std::collections::VecDeque;

use switchboard_event::{Id, Notice, RequestOpened, Topic};

use super::{AppServer, asked, reader::control};
use crate::{Json, Object, Scribe};

/// How many requests are remembered.
const LIMIT: usize = 256;

/// Their requests that wait for our answer.
#[derive(Default)]
pub struct Requests {
    waiting: VecDeque<Waiting>,
}

/// A request that waits.
pub struct Waiting {
    key: String,
    /// Its id in the session.
    pub id: Id,
    /// How its answer is to be read.
    pub kind: Kind,
    /// Questions whose answers are nobody else's business.
    pub secrets: Vec<String>,
}

/// How an answer is to be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `{decision}`
    Decision,
    /// `{permissions, scope}`
    Permissions,
    /// `{action, content}`
    Form,
    /// `{answers}`
    Questions,
    /// Something between host and agent.
    Service,
}

impl Requests {
    fn push(&mut self, key: &str, kind: Kind, opened: &RequestOpened) {
        if self.waiting.len() >= LIMIT {
            self.waiting.pop_front();
        }
        let secrets = opened.questions.iter().filter(|question| question.secret).map(|question| question.id.clone());
        let (id, secrets) = (opened.request.clone(), secrets.collect());
        self.waiting.push_back(Waiting { key: key.to_owned(), id, kind, secrets });
    }

    /// Takes out a request: it no longer waits.
    pub fn take(&mut self, key: &str) -> Option<Waiting> {
        let index = self.waiting.iter().position(|waiting| waiting.key == key)?;
        self.waiting.remove(index)
    }
}

impl AppServer {
    /// A request of theirs. What is not known is left.
    pub(super) fn request(&mut self, id: Json<'_>, method: &str, params: &Object<'_>, scribe: &mut Scribe) {
        let request = scribe.local_id(&format!("request_{}", id.display()));
        let thread = params.str("threadId").or_else(|| params.str("conversationId"));
        self.threads.enter(thread.as_deref(), scribe);
        let (kind, item, opened) = match method {
            "item/commandExecution/requestApproval" | "item/humanCommand/requestApproval" => {
                (Kind::Decision, params.filled("itemId"), asked::command(params, scribe))
            }
            "item/fileChange/requestApproval" => {
                (Kind::Decision, params.filled("itemId"), asked::file_change(params, scribe))
            }
            "item/permissions/requestApproval" => {
                (Kind::Permissions, params.filled("itemId"), asked::permissions(params))
            }
            "item/tool/requestUserInput" => (Kind::Questions, params.filled("itemId"), asked::questions(params)),
            "mcpServer/elicitation/request" => (Kind::Form, asked::tool_of(params, scribe), asked::elicitation(params)),
            "execCommandApproval" => (Kind::Decision, params.filled("callId"), asked::first_command(params)),
            "applyPatchApproval" => (Kind::Decision, params.filled("callId"), asked::first_patch(params, scribe)),
            _ => {
                let asked = RequestOpened { request, ..RequestOpened::default() };
                self.requests.push(id.text(), Kind::Service, &asked);
                return service(method, scribe);
            }
        };
        let mut opened = RequestOpened { request, ..opened };
        if asked::is_for_a_person(method, params) {
            opened = opened.for_a_person();
        }
        self.requests.push(id.text(), kind, &opened);
        scribe.request_opened(item.map(Id::from), opened);
        scribe.otherwise(control(method));
    }
}

/// Requests that the host answers without asking anybody.
fn service(method: &str, scribe: &mut Scribe) {
    match method {
        "account/chatgptAuthTokens/refresh" => scribe.notice(Notice::new(Topic::Auth).with_name(method)),
        "item/tool/call" | "attestation/generate" | "currentTime/read" => scribe.notice(control(method)),
        _ => {}
    }
}
