//! A decision in the words of each request: every kind of request has its own.

use serde_json::{Map, Value, json};
use switchboard_event::{OptionKind, RequestOption};

use super::requests::Waiting;
use crate::{Answer, Decision, Json, Object};

/// The result that says what was decided. What is no clear yes is a no.
pub fn result(waiting: &Waiting, answer: &Answer) -> Value {
    let choice = choice(waiting, answer);
    match waiting.method.as_str() {
        "item/permissions/requestApproval" => permissions(&waiting.params(), answer, &choice),
        "mcpServer/elicitation/request" => form(&waiting.params(), answer, &choice),
        "item/tool/requestUserInput" => questions(answer),
        _ => json!({ "decision": decision(&waiting.params(), &choice) }),
    }
}

/// Cancelling such a request stops the turn by itself.
pub fn stops(waiting: &Waiting) -> bool {
    !matches!(
        waiting.method.as_str(),
        "item/permissions/requestApproval" | "item/tool/requestUserInput" | "mcpServer/elicitation/request"
    )
}

/// The option that is meant: the one that was chosen, or the first of the right kind.
fn choice(waiting: &Waiting, answer: &Answer) -> String {
    // What keeps a rule for later is only meant if it is named.
    let plain = |option: &&RequestOption| !option.id.contains(':');
    let of = |kind| {
        let fitting = waiting.options.iter().filter(|option| option.kind == kind);
        fitting.filter(plain).map(|option| option.id.clone()).next()
    };
    let allowed = matches!(answer.decision, Decision::Allow | Decision::AllowSession);
    let fits = |id: &&String| {
        let option = waiting.options.iter().find(|option| option.id == **id);
        option.is_some_and(|option| allowed != matches!(option.kind, OptionKind::Reject | OptionKind::Cancel))
    };
    if let Some(id) = answer.option.as_ref().filter(fits) {
        return id.clone();
    }
    let found = match answer.decision {
        Decision::Allow => of(OptionKind::AllowOnce),
        Decision::AllowSession => of(OptionKind::AllowSession).or_else(|| of(OptionKind::AllowOnce)),
        Decision::Decline => of(OptionKind::Reject),
        Decision::Cancel => of(OptionKind::Cancel).or_else(|| of(OptionKind::Reject)),
    };
    found.unwrap_or_else(|| if allowed { "accept" } else { "decline" }.to_owned())
}

/// A word; or, with a rule to be kept, the object that was offered.
fn decision(params: &Object<'_>, choice: &str) -> Value {
    let (name, action) = choice.split_once(':').unwrap_or((choice, ""));
    let offered = params.array("availableDecisions").into_iter().find(|offer| {
        let fields = offer.object();
        let rule = fields.object(name).object("network_policy_amendment");
        fields.has(name) && (action.is_empty() || rule.is("action", action))
    });
    offered.and_then(value).unwrap_or_else(|| json!(choice))
}

fn value(json: Json<'_>) -> Option<Value> {
    serde_json::from_str(json.text()).ok()
}

/// What is granted is named; naming nothing is a no.
fn permissions(params: &Object<'_>, answer: &Answer, choice: &str) -> Value {
    let asked = params.get("permissions").and_then(value).unwrap_or_else(|| json!({}));
    match choice {
        "turn" | "session" if is_yes(answer) => json!({ "permissions": asked, "scope": choice }),
        _ => json!({ "permissions": {}, "scope": "turn" }),
    }
}

fn is_yes(answer: &Answer) -> bool {
    matches!(answer.decision, Decision::Allow | Decision::AllowSession)
}

/// A form of an MCP server, a link, or the approval of its tool.
fn form(params: &Object<'_>, answer: &Answer, choice: &str) -> Value {
    let (action, persist) = match choice {
        "acceptForSession" => ("accept", Some("session")),
        "acceptAlways" => ("accept", Some("always")),
        other => (other, None),
    };
    let meta = persist.map(|persist| json!({ "persist": persist }));
    let content = (action == "accept").then(|| content(&params.object("requestedSchema"), answer));
    json!({ "action": action, "content": content, "_meta": meta })
}

/// What was filled in, as the form's schema wants it.
fn content(schema: &Object<'_>, answer: &Answer) -> Value {
    let fields = schema.object("properties");
    let filled = answer.answers.iter().map(|(name, said)| (name.clone(), typed(&fields.object(name), said)));
    Value::Object(filled.collect::<Map<_, _>>())
}

fn typed(field: &Object<'_>, said: &[String]) -> Value {
    let one = said.first().map(String::as_str).unwrap_or_default();
    match field.str("type").as_deref() {
        Some("array") => json!(said),
        Some("boolean" | "integer" | "number") => serde_json::from_str(one).unwrap_or_else(|_| json!(one)),
        _ => json!(one),
    }
}

/// `{answers: {question: {answers: […]}}}`; none is a no.
fn questions(answer: &Answer) -> Value {
    let said = answer.answers.iter().filter(|_| is_yes(answer));
    let said = said.map(|(question, said)| (question.clone(), json!({ "answers": said })));
    json!({ "answers": said.collect::<Map<_, _>>() })
}
