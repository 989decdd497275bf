//! Requests of the app-server to its client, approvals, questions and forms, and the client's answers.

use std::collections::{BTreeMap, VecDeque};

use switchboard_event::{Decider, Id, Notice, Outcome, RequestOpened, RequestResolved, Topic};

use super::{AppServerReader, control_notice, request_params};
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
                request_params::parse_command_approval(params, recorder),
            ),
            "item/fileChange/requestApproval" => (
                ServerRequestKind::Decision,
                params.get_non_empty("itemId"),
                request_params::parse_file_change_approval(params, recorder),
            ),
            "item/permissions/requestApproval" => (
                ServerRequestKind::Permissions,
                params.get_non_empty("itemId"),
                request_params::parse_permissions_approval(params),
            ),
            "item/tool/requestUserInput" => {
                (ServerRequestKind::Questions, params.get_non_empty("itemId"), request_params::parse_questions(params))
            }
            "mcpServer/elicitation/request" => (
                ServerRequestKind::Form,
                request_params::find_mcp_call(params, recorder),
                request_params::parse_elicitation(params),
            ),
            "execCommandApproval" => (
                ServerRequestKind::Decision,
                params.get_non_empty("callId"),
                request_params::parse_legacy_command_approval(params),
            ),
            "applyPatchApproval" => (
                ServerRequestKind::Decision,
                params.get_non_empty("callId"),
                request_params::parse_legacy_patch_approval(params, recorder),
            ),
            _ => {
                let asked = RequestOpened { request, ..RequestOpened::default() };
                self.requests.push(id.raw_text(), ServerRequestKind::Service, &asked);
                return report_service_request(method, recorder);
            }
        };
        let mut opened = RequestOpened { request, ..opened };
        if request_params::requires_person(method, params) {
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

impl AppServerReader {
    /// Resolves the answered request. Anything but a clear approval counts as declined.
    pub(super) fn read_answer(&mut self, id: JsonView<'_>, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(request) = self.requests.take(id.raw_text()) else {
            return recorder.write_notice(control_notice("response"));
        };
        if request.kind == ServerRequestKind::Service {
            return recorder.write_notice(control_notice("response"));
        }
        let result = fields.get_object("result");
        let mut resolved = match (fields.get("error"), request.kind) {
            (Some(error), _) => resolve_error(&error.as_object()),
            (None, ServerRequestKind::Permissions) => resolve_permissions(&result),
            (None, ServerRequestKind::Form) => resolve_form(&result),
            (None, ServerRequestKind::Questions) => resolve_questions(&result),
            (None, _) => resolve_decision(&result),
        };
        for secret in request.secrets {
            resolved.answers.entry(secret).and_modify(|answer| *answer = vec!["***".to_owned()]);
        }
        let reason = self.reason.take().filter(|_| resolved.outcome == Outcome::Declined);
        resolved.message = resolved.message.or(reason);
        let stops = resolved.outcome == Outcome::Cancelled && request.kind == ServerRequestKind::Decision;
        (resolved.request, resolved.by) = (request.id, Decider::Client);
        if !recorder.request_resolved(resolved) {
            return recorder.write_notice(Notice::new(Topic::Late).with_name("response"));
        }
        if stops {
            recorder.mark_interrupted();
        }
    }
}

fn resolve_error(error: &JsonObject<'_>) -> RequestResolved {
    RequestResolved {
        outcome: Outcome::Declined,
        message: error.get_non_empty("message"),
        ..RequestResolved::default()
    }
}

/// Reads a decision of either protocol: a word, or an object that holds a rule under that word.
fn resolve_decision(result: &JsonObject<'_>) -> RequestResolved {
    let Some(decision) = result.get("decision") else { return resolve_error(&JsonObject::default()) };
    let fields = decision.as_object();
    let kept = fields.iter().next().map(|(name, inner)| (name.to_owned(), inner.as_object()));
    let denies =
        kept.as_ref().is_some_and(|(_, rule)| rule.get_object("network_policy_amendment").str_equals("action", "deny"));
    let word =
        decision.as_str().map(std::borrow::Cow::into_owned).or_else(|| kept.map(|(name, _)| name)).unwrap_or_default();
    let outcome = match word.as_str() {
        _ if denies => Outcome::Declined,
        "accept" | "acceptForSession" | "acceptWithExecpolicyAmendment" | "applyNetworkPolicyAmendment" => {
            Outcome::Allowed
        }
        "approved" | "approved_for_session" | "approved_execpolicy_amendment" | "network_policy_amendment" => {
            Outcome::Allowed
        }
        "cancel" | "abort" => Outcome::Cancelled,
        _ => Outcome::Declined,
    };
    let option = match (word.as_str(), denies) {
        ("applyNetworkPolicyAmendment", true) => "applyNetworkPolicyAmendment:deny".to_owned(),
        ("applyNetworkPolicyAmendment", false) => "applyNetworkPolicyAmendment:allow".to_owned(),
        _ => word,
    };
    RequestResolved { outcome, option: Some(option), ..RequestResolved::default() }
}

/// Granted permissions are listed by name; an empty list declines the request.
fn resolve_permissions(result: &JsonObject<'_>) -> RequestResolved {
    let granted = result.get_object("permissions").iter().any(|(_, grant)| !grant.is_null());
    if !granted {
        let option = Some("decline".to_owned());
        return RequestResolved { outcome: Outcome::Declined, option, ..RequestResolved::default() };
    }
    let option = result.get_non_empty("scope").or_else(|| Some("turn".to_owned()));
    RequestResolved {
        outcome: Outcome::Allowed,
        option,
        input: result.get_raw("permissions"),
        ..RequestResolved::default()
    }
}

fn resolve_form(result: &JsonObject<'_>) -> RequestResolved {
    let action = result.get_string("action").unwrap_or_default();
    let content = result.get_object("content");
    let answers: BTreeMap<_, _> = content.iter().map(|(name, value)| (name.to_owned(), form_values(value))).collect();
    let outcome = match action.as_str() {
        "accept" if answers.is_empty() => Outcome::Allowed,
        "accept" => Outcome::Answered,
        "cancel" => Outcome::Cancelled,
        _ => Outcome::Declined,
    };
    let option = match result.get_object("_meta").get_str("persist").as_deref() {
        Some("session") if outcome == Outcome::Allowed => "acceptForSession".to_owned(),
        Some("always") if outcome == Outcome::Allowed => "acceptAlways".to_owned(),
        _ => action,
    };
    RequestResolved { outcome, option: Some(option), answers, ..RequestResolved::default() }
}

fn form_values(value: JsonView<'_>) -> Vec<String> {
    match value.raw_text().starts_with('[') {
        true => value.as_array().into_iter().map(|value| value.display_text().into_owned()).collect(),
        false => vec![value.display_text().into_owned()],
    }
}

/// Reads `{answers: {question: {answers: […]}}}`.
fn resolve_questions(result: &JsonObject<'_>) -> RequestResolved {
    let said = result.get_object("answers");
    let answers: BTreeMap<_, _> =
        said.iter().map(|(id, answer)| (id.to_owned(), answer.as_object().get_strings("answers"))).collect();
    let outcome = if answers.is_empty() { Outcome::Declined } else { Outcome::Answered };
    RequestResolved { outcome, answers, ..RequestResolved::default() }
}
