//! Claude Code's requests to people and their answers: tool approvals, questions, forms of MCP servers.

use std::collections::BTreeMap;

use switchboard_event::{
    About, Choice, Decider, Details, Id, OptionKind, Outcome, Question, RequestOpened, RequestOption, RequestResolved,
};

use super::items;
use crate::{JsonObject, JsonView, RunRecorder};

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
