//! Decisions in the format of each kind of request.

use serde_json::{Map, Value, json};
use switchboard_event::{OptionKind, RequestOption};

use super::requests::CodexServerRequest;
use crate::{JsonObject, JsonView, RequestAnswer, RequestDecision};

/// Returns the result that conveys the decision. Anything but a clear approval declines.
pub fn answer_result(waiting: &CodexServerRequest, answer: &RequestAnswer) -> Value {
    let choice = choose_option(waiting, answer);
    match waiting.method.as_str() {
        "item/permissions/requestApproval" => permissions_result(&waiting.parse_params(), answer, &choice),
        "mcpServer/elicitation/request" => elicitation_result(&waiting.parse_params(), answer, &choice),
        "item/tool/requestUserInput" => questions_result(answer),
        _ => json!({ "decision": decision_value(&waiting.parse_params(), &choice) }),
    }
}

/// Returns whether cancelling the request stops the turn.
pub fn cancels_turn(waiting: &CodexServerRequest) -> bool {
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
