//! What Claude Code is answered when it asks. Its types and its checks differ: what it really takes is here.

use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
};

use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};
use switchboard_event::raw;

use crate::{Answer, Decision, Json, Object, Unsupported};

/// More requests than can be open at once.
const MOST: usize = 256;

/// The requests that somebody must answer, as they were asked.
#[derive(Default)]
pub struct Asked(VecDeque<(String, Box<RawValue>)>);

impl Asked {
    /// It is asked.
    pub fn remember(&mut self, id: &str, request: Box<RawValue>) {
        self.forget(id);
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back((id.to_owned(), request));
    }

    /// It was answered, or is no longer asked.
    pub fn forget(&mut self, id: &str) {
        self.0.retain(|(known, _)| known != id);
    }

    /// What was asked.
    pub fn get(&self, id: &str) -> Option<&RawValue> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, request)| &**request)
    }
}

/// An answer on the wire.
#[derive(Serialize)]
struct Wire<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    response: Response<'a, T>,
}

#[derive(Serialize)]
struct Response<'a, T> {
    subtype: &'a str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// An answer.
pub fn success<'a, T: Serialize + 'a>(request_id: &'a str, response: T) -> impl Serialize + 'a {
    let response = Response { subtype: "success", request_id, response: Some(response), error: None };
    Wire { kind: "control_response", response }
}

/// There is no answer.
pub fn error<'a>(request_id: &'a str, error: &'a str) -> impl Serialize + 'a {
    let response = Response::<()> { subtype: "error", request_id, response: None, error: Some(error) };
    Wire { kind: "control_response", response }
}

/// What a decision is in Claude Code's words.
pub fn response(request: &RawValue, answer: &Answer, cwd: &str) -> Result<Box<RawValue>, Unsupported> {
    let request = Json::of(request).object();
    let allowed = matches!(answer.decision, Decision::Allow | Decision::AllowSession);
    match (request.is("subtype", "elicitation"), allowed) {
        (true, true) => accepted(&request, answer),
        (true, false) => {
            let action = if answer.decision == Decision::Cancel { "cancel" } else { "decline" };
            Ok(raw(&json!({ "action": action })))
        }
        (false, true) => allow(&request, answer, cwd),
        (false, false) => {
            let message = answer.message.as_deref().filter(|text| !text.is_empty()).unwrap_or("the user declined this");
            let interrupt = answer.decision == Decision::Cancel;
            Ok(raw(&json!({ "behavior": "deny", "message": message, "interrupt": interrupt })))
        }
    }
}

/// Claude Code 2.1.197 refuses a yes without an input, though its types call it optional.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Allow<'a> {
    behavior: &'a str,
    updated_input: Box<RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    updated_permissions: Vec<Value>,
}

fn allow(request: &Object<'_>, answer: &Answer, cwd: &str) -> Result<Box<RawValue>, Unsupported> {
    let asked = request.get("input").filter(|input| input.is_object());
    if answer.input.as_deref().is_some_and(|input| !Json::of(input).is_object()) {
        return Err(Unsupported::new("the changed input must be an object, like the one that was asked for"));
    }
    let changed = answer.input.as_deref().map(Json::of).or(asked);
    let updated_input = match request.is("tool_name", "AskUserQuestion") {
        true => answered(changed, &answer.answers)?,
        false => changed.map_or_else(|| raw(&json!({})), Json::to_raw),
    };
    let session = answer.decision == Decision::AllowSession;
    let updated_permissions = if session { for_session(request, cwd) } else { Vec::new() };
    Ok(raw(&Allow { behavior: "allow", updated_input, updated_permissions }))
}

/// The questions with their answers. To say yes without an answer would be one that nobody gave.
fn answered(
    questions: Option<Json<'_>>,
    answers: &BTreeMap<String, Vec<String>>,
) -> Result<Box<RawValue>, Unsupported> {
    if answers.is_empty() {
        return Err(Unsupported::new("the questions are not answered"));
    }
    let fields = questions.map(Json::object).unwrap_or_default();
    let mut input: BTreeMap<_, _> = fields.iter().map(|(key, value)| (key.to_owned(), value.to_raw())).collect();
    let answers: Map<_, _> =
        answers.iter().map(|(question, chosen)| (question.clone(), chosen.join(", ").into())).collect();
    input.insert("answers".to_owned(), raw(&answers));
    Ok(raw(&input))
}

/// What allows the like until the session ends. Only in the session: Claude Code itself proposes to write most of it
/// into the settings of the project. Its proposal to accept all edits is not taken, since that mode also deletes.
fn for_session(request: &Object<'_>, cwd: &str) -> Vec<Value> {
    let edited = edited(request).map(|path| vec![edit_rule(&path, cwd)]);
    if let Some(rules) = edited {
        return rules.into_iter().flatten().collect();
    }
    if request.is_true("suppress_always_allow_rule") {
        return Vec::new();
    }
    let of = |kind: &str| -> Vec<Value> {
        let proposed = request.array("permission_suggestions").into_iter();
        let mine =
            proposed.filter(|update| update.object().is("type", kind) && !update.object().is("behavior", "deny"));
        mine.filter_map(in_session).collect()
    };
    let rules = of("addRules");
    if rules.is_empty() { of("addDirectories") } else { rules }
}

fn in_session(update: Json<'_>) -> Option<Value> {
    let mut update: Map<String, Value> = serde_json::from_str(update.text()).ok()?;
    update.insert("destination".to_owned(), "session".into());
    Some(Value::Object(update))
}

/// The file that a tool would change.
fn edited(request: &Object<'_>) -> Option<String> {
    let tool = request.str("tool_name")?;
    let input = request.object("input");
    match tool.as_ref() {
        "Edit" | "Write" | "MultiEdit" => input.string("file_path"),
        "NotebookEdit" => input.string("notebook_path"),
        _ => None,
    }
}

/// All files of the folder, or the one that lies elsewhere. A rule is a pattern, so not every path can be one.
fn edit_rule(path: &str, cwd: &str) -> Option<Value> {
    let rule = match Path::new(path).starts_with(cwd) && !path.contains("..") {
        true => "./**".to_owned(),
        false if path.contains(['*', '?', '[', ']', '{', '}', '!', '\\', '(', ')']) || !path.starts_with('/') => {
            return None;
        }
        false => format!("/{path}"),
    };
    let rules = json!([{ "toolName": "Edit", "ruleContent": rule }]);
    Some(json!({ "type": "addRules", "behavior": "allow", "rules": rules, "destination": "session" }))
}

/// A form of an MCP server, filled in; or a page that was visited.
fn accepted(request: &Object<'_>, answer: &Answer) -> Result<Box<RawValue>, Unsupported> {
    if request.is("mode", "url") {
        return Ok(raw(&json!({ "action": "accept" })));
    }
    let schema = request.object("requested_schema");
    let properties = schema.object("properties");
    if let Some(missing) = schema.strings("required").into_iter().find(|key| !answer.answers.contains_key(key)) {
        return Err(Unsupported::new(format!("`{missing}` is not answered")));
    }
    let field = |(key, chosen): (&String, &Vec<String>)| (key.clone(), typed(&properties.object(key), chosen));
    let content: Map<_, _> = answer.answers.iter().map(field).collect();
    Ok(raw(&json!({ "action": "accept", "content": content })))
}

/// An answer as the form's type.
fn typed(property: &Object<'_>, chosen: &[String]) -> Value {
    let text = chosen.join(", ");
    match property.str("type").as_deref() {
        Some("array") => chosen.into(),
        Some("boolean") => matches!(text.to_lowercase().as_str(), "true" | "yes" | "y" | "1").into(),
        Some("integer" | "number") => match text.trim().parse::<serde_json::Number>() {
            Ok(number) => Value::Number(number),
            Err(_) => text.into(),
        },
        _ => text.into(),
    }
}
