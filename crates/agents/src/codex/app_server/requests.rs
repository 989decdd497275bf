//! Requests of the app-server to its client: approvals, questions and forms.

use std::collections::VecDeque;

use switchboard_event::{Id, Notice, RequestOpened, Topic};

use super::{AppServerReader, asked, reader::control_notice};
use crate::{JsonObject, JsonView, RunRecorder};

const MAX_PENDING_SERVER_REQUESTS: usize = 256;

/// Server requests that await an answer.
#[derive(Default)]
pub struct TranscriptServerRequests {
    waiting: VecDeque<TranscriptServerRequest>,
}

pub struct TranscriptServerRequest {
    key: String,
    /// Id in the session.
    pub id: Id,
    /// Format of the answer.
    pub kind: ServerRequestKind,
    /// Questions whose answers are masked.
    pub secrets: Vec<String>,
}

/// Format of the answer to a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ServerRequestKind {
    /// `{decision}`
    Decision,
    /// `{permissions, scope}`
    Permissions,
    /// `{action, content}`
    Form,
    /// `{answers}`
    Questions,
    /// A request between host and agent that opens no request in the session.
    Service,
}

impl TranscriptServerRequests {
    fn push(&mut self, key: &str, kind: ServerRequestKind, opened: &RequestOpened) {
        if self.waiting.len() >= MAX_PENDING_SERVER_REQUESTS {
            self.waiting.pop_front();
        }
        let secrets = opened.questions.iter().filter(|question| question.secret).map(|question| question.id.clone());
        let (id, secrets) = (opened.request.clone(), secrets.collect());
        self.waiting.push_back(TranscriptServerRequest { key: key.to_owned(), id, kind, secrets });
    }

    pub fn take(&mut self, key: &str) -> Option<TranscriptServerRequest> {
        let index = self.waiting.iter().position(|waiting| waiting.key == key)?;
        self.waiting.remove(index)
    }
}

impl AppServerReader {
    /// Reads a request of the server. Unknown requests are only remembered.
    pub(super) fn read_request(
        &mut self,
        id: JsonView<'_>,
        method: &str,
        params: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        let request = recorder.local_id(&format!("request_{}", id.display_text()));
        let thread = params.get_str("threadId").or_else(|| params.get_str("conversationId"));
        self.threads.enter_thread(thread.as_deref(), recorder);
        let (kind, item, opened) = match method {
            "item/commandExecution/requestApproval" | "item/humanCommand/requestApproval" => (
                ServerRequestKind::Decision,
                params.get_non_empty("itemId"),
                asked::parse_command_approval(params, recorder),
            ),
            "item/fileChange/requestApproval" => (
                ServerRequestKind::Decision,
                params.get_non_empty("itemId"),
                asked::parse_file_change_approval(params, recorder),
            ),
            "item/permissions/requestApproval" => (
                ServerRequestKind::Permissions,
                params.get_non_empty("itemId"),
                asked::parse_permissions_approval(params),
            ),
            "item/tool/requestUserInput" => {
                (ServerRequestKind::Questions, params.get_non_empty("itemId"), asked::parse_questions(params))
            }
            "mcpServer/elicitation/request" => {
                (ServerRequestKind::Form, asked::find_mcp_call(params, recorder), asked::parse_elicitation(params))
            }
            "execCommandApproval" => (
                ServerRequestKind::Decision,
                params.get_non_empty("callId"),
                asked::parse_legacy_command_approval(params),
            ),
            "applyPatchApproval" => (
                ServerRequestKind::Decision,
                params.get_non_empty("callId"),
                asked::parse_legacy_patch_approval(params, recorder),
            ),
            _ => {
                let asked = RequestOpened { request, ..RequestOpened::default() };
                self.requests.push(id.raw_text(), ServerRequestKind::Service, &asked);
                return report_service_request(method, recorder);
            }
        };
        let mut opened = RequestOpened { request, ..opened };
        if asked::requires_person(method, params) {
            opened = opened.require_person();
        }
        self.requests.push(id.raw_text(), kind, &opened);
        recorder.request_opened(item.map(Id::from), opened);
        recorder.write_notice_if_no_event(control_notice(method));
    }
}

/// Reports requests that the host answers on its own.
fn report_service_request(method: &str, recorder: &mut RunRecorder) {
    match method {
        "account/chatgptAuthTokens/refresh" => recorder.write_notice(Notice::new(Topic::Auth).with_name(method)),
        "item/tool/call" | "attestation/generate" | "currentTime/read" => recorder.write_notice(control_notice(method)),
        _ => {}
    }
}
