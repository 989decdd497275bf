//! Requests of an agent to the user, and the interpretation of client answers.
//!
//! Questions are sent as a form. A client without form support gets one permission request per question with the
//! choices as options; a request with a question that has no choices is not sent to such a client.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::Value;
use switchboard_event::{About, Choice, Event, Item, OptionKind as EventKind, Question, RequestOpened};

use super::tool_calls::{self, subagent_meta};
use super::wire::{
    Elicitation, EnumOption, Fields, Form, Items, Object, OptionKind, Permission, PermissionOption, Property,
    PropertyType, ToolContent, ToolFields, ToolStatus, ToolUpdate,
};

/// Suffix of the form field for a free-text answer.
const FREE_TEXT_SUFFIX: &str = ".other";
/// Option ids used if the agent offers no options.
const ALLOW_OPTION_ID: &str = "allow";
const REJECT_OPTION_ID: &str = "reject";

/// How a request is presented to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcpRequestKind {
    /// As a permission request.
    Permission,
    /// As a form, or as one permission request per question.
    Questions,
}

/// Returns how a request is presented to the user.
#[must_use]
pub fn request_kind(request: &RequestOpened) -> AcpRequestKind {
    match request.about {
        About::Question | About::Elicitation if !request.questions.is_empty() => AcpRequestKind::Questions,
        _ => AcpRequestKind::Permission,
    }
}

/// Returns whether every question has choices, so that all can be sent as permission requests.
pub fn all_have_choices(request: &RequestOpened) -> bool {
    request.questions.iter().all(|question| !question.choices.is_empty())
}

/// Returns the request id of one of several questions.
pub fn question_request_id(request: &RequestOpened, part: usize) -> Cow<'_, str> {
    match request.questions.len() {
        0 | 1 => Cow::Borrowed(&request.request),
        _ => Cow::Owned(format!("{}.{part}", request.request)),
    }
}

/// Builds a permission request. `item` is the tool call if the client already knows it.
pub fn build_permission<'a>(
    event: &'a Event,
    id: &'a str,
    request: &'a RequestOpened,
    item: Option<&'a Item>,
) -> Permission<'a> {
    let tool_call = ToolUpdate {
        tool_call_id: id,
        title: Some(request_title(request, item)),
        fields: tool_call_fields(event, request, item),
    };
    Permission { session_id: &event.session, tool_call, options: permission_options(request) }
}

fn request_title<'a>(request: &'a RequestOpened, item: Option<&'a Item>) -> Cow<'a, str> {
    let called = request.call.as_ref().and_then(|call| call.title.as_deref()).filter(|title| !title.is_empty());
    match (&request.command, item) {
        (Some(command), _) if !command.is_empty() => Cow::Borrowed(command),
        (_, Some(item)) => tool_calls::tool_title(item),
        _ if !request.title.is_empty() => Cow::Borrowed(&request.title),
        _ if called.is_some() => Cow::Borrowed(called.unwrap_or_default()),
        _ if !request.changes.is_empty() => Cow::Owned(tool_calls::changes_title(&request.changes)),
        _ => Cow::Borrowed(request.call.as_ref().map_or("Permission", |call| &call.name)),
    }
}

/// Returns the tool call fields of a request; only the new ones if the client already knows the tool call.
pub fn tool_call_fields<'a>(event: &'a Event, request: &'a RequestOpened, item: Option<&'a Item>) -> ToolFields<'a> {
    let content = request_content(request, item);
    let mut fields = ToolFields {
        content: (!content.is_empty()).then_some(content),
        locations: Some(tool_calls::change_locations(&request.changes)).filter(|places| !places.is_empty()),
        meta: subagent_meta(event),
        ..ToolFields::default()
    };
    if item.is_none() {
        let call = request.call.as_deref();
        fields.name = call.map(|call| call.name.as_str()).filter(|name| !name.is_empty());
        fields.kind =
            Some(call.map_or_else(|| requested_tool_kind(request.about), |call| tool_calls::to_tool_kind(call.kind)));
        fields.status = Some(ToolStatus::Pending);
        fields.raw_input = call.and_then(|call| call.input.as_deref()).map(Cow::Borrowed);
    }
    fields
}

fn requested_tool_kind(about: About) -> super::wire::ToolKind {
    use super::wire::ToolKind;
    match about {
        About::Command => ToolKind::Execute,
        About::FileChange => ToolKind::Edit,
        About::Plan => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// Returns the content that the user should see before deciding: reason, changes and the agent's title.
fn request_content<'a>(request: &'a RequestOpened, item: Option<&'a Item>) -> Vec<ToolContent<'a>> {
    let shown = request_title(request, item);
    let called = request.call.as_ref().and_then(|call| call.title.as_deref());
    let texts = [called, Some(request.title.as_str()), request.reason.as_deref()].into_iter().flatten();
    let mut said: Vec<&str> = Vec::new();
    for text in texts.filter(|text| !text.is_empty() && **text != *shown) {
        if !said.contains(&text) {
            said.push(text);
        }
    }
    let changes = match (request.changes.as_slice(), item) {
        ([], Some(item)) => tool_calls::planned_content(item),
        (changes, _) => tool_calls::change_content(changes),
    };
    said.into_iter().map(tool_calls::text_block).chain(changes).collect()
}

fn permission_options(request: &RequestOpened) -> Vec<PermissionOption<'_>> {
    let own = request.options.iter().map(|option| PermissionOption {
        option_id: Cow::Borrowed(&*option.id),
        name: Cow::Borrowed(if option.label.is_empty() { &option.id } else { &option.label }),
        kind: match option.kind {
            EventKind::AllowOnce => OptionKind::AllowOnce,
            EventKind::AllowSession | EventKind::AllowAlways => OptionKind::AllowAlways,
            EventKind::Reject | EventKind::Cancel => OptionKind::RejectOnce,
        },
    });
    let own: Vec<_> = own.collect();
    if !own.is_empty() {
        return own;
    }
    let mut usual = vec![
        permission_option(ALLOW_OPTION_ID, "Allow", OptionKind::AllowOnce),
        permission_option(REJECT_OPTION_ID, "Reject", OptionKind::RejectOnce),
    ];
    if request.requires_person {
        // Editors may preselect the first option.
        usual.reverse();
    }
    usual
}

fn permission_option<'a>(id: impl Into<Cow<'a, str>>, name: &'a str, kind: OptionKind) -> PermissionOption<'a> {
    PermissionOption { option_id: id.into(), name: Cow::Borrowed(name), kind }
}

/// Returns whether a default option allows the request; used if the agent offered no options of its own.
#[must_use]
pub fn is_allow_option(option: &str) -> bool {
    option == ALLOW_OPTION_ID
}

/// Builds a permission request for one question, with its choices as options.
pub fn question_permission<'a>(
    event: &'a Event,
    id: &'a str,
    request: &'a RequestOpened,
    question: &'a Question,
) -> Permission<'a> {
    let mut fields = tool_call_fields(event, request, None);
    let details = question.choices.iter().filter_map(|choice| {
        let description = choice.description.as_deref().filter(|text| !text.is_empty())?;
        Some(format!("- {}: {description}", choice.label))
    });
    let details: Vec<_> = details.collect();
    fields.content = (!details.is_empty()).then(|| vec![tool_calls::text_block(details.join("\n"))]);
    let title = Some(Cow::Borrowed(question.question.as_str()));
    let choices = question.choices.iter().zip(0..);
    let choices = choices.map(|(choice, at): (&Choice, usize)| {
        permission_option(format!("choice_{at}"), &choice.label, OptionKind::AllowOnce)
    });
    let options =
        choices.chain([permission_option(REJECT_OPTION_ID, "Do not answer", OptionKind::RejectOnce)]).collect();
    Permission { session_id: &event.session, tool_call: ToolUpdate { tool_call_id: id, title, fields }, options }
}

/// Returns the chosen label of a question that was sent as a permission request.
#[must_use]
pub fn chosen_label<'a>(question: &'a Question, option: &str) -> Option<&'a str> {
    let at: usize = option.strip_prefix("choice_")?.parse().ok()?;
    question.choices.get(at).map(|choice| choice.label.as_str())
}

/// Builds a form with all questions.
pub fn build_form<'a>(event: &'a Event, request: &'a RequestOpened) -> Elicitation<'a> {
    let message = match (request.title.as_str(), request.questions.as_slice()) {
        ("", [question]) => Cow::Borrowed(question.question.as_str()),
        ("", _) => Cow::Borrowed("The agent has questions"),
        (title, _) => Cow::Borrowed(title),
    };
    let mut properties = BTreeMap::new();
    for question in &request.questions {
        properties.insert(question.id.clone(), form_property(question));
        if question.free_text && !question.choices.is_empty() {
            properties.insert(format!("{}{FREE_TEXT_SUFFIX}", question.id), free_text_property());
        }
    }
    let required = request.questions.iter().filter(|question| !question.free_text || question.choices.is_empty());
    Elicitation {
        session_id: &event.session,
        tool_call_id: event.item.as_deref(),
        mode: Form::Form,
        message,
        requested_schema: Fields {
            kind: Object::Object,
            properties,
            required: required.map(|question| question.id.as_str()).collect(),
        },
    }
}

fn form_property(question: &Question) -> Property<'_> {
    let values = question.choices.iter().map(|choice| EnumOption {
        value: &choice.label,
        title: &choice.label,
        description: choice.description.as_deref(),
    });
    let values: Vec<_> = values.collect();
    let several = question.multiple && !values.is_empty();
    let (one_of, items) = if several { (Vec::new(), Some(Items { any_of: values })) } else { (values, None) };
    Property {
        kind: if several { PropertyType::Array } else { PropertyType::String },
        title: question.header.as_deref(),
        description: Some(&question.question),
        one_of,
        items,
    }
}

fn free_text_property() -> Property<'static> {
    Property {
        kind: PropertyType::String,
        title: Some("Other"),
        description: Some("An answer in your own words"),
        one_of: Vec::new(),
        items: None,
    }
}

/// Returns the answers of a completed form by question. Free text takes precedence over a choice.
#[must_use]
pub fn form_answers(request: &RequestOpened, content: &Value) -> BTreeMap<String, Vec<String>> {
    let given = |name: &str| -> Vec<String> {
        let filled = |text: &String| !text.is_empty();
        match content.get(name) {
            Some(Value::Array(values)) => values.iter().filter_map(scalar_text).filter(filled).collect(),
            Some(value) => scalar_text(value).filter(filled).into_iter().collect(),
            None => Vec::new(),
        }
    };
    let answer = |question: &Question| {
        let own = given(&format!("{}{FREE_TEXT_SUFFIX}", question.id));
        let answer = if own.is_empty() { given(&question.id) } else { own };
        (!answer.is_empty()).then(|| (question.id.clone(), answer))
    };
    request.questions.iter().filter_map(answer).collect()
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}
