//! Requests of the app-server. Each is answered, by a client of the session or immediately with an error, in the format
//! of its kind.

use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};
use switchboard_event::{Event, EventBody, Id, OptionKind, RequestOption};

use super::CodexDriver;
use crate::{DriverEffects, JsonObject, JsonView, RequestAnswer, RequestDecision, UnsupportedOperation};

const MAX_PENDING_SERVER_REQUESTS: usize = 256;

/// Precedes the reason for declining, so that the model can relate it to the request.
pub const DECLINE_PREFIX: &str = "The request was declined: ";

/// Server requests that await an answer.
#[derive(Default)]
pub struct CodexServerRequests {
    waiting: Vec<CodexServerRequest>,
}

pub struct CodexServerRequest {
    /// Id in the session.
    pub request: Id,
    /// Id on the wire.
    pub key: Box<RawValue>,
    pub method: String,
    pub params: Box<RawValue>,
    /// The offered answers.
    pub options: Vec<RequestOption>,
}

impl CodexServerRequest {
    fn parse_params(&self) -> JsonObject<'_> {
        JsonView::from_raw(&self.params).as_object()
    }
}

impl CodexServerRequests {
    fn push(&mut self, waiting: CodexServerRequest) -> Option<CodexServerRequest> {
        self.waiting.push(waiting);
        (self.waiting.len() > MAX_PENDING_SERVER_REQUESTS).then(|| self.waiting.remove(0))
    }

    /// Removes and returns a request by its id in the session.
    pub fn take(&mut self, request: &Id) -> Option<CodexServerRequest> {
        let index = self.waiting.iter().position(|waiting| waiting.request == *request)?;
        Some(self.waiting.remove(index))
    }

    fn take_all(&mut self) -> Vec<CodexServerRequest> {
        std::mem::take(&mut self.waiting)
    }

    /// Forgets a request that needs no answer any more.
    pub fn forget_request(&mut self, key: Option<JsonView<'_>>) {
        let key = key.map(JsonView::raw_text).unwrap_or_default();
        self.waiting.retain(|waiting| waiting.key.get() != key);
    }
}

impl CodexDriver {
    /// A request that the reader reports as opened waits for its answer. All others are refused, because Switchboard
    /// cannot run tools of the host, refresh tokens or attest.
    pub(super) fn handle_request(
        &mut self,
        method: &str,
        id: JsonView<'_>,
        params: Option<JsonView<'_>>,
        events: &[Event],
        effects: &mut DriverEffects,
    ) {
        let opened = events.iter().find_map(|event| match &event.body {
            EventBody::RequestOpened(opened) => Some(opened),
            _ => None,
        });
        let Some(opened) = opened else { return refuse_request(id.to_raw(), method, effects) };
        let waiting = CodexServerRequest {
            request: opened.request.clone(),
            key: id.to_raw(),
            method: method.to_owned(),
            params: params.map_or_else(|| RawValue::NULL.to_owned(), JsonView::to_raw),
            options: opened.options.clone(),
        };
        if let Some(forgotten) = self.requests.push(waiting) {
            refuse_request(forgotten.key, &forgotten.method, effects);
        }
    }
}

fn refuse_request(id: Box<RawValue>, method: &str, effects: &mut DriverEffects) {
    let error = json!({ "code": -32601, "message": format!("Switchboard does not do {method}") });
    effects.send_record(&CodexRpcRefusal { id, error });
}

#[derive(serde::Serialize)]
struct CodexRpcRefusal {
    id: Box<RawValue>,
    error: Value,
}

#[derive(Serialize)]
struct CodexRpcResponse<'a> {
    id: &'a RawValue,
    result: Value,
}

impl CodexDriver {
    pub(super) fn answer_request(
        &mut self,
        answer: &RequestAnswer,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        let Some(waiting) = self.requests.take(&answer.request) else {
            return Err(UnsupportedOperation::new("the request needs no answer any more"));
        };
        let result = answer_result(&waiting, answer);
        if let (RequestDecision::Decline, Some(reason)) = (answer.decision, &answer.message) {
            self.send_decline_reason(&waiting, reason, effects);
        }
        effects.send_record(&CodexRpcResponse { id: &waiting.key, result });
        if answer.decision == RequestDecision::Cancel && !cancels_turn(&waiting) {
            self.interrupt_turn(effects);
        }
        Ok(())
    }

    /// Sends the reason for declining. A decision cannot carry a text, so it goes into a developer message, which the
    /// model reads after the refusal. That message must precede the decision.
    fn send_decline_reason(&mut self, waiting: &CodexServerRequest, reason: &str, effects: &mut DriverEffects) {
        let text = format!("{DECLINE_PREFIX}{reason}");
        let message =
            json!({ "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": text }] });
        let thread = waiting.parse_params().get_non_empty("threadId").or_else(|| self.thread.clone());
        self.calls.send("thread/inject_items", &json!({ "threadId": thread, "items": [message] }), effects);
    }

    /// Cancels all pending requests.
    pub(super) fn cancel_requests(&mut self, effects: &mut DriverEffects) {
        for waiting in self.requests.take_all() {
            let answer = RequestAnswer { decision: RequestDecision::Cancel, ..RequestAnswer::default() };
            effects.send_record(&CodexRpcResponse { id: &waiting.key, result: answer_result(&waiting, &answer) });
        }
    }
}

/// Returns the result that conveys the decision. Anything but a clear approval declines.
fn answer_result(waiting: &CodexServerRequest, answer: &RequestAnswer) -> Value {
    let choice = choose_option(waiting, answer);
    match waiting.method.as_str() {
        "item/permissions/requestApproval" => permissions_result(&waiting.parse_params(), answer, &choice),
        "mcpServer/elicitation/request" => elicitation_result(&waiting.parse_params(), answer, &choice),
        "item/tool/requestUserInput" => questions_result(answer),
        _ => json!({ "decision": decision_value(&waiting.parse_params(), &choice) }),
    }
}

/// Returns whether cancelling the request stops the turn.
fn cancels_turn(waiting: &CodexServerRequest) -> bool {
    !matches!(
        waiting.method.as_str(),
        "item/permissions/requestApproval" | "item/tool/requestUserInput" | "mcpServer/elicitation/request"
    )
}

/// Returns the chosen option if it matches the decision, else the first option of the right kind.
fn choose_option(waiting: &CodexServerRequest, answer: &RequestAnswer) -> String {
    // Options that store a rule apply only if they are named.
    let plain = |option: &&RequestOption| !option.id.contains(':');
    let of = |kind| {
        let fitting = waiting.options.iter().filter(|option| option.kind == kind);
        fitting.filter(plain).map(|option| option.id.clone()).next()
    };
    let allowed = matches!(answer.decision, RequestDecision::Allow | RequestDecision::AllowSession);
    let fits = |id: &&String| {
        let option = waiting.options.iter().find(|option| option.id == **id);
        option.is_some_and(|option| allowed != matches!(option.kind, OptionKind::Reject | OptionKind::Cancel))
    };
    if let Some(id) = answer.option.as_ref().filter(fits) {
        return id.clone();
    }
    let found = match answer.decision {
        RequestDecision::Allow => of(OptionKind::AllowOnce),
        RequestDecision::AllowSession => of(OptionKind::AllowSession).or_else(|| of(OptionKind::AllowOnce)),
        RequestDecision::Decline => of(OptionKind::Reject),
        RequestDecision::Cancel => of(OptionKind::Cancel).or_else(|| of(OptionKind::Reject)),
    };
    found.unwrap_or_else(|| if allowed { "accept" } else { "decline" }.to_owned())
}

/// Returns a word or, for an option that stores a rule, the offered object.
fn decision_value(params: &JsonObject<'_>, choice: &str) -> Value {
    let (name, action) = choice.split_once(':').unwrap_or((choice, ""));
    let offered = params.get_array("availableDecisions").into_iter().find(|offer| {
        let fields = offer.as_object();
        let rule = fields.get_object(name).get_object("network_policy_amendment");
        fields.contains_key(name) && (action.is_empty() || rule.str_equals("action", action))
    });
    offered.and_then(to_value).unwrap_or_else(|| json!(choice))
}

fn to_value(json: JsonView<'_>) -> Option<Value> {
    serde_json::from_str(json.raw_text()).ok()
}

/// Granted permissions are listed by name; an empty list declines the request.
fn permissions_result(params: &JsonObject<'_>, answer: &RequestAnswer, choice: &str) -> Value {
    let asked = params.get("permissions").and_then(to_value).unwrap_or_else(|| json!({}));
    match choice {
        "turn" | "session" if is_allowed(answer) => json!({ "permissions": asked, "scope": choice }),
        _ => json!({ "permissions": {}, "scope": "turn" }),
    }
}

fn is_allowed(answer: &RequestAnswer) -> bool {
    matches!(answer.decision, RequestDecision::Allow | RequestDecision::AllowSession)
}

/// Answers a form of an MCP server, a link, or the approval of its tool.
fn elicitation_result(params: &JsonObject<'_>, answer: &RequestAnswer, choice: &str) -> Value {
    let (action, persist) = match choice {
        "acceptForSession" => ("accept", Some("session")),
        "acceptAlways" => ("accept", Some("always")),
        other => (other, None),
    };
    let meta = persist.map(|persist| json!({ "persist": persist }));
    let content = (action == "accept").then(|| form_content(&params.get_object("requestedSchema"), answer));
    json!({ "action": action, "content": content, "_meta": meta })
}

/// Converts the answers to the types of the form's schema.
fn form_content(schema: &JsonObject<'_>, answer: &RequestAnswer) -> Value {
    let fields = schema.get_object("properties");
    let filled = answer.answers.iter().map(|(name, said)| (name.clone(), form_value(&fields.get_object(name), said)));
    Value::Object(filled.collect::<Map<_, _>>())
}

fn form_value(field: &JsonObject<'_>, said: &[String]) -> Value {
    let one = said.first().map(String::as_str).unwrap_or_default();
    match field.get_str("type").as_deref() {
        Some("array") => json!(said),
        Some("boolean" | "integer" | "number") => serde_json::from_str(one).unwrap_or_else(|_| json!(one)),
        _ => json!(one),
    }
}

/// Returns `{answers: {question: {answers: […]}}}`; an empty map declines.
fn questions_result(answer: &RequestAnswer) -> Value {
    let said = answer.answers.iter().filter(|_| is_allowed(answer));
    let said = said.map(|(question, said)| (question.clone(), json!({ "answers": said })));
    json!({ "answers": said.collect::<Map<_, _>>() })
}
