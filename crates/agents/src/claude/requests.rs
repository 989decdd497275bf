//! Claude Code's requests to people and their answers: tool approvals, questions, forms of MCP servers. Its published
//! types and its checks of responses differ: this module follows the checks.

use std::{
    collections::{BTreeMap, VecDeque},
    path::Path,
};

use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};
use switchboard_event::{
    About, Choice, Decider, Details, Id, OptionKind, Outcome, Question, RequestOpened, RequestOption, RequestResolved,
    to_raw_json,
};

use super::items;
use crate::{
    JsonObject, JsonView, RequestAnswer, RequestDecision, RunRecorder, UnsupportedOperation, bounded::push_bounded,
};

/// The possible answers. Claude Code takes allow and deny; allowing for the session is a change of its rules.
const APPROVAL_OPTIONS: &[(&str, &str, OptionKind)] = &[
    ("allow", "Allow once", OptionKind::AllowOnce),
    ("allow_session", "Allow for this session", OptionKind::AllowSession),
    ("deny", "Decline", OptionKind::Reject),
    ("interrupt", "Decline and stop", OptionKind::Cancel),
];

/// The possible answers to an MCP server.
const FORM_OPTIONS: &[(&str, &str, OptionKind)] = &[
    ("accept", "Accept", OptionKind::AllowOnce),
    ("decline", "Decline", OptionKind::Reject),
    ("cancel", "Cancel", OptionKind::Cancel),
];

/// The maximum number of requests that can be open at once.
const MAX_PENDING_REQUESTS: usize = 256;

fn request_options(options: &[(&str, &str, OptionKind)]) -> Vec<RequestOption> {
    let option = |(id, label, kind): &(&str, &str, OptionKind)| RequestOption {
        id: (*id).to_owned(),
        label: (*label).to_owned(),
        kind: *kind,
    };
    options.iter().map(option).collect()
}

/// Opens a request for a tool approval, or for a question in the form of a tool.
pub fn tool_request(
    id: &str,
    name: &str,
    request: &JsonObject<'_>,
    todos: &items::TodoList,
    recorder: &RunRecorder,
) -> RequestOpened {
    let item = items::tool_item(name, request.get("input"), todos, recorder);
    let input = request.get_object("input");
    let questions: Vec<_> = input.get_array("questions").into_iter().map(parse_question).collect();
    let (about, command, changes) = match item.details {
        _ if !questions.is_empty() => (About::Question, None, Vec::new()),
        Details::Command(command) => (About::Command, Some(command.command), Vec::new()),
        Details::FileChange(change) => (About::FileChange, None, change.changes),
        Details::Plan(_) => (About::Plan, None, Vec::new()),
        _ => (About::Tool, None, Vec::new()),
    };
    let title = request.get_non_empty("title").or_else(|| request.get_non_empty("description"));
    let opened = RequestOpened {
        request: Id::from(id),
        about,
        title: title.or_else(|| command.clone()).unwrap_or_else(|| name.to_owned()),
        reason: request.get_non_empty("decision_reason"),
        call: item.call,
        cwd: command.as_ref().and_then(|_| recorder.working_directory().map(str::to_owned)),
        command,
        changes,
        questions,
        options: request_options(APPROVAL_OPTIONS),
        ..RequestOpened::default()
    };
    if is_for_a_person(request) { opened.require_person() } else { opened }
}

/// Claude Code 2.1.326 marks requests that a person must answer: the tool requires one, an ask rule of the user
/// matches, or denial is the default.
fn is_for_a_person(request: &JsonObject<'_>) -> bool {
    let is_set = |name: &str| request.get(name).is_some_and(|value| !matches!(value.raw_text(), "false" | "null"));
    ["requires_user_interaction", "matched_ask_rule", "default_to_no"].into_iter().any(is_set)
}

/// Parses one question of `AskUserQuestion`.
pub fn parse_question(question: JsonView<'_>) -> Question {
    let fields = question.as_object();
    let text = fields.get_string("question").unwrap_or_default();
    let choice = |option: JsonView<'_>| {
        let option = option.as_object();
        Choice {
            label: option.get_string("label").unwrap_or_default(),
            description: option.get_non_empty("description"),
        }
    };
    Question {
        id: text.clone(),
        question: text,
        header: fields.get_non_empty("header"),
        choices: fields.get_array("options").into_iter().map(choice).collect(),
        multiple: fields.is_true("multiSelect"),
        free_text: true,
        secret: false,
    }
}

/// Opens a request for an `elicitation`: a form of an MCP server, or a page to visit.
pub fn elicitation_request(id: &str, request: &JsonObject<'_>) -> RequestOpened {
    let title = request.get_non_empty("title").or_else(|| request.get_non_empty("message"));
    let properties = request.get_object("requested_schema").get_object("properties");
    RequestOpened {
        request: Id::from(id),
        about: About::Elicitation,
        title: title.unwrap_or_else(|| "an MCP server asks".to_owned()),
        reason: request.get_non_empty("url"),
        questions: properties.iter().map(|(key, property)| form_question(key, &property.as_object())).collect(),
        options: request_options(FORM_OPTIONS),
        ..RequestOpened::default()
    }
}

fn form_question(key: &str, property: &JsonObject<'_>) -> Question {
    let multiple = property.str_equals("type", "array");
    let choices = if multiple { field_choices(&property.get_object("items")) } else { field_choices(property) };
    let title = property.get_non_empty("title");
    let question = property.get_non_empty("description").or_else(|| title.clone()).unwrap_or_else(|| key.to_owned());
    let free_text = choices.is_empty();
    Question { id: key.to_owned(), question, header: title, choices, multiple, free_text, secret: false }
}

/// The values that a field can have: a list, a list with names, or true and false.
fn field_choices(property: &JsonObject<'_>) -> Vec<Choice> {
    let choice = |label: &str, description| Choice { label: label.to_owned(), description };
    if property.str_equals("type", "boolean") {
        return ["true", "false"].map(|label| choice(label, None)).into();
    }
    let named = property.get_array("oneOf").into_iter().chain(property.get_array("anyOf")).map(JsonView::as_object);
    let named = named.filter_map(|value| Some(choice(&value.get_str("const")?, value.get_non_empty("title"))));
    let names = property.get_strings("enumNames");
    let plain = property.get_strings("enum").into_iter().enumerate();
    named.chain(plain.map(|(at, to_value)| choice(&to_value, names.get(at).cloned()))).collect()
}

/// Parses a decision. An invalid response counts as denied: Claude Code treats it that way.
pub fn parse_resolution(id: &str, response: &JsonObject<'_>) -> RequestResolved {
    let answer = response.get_object("response");
    let action = answer.get_string("action");
    let allowed = response.str_equals("subtype", "success")
        && (answer.str_equals("behavior", "allow") || action.as_deref() == Some("accept"));
    let filled_in = match action {
        Some(_) => answer.get_object("content"),
        None => answer.get_object("updatedInput").get_object("answers"),
    };
    let answers: BTreeMap<_, _> = filled_in.iter().map(|(q, a)| (q.to_owned(), answer_values(a))).collect();
    let cancelled = answer.is_true("interrupt") || action.as_deref() == Some("cancel");
    let (outcome, option) = match allowed {
        true if !answers.is_empty() => (Outcome::Answered, None),
        true if answer.contains_key("updatedPermissions") => (Outcome::Allowed, Some("allow_session")),
        true => (Outcome::Allowed, Some("allow")),
        false if cancelled => (Outcome::Cancelled, Some("interrupt")),
        false => (Outcome::Declined, Some("deny")),
    };
    RequestResolved {
        request: Id::from(id),
        outcome,
        by: Decider::Client,
        option: action.or_else(|| option.map(str::to_owned)),
        input: answer.get_raw("updatedInput").filter(|_| outcome == Outcome::Allowed),
        answers,
        message: answer.get_non_empty("message").or_else(|| response.get_non_empty("error")),
    }
}

fn answer_values(answer: JsonView<'_>) -> Vec<String> {
    let elements = answer.as_array();
    match elements.is_empty() {
        true => vec![answer.display_text().into_owned()],
        false => elements.into_iter().map(|element| element.display_text().into_owned()).collect(),
    }
}

/// Requests that wait for an answer from a client, as Claude Code sent them.
#[derive(Default)]
pub struct PendingControlRequests(VecDeque<(String, Box<RawValue>)>);

impl PendingControlRequests {
    pub fn insert_request(&mut self, id: &str, request: Box<RawValue>) {
        self.remove_request(id);
        push_bounded(&mut self.0, (id.to_owned(), request), MAX_PENDING_REQUESTS);
    }

    /// Removes a request that was answered or withdrawn.
    pub fn remove_request(&mut self, id: &str) {
        self.0.retain(|(known, _)| known != id);
    }

    pub fn get(&self, id: &str) -> Option<&RawValue> {
        self.0.iter().find(|(known, _)| known == id).map(|(_, request)| &**request)
    }
}

/// A control response on the wire.
#[derive(Serialize)]
struct ClaudeControlResponse<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    response: ClaudeControlResult<'a, T>,
}

#[derive(Serialize)]
struct ClaudeControlResult<'a, T> {
    subtype: &'a str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

pub fn success_response<'a, T: Serialize + 'a>(request_id: &'a str, response: T) -> impl Serialize + 'a {
    let response = ClaudeControlResult { subtype: "success", request_id, response: Some(response), error: None };
    ClaudeControlResponse { kind: "control_response", response }
}

pub fn error_response<'a>(request_id: &'a str, error: &'a str) -> impl Serialize + 'a {
    let response = ClaudeControlResult::<()> { subtype: "error", request_id, response: None, error: Some(error) };
    ClaudeControlResponse { kind: "control_response", response }
}

/// Translates a decision into Claude Code's response.
pub fn decision_response(
    request: &RawValue,
    answer: &RequestAnswer,
    cwd: &str,
) -> Result<Box<RawValue>, UnsupportedOperation> {
    let request = JsonView::from_raw(request).as_object();
    let allowed = matches!(answer.decision, RequestDecision::Allow | RequestDecision::AllowSession);
    match (request.str_equals("subtype", "elicitation"), allowed) {
        (true, true) => accept_elicitation(&request, answer),
        (true, false) => {
            let action = if answer.decision == RequestDecision::Cancel { "cancel" } else { "decline" };
            Ok(to_raw_json(&json!({ "action": action })))
        }
        (false, true) => allow_response(&request, answer, cwd),
        (false, false) => {
            let message = answer.message.as_deref().filter(|text| !text.is_empty()).unwrap_or("the user declined this");
            let interrupt = answer.decision == RequestDecision::Cancel;
            Ok(to_raw_json(&json!({ "behavior": "deny", "message": message, "interrupt": interrupt })))
        }
    }
}

/// Claude Code 2.1.197 rejects an approval without an input, although its types call it optional.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PermissionAllowance<'a> {
    behavior: &'a str,
    updated_input: Box<RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    updated_permissions: Vec<Value>,
}

fn allow_response(
    request: &JsonObject<'_>,
    answer: &RequestAnswer,
    cwd: &str,
) -> Result<Box<RawValue>, UnsupportedOperation> {
    let asked = request.get("input").filter(|input| input.is_object());
    if answer.input.as_deref().is_some_and(|input| !JsonView::from_raw(input).is_object()) {
        return Err(UnsupportedOperation::new("the changed input must be an object, like the one that was asked for"));
    }
    let changed = answer.input.as_deref().map(JsonView::from_raw).or(asked);
    let updated_input = match request.str_equals("tool_name", "AskUserQuestion") {
        true => answered_questions(changed, &answer.answers)?,
        false => changed.map_or_else(|| to_raw_json(&json!({})), JsonView::to_raw),
    };
    let session = answer.decision == RequestDecision::AllowSession;
    let updated_permissions = if session { session_permissions(request, cwd) } else { Vec::new() };
    Ok(to_raw_json(&PermissionAllowance { behavior: "allow", updated_input, updated_permissions }))
}

/// The questions with their answers. An approval without answers would count as an answer that was never given.
fn answered_questions(
    questions: Option<JsonView<'_>>,
    answers: &BTreeMap<String, Vec<String>>,
) -> Result<Box<RawValue>, UnsupportedOperation> {
    if answers.is_empty() {
        return Err(UnsupportedOperation::new("the questions are not answered"));
    }
    let fields = questions.map(JsonView::as_object).unwrap_or_default();
    let mut input: BTreeMap<_, _> = fields.iter().map(|(key, value)| (key.to_owned(), value.to_raw())).collect();
    let answers: Map<_, _> =
        answers.iter().map(|(question, chosen)| (question.clone(), chosen.join(", ").into())).collect();
    input.insert("answers".to_owned(), to_raw_json(&answers));
    Ok(to_raw_json(&input))
}

/// Permission updates that allow similar calls until the session ends. They apply to the session only: Claude Code
/// itself proposes to write most of them into the project settings. Its proposal to accept all edits is ignored, since
/// that mode also deletes files.
fn session_permissions(request: &JsonObject<'_>, cwd: &str) -> Vec<Value> {
    let edited = edited_path(request).map(|path| vec![edit_rule(&path, cwd)]);
    if let Some(rules) = edited {
        return rules.into_iter().flatten().collect();
    }
    if request.is_true("suppress_always_allow_rule") {
        return Vec::new();
    }
    let of = |kind: &str| -> Vec<Value> {
        let proposed = request.get_array("permission_suggestions").into_iter();
        let mine = proposed.filter(|update| {
            update.as_object().str_equals("type", kind) && !update.as_object().str_equals("behavior", "deny")
        });
        mine.filter_map(with_session_destination).collect()
    };
    let rules = of("addRules");
    if rules.is_empty() { of("addDirectories") } else { rules }
}

fn with_session_destination(update: JsonView<'_>) -> Option<Value> {
    let mut update: Map<String, Value> = serde_json::from_str(update.raw_text()).ok()?;
    update.insert("destination".to_owned(), "session".into());
    Some(Value::Object(update))
}

/// Returns the file that a tool would change.
fn edited_path(request: &JsonObject<'_>) -> Option<String> {
    let tool = request.get_str("tool_name")?;
    let input = request.get_object("input");
    match tool.as_ref() {
        "Edit" | "Write" | "MultiEdit" => input.get_string("file_path"),
        "NotebookEdit" => input.get_string("notebook_path"),
        _ => None,
    }
}

/// Allows all files of the working directory, or a single file outside it. A rule is a pattern, so not every path can
/// be expressed as one.
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

/// Accepts a form of an MCP server with the given answers, or a page that was visited.
fn accept_elicitation(request: &JsonObject<'_>, answer: &RequestAnswer) -> Result<Box<RawValue>, UnsupportedOperation> {
    if request.str_equals("mode", "url") {
        return Ok(to_raw_json(&json!({ "action": "accept" })));
    }
    let schema = request.get_object("requested_schema");
    let properties = schema.get_object("properties");
    if let Some(missing) = schema.get_strings("required").into_iter().find(|key| !answer.answers.contains_key(key)) {
        return Err(UnsupportedOperation::new(format!("`{missing}` is not answered")));
    }
    let field =
        |(key, chosen): (&String, &Vec<String>)| (key.clone(), typed_form_value(&properties.get_object(key), chosen));
    let content: Map<_, _> = answer.answers.iter().map(field).collect();
    Ok(to_raw_json(&json!({ "action": "accept", "content": content })))
}

/// Converts an answer to the type of its form field.
fn typed_form_value(property: &JsonObject<'_>, chosen: &[String]) -> Value {
    let text = chosen.join(", ");
    match property.get_str("type").as_deref() {
        Some("array") => chosen.into(),
        Some("boolean") => matches!(text.to_lowercase().as_str(), "true" | "yes" | "y" | "1").into(),
        Some("integer" | "number") => match text.trim().parse::<serde_json::Number>() {
            Ok(number) => Value::Number(number),
            Err(_) => text.into(),
        },
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {

    use super::is_for_a_person;
    use crate::JsonView;

    #[test]
    fn requests_for_a_person_are_marked() {
        for (request, expected) in [
            (r#"{"requires_user_interaction":true}"#, true),
            (r#"{"matched_ask_rule":{"source":"userSettings","rule":"Bash(rm *)"}}"#, true),
            (r#"{"matched_ask_rule":true}"#, true),
            (r#"{"default_to_no":true}"#, true),
            (r#"{"requires_user_interaction":false,"matched_ask_rule":null,"default_to_no":false}"#, false),
            (r#"{"tool_name":"Bash"}"#, false),
        ] {
            assert_eq!(is_for_a_person(&JsonView::parse(request).unwrap().as_object()), expected, "{request}");
        }
    }
}
