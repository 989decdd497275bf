//! What Claude asks people, and what they answer: tools to approve, questions, forms of MCP servers.

use std::collections::BTreeMap;

use switchboard_event::{
    About, Choice, Decider, Details, Id, OptionKind, Outcome, Question, RequestOpened, RequestOption, RequestResolved,
};

use super::items;
use crate::{Json, Object, Scribe};

/// What can be answered. Claude takes yes and no; for the rest of the session is a change of its rules.
const OPTIONS: &[(&str, &str, OptionKind)] = &[
    ("allow", "Allow once", OptionKind::AllowOnce),
    ("allow_session", "Allow for this session", OptionKind::AllowSession),
    ("deny", "Decline", OptionKind::Reject),
    ("interrupt", "Decline and stop", OptionKind::Cancel),
];

/// What can be answered to an MCP server.
const FORM_OPTIONS: &[(&str, &str, OptionKind)] = &[
    ("accept", "Accept", OptionKind::AllowOnce),
    ("decline", "Decline", OptionKind::Reject),
    ("cancel", "Cancel", OptionKind::Cancel),
];

fn options(options: &[(&str, &str, OptionKind)]) -> Vec<RequestOption> {
    let option = |(id, label, kind): &(&str, &str, OptionKind)| RequestOption {
        id: (*id).to_owned(),
        label: (*label).to_owned(),
        kind: *kind,
    };
    options.iter().map(option).collect()
}

/// A tool that needs an approval, or a question in the form of a tool.
pub fn of_tool(id: &str, name: &str, request: &Object<'_>, todos: &items::Todos, scribe: &Scribe) -> RequestOpened {
    let item = items::item(name, request.get("input"), todos, scribe);
    let input = request.object("input");
    let questions: Vec<_> = input.array("questions").into_iter().map(question).collect();
    let (about, command, changes) = match item.details {
        _ if !questions.is_empty() => (About::Question, None, Vec::new()),
        Details::Command(command) => (About::Command, Some(command.command), Vec::new()),
        Details::FileChange(change) => (About::FileChange, None, change.changes),
        Details::Plan(_) => (About::Plan, None, Vec::new()),
        _ => (About::Tool, None, Vec::new()),
    };
    let title = request.filled("title").or_else(|| request.filled("description"));
    let opened = RequestOpened {
        request: Id::from(id),
        about,
        title: title.or_else(|| command.clone()).unwrap_or_else(|| name.to_owned()),
        reason: request.filled("decision_reason"),
        call: item.call,
        cwd: command.as_ref().and_then(|_| scribe.cwd().map(str::to_owned)),
        command,
        changes,
        questions,
        options: options(OPTIONS),
        ..RequestOpened::default()
    };
    if is_for_a_person(request) { opened.for_a_person() } else { opened }
}

/// Claude Code 2.1.326 marks requests that a person must answer: the tool needs one, a rule of the user says to ask, or
/// no is to be the default.
fn is_for_a_person(request: &Object<'_>) -> bool {
    let is_set = |name: &str| request.get(name).is_some_and(|value| !matches!(value.text(), "false" | "null"));
    ["requires_user_interaction", "matched_ask_rule", "default_to_no"].into_iter().any(is_set)
}

/// One question of `AskUserQuestion`.
pub fn question(question: Json<'_>) -> Question {
    let fields = question.object();
    let text = fields.string("question").unwrap_or_default();
    let choice = |option: Json<'_>| {
        let option = option.object();
        Choice { label: option.string("label").unwrap_or_default(), description: option.filled("description") }
    };
    Question {
        id: text.clone(),
        question: text,
        header: fields.filled("header"),
        choices: fields.array("options").into_iter().map(choice).collect(),
        multiple: fields.is_true("multiSelect"),
        free_text: true,
        secret: false,
    }
}

/// `elicitation`: a form of an MCP server, or a page to visit.
pub fn elicitation(id: &str, request: &Object<'_>) -> RequestOpened {
    let title = request.filled("title").or_else(|| request.filled("message"));
    let properties = request.object("requested_schema").object("properties");
    RequestOpened {
        request: Id::from(id),
        about: About::Elicitation,
        title: title.unwrap_or_else(|| "an MCP server asks".to_owned()),
        reason: request.filled("url"),
        questions: properties.iter().map(|(key, property)| field(key, &property.object())).collect(),
        options: options(FORM_OPTIONS),
        ..RequestOpened::default()
    }
}

/// One field of a form.
fn field(key: &str, property: &Object<'_>) -> Question {
    let multiple = property.is("type", "array");
    let choices = if multiple { choices(&property.object("items")) } else { choices(property) };
    let title = property.filled("title");
    let question = property.filled("description").or_else(|| title.clone()).unwrap_or_else(|| key.to_owned());
    let free_text = choices.is_empty();
    Question { id: key.to_owned(), question, header: title, choices, multiple, free_text, secret: false }
}

/// The values that a field can have: a list, a list with names, or yes and no.
fn choices(property: &Object<'_>) -> Vec<Choice> {
    let choice = |label: &str, description| Choice { label: label.to_owned(), description };
    if property.is("type", "boolean") {
        return ["true", "false"].map(|label| choice(label, None)).into();
    }
    let named = property.array("oneOf").into_iter().chain(property.array("anyOf")).map(Json::object);
    let named = named.filter_map(|value| Some(choice(&value.str("const")?, value.filled("title"))));
    let names = property.strings("enumNames");
    let plain = property.strings("enum").into_iter().enumerate();
    named.chain(plain.map(|(at, value)| choice(&value, names.get(at).cloned()))).collect()
}

/// What a decision means. An answer that is none counts as no: that is how Claude takes it.
pub fn resolution(id: &str, response: &Object<'_>) -> RequestResolved {
    let answer = response.object("response");
    let action = answer.string("action");
    let allowed =
        response.is("subtype", "success") && (answer.is("behavior", "allow") || action.as_deref() == Some("accept"));
    let filled_in = match action {
        Some(_) => answer.object("content"),
        None => answer.object("updatedInput").object("answers"),
    };
    let answers: BTreeMap<_, _> = filled_in.iter().map(|(q, a)| (q.to_owned(), chosen(a))).collect();
    let cancelled = answer.is_true("interrupt") || action.as_deref() == Some("cancel");
    let (outcome, option) = match allowed {
        true if !answers.is_empty() => (Outcome::Answered, None),
        true if answer.has("updatedPermissions") => (Outcome::Allowed, Some("allow_session")),
        true => (Outcome::Allowed, Some("allow")),
        false if cancelled => (Outcome::Cancelled, Some("interrupt")),
        false => (Outcome::Declined, Some("deny")),
    };
    RequestResolved {
        request: Id::from(id),
        outcome,
        by: Decider::Client,
        option: action.or_else(|| option.map(str::to_owned)),
        input: answer.raw("updatedInput").filter(|_| outcome == Outcome::Allowed),
        answers,
        message: answer.filled("message").or_else(|| response.filled("error")),
    }
}

fn chosen(answer: Json<'_>) -> Vec<String> {
    let elements = answer.array();
    match elements.is_empty() {
        true => vec![answer.display().into_owned()],
        false => elements.into_iter().map(|element| element.display().into_owned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::is_for_a_person;
    use crate::Json;

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
            assert_eq!(is_for_a_person(&Json::parse(request).unwrap().object()), expected, "{request}");
        }
    }
}
