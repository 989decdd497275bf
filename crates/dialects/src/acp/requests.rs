//! What an agent asks of the user, and what the answers of clients mean.
//!
//! Questions are a form. A client that shows no forms is asked for each of them as for a permission, with the answers as
//! options; if one of them has no answers to choose from, it cannot be asked.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::Value;
use switchboard_event::{About, Choice, Event, Item, OptionKind as EventKind, Question, RequestOpened};

use super::{
    cards::place,
    tools,
    wire::{
        Elicitation, EnumOption, Fields, Form, Items, Object, OptionKind, Permission, PermissionOption, Property,
        PropertyType, ToolContent, ToolFields, ToolStatus, ToolUpdate,
    },
};

/// What stands behind the name of a field for an answer in own words.
const OTHER: &str = ".other";
/// The answers where an agent offers none.
const ALLOW: &str = "allow";
const REJECT: &str = "reject";

/// How a request is put to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A permission: yes or no.
    Permission,
    /// Questions: a form, or a permission for each.
    Questions,
}

/// How a request is put to the user.
#[must_use]
pub fn asked(request: &RequestOpened) -> Asked {
    match request.about {
        About::Question | About::Elicitation if !request.questions.is_empty() => Asked::Questions,
        _ => Asked::Permission,
    }
}

/// All questions can be put as permissions.
pub fn have_choices(request: &RequestOpened) -> bool {
    request.questions.iter().all(|question| !question.choices.is_empty())
}

/// The id under which one of several questions is asked.
pub fn part_id(request: &RequestOpened, part: usize) -> Cow<'_, str> {
    match request.questions.len() {
        0 | 1 => Cow::Borrowed(&request.request),
        _ => Cow::Owned(format!("{}.{part}", request.request)),
    }
}

/// May the agent do this? `item` is the tool call that the client knows already.
pub fn permission<'a>(
    event: &'a Event,
    id: &'a str,
    request: &'a RequestOpened,
    item: Option<&'a Item>,
) -> Permission<'a> {
    let tool_call =
        ToolUpdate { tool_call_id: id, title: Some(title(request, item)), fields: fields(event, request, item) };
    Permission { session_id: &event.session, tool_call, options: options(request) }
}

fn title<'a>(request: &'a RequestOpened, item: Option<&'a Item>) -> Cow<'a, str> {
    let called = request.call.as_ref().and_then(|call| call.title.as_deref()).filter(|title| !title.is_empty());
    match (&request.command, item) {
        (Some(command), _) if !command.is_empty() => Cow::Borrowed(command),
        (_, Some(item)) => tools::title(item),
        _ if !request.title.is_empty() => Cow::Borrowed(&request.title),
        _ if called.is_some() => Cow::Borrowed(called.unwrap_or_default()),
        _ if !request.changes.is_empty() => Cow::Owned(tools::changed(&request.changes)),
        _ => Cow::Borrowed(request.call.as_ref().map_or("Permission", |call| &call.name)),
    }
}

/// What is known about what is asked. Of a tool call that the client knows, only what is new.
pub fn fields<'a>(event: &'a Event, request: &'a RequestOpened, item: Option<&'a Item>) -> ToolFields<'a> {
    let content = content(request, item);
    let mut fields = ToolFields {
        content: (!content.is_empty()).then_some(content),
        locations: Some(tools::places_of(&request.changes)).filter(|places| !places.is_empty()),
        meta: place(event),
        ..ToolFields::default()
    };
    if item.is_none() {
        let call = request.call.as_deref();
        fields.name = call.map(|call| call.name.as_str()).filter(|name| !name.is_empty());
        fields.kind = Some(call.map_or_else(|| kind(request.about), |call| tools::kind_of(call.kind)));
        fields.status = Some(ToolStatus::Pending);
        fields.raw_input = call.and_then(|call| call.input.as_deref()).map(Cow::Borrowed);
    }
    fields
}

fn kind(about: About) -> super::wire::ToolKind {
    use super::wire::ToolKind;
    match about {
        About::Command => ToolKind::Execute,
        About::FileChange => ToolKind::Edit,
        About::Plan => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// What the user should see before deciding: why, what is different, what the agent calls it.
fn content<'a>(request: &'a RequestOpened, item: Option<&'a Item>) -> Vec<ToolContent<'a>> {
    let shown = title(request, item);
    let called = request.call.as_ref().and_then(|call| call.title.as_deref());
    let texts = [called, Some(request.title.as_str()), request.reason.as_deref()].into_iter().flatten();
    let mut said: Vec<&str> = Vec::new();
    for text in texts.filter(|text| !text.is_empty() && **text != *shown) {
        if !said.contains(&text) {
            said.push(text);
        }
    }
    let changes = match (request.changes.as_slice(), item) {
        ([], Some(item)) => tools::planned(item),
        (changes, _) => tools::shown_changes(changes),
    };
    said.into_iter().map(tools::block).chain(changes).collect()
}

fn options(request: &RequestOpened) -> Vec<PermissionOption<'_>> {
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
    let mut usual =
        vec![option(ALLOW, "Allow", OptionKind::AllowOnce), option(REJECT, "Reject", OptionKind::RejectOnce)];
    if request.requires_person {
        // Editors may preselect the first.
        usual.reverse();
    }
    usual
}

fn option<'a>(id: impl Into<Cow<'a, str>>, name: &'a str, kind: OptionKind) -> PermissionOption<'a> {
    PermissionOption { option_id: id.into(), name: Cow::Borrowed(name), kind }
}

/// What an option means where the agent offered none of its own: yes, or anything else for no.
#[must_use]
pub fn allows(option: &str) -> bool {
    option == ALLOW
}

/// One question as a permission: its answers are the options.
pub fn question<'a>(
    event: &'a Event,
    id: &'a str,
    request: &'a RequestOpened,
    question: &'a Question,
) -> Permission<'a> {
    let mut fields = fields(event, request, None);
    let details = question.choices.iter().filter_map(|choice| {
        let description = choice.description.as_deref().filter(|text| !text.is_empty())?;
        Some(format!("- {}: {description}", choice.label))
    });
    let details: Vec<_> = details.collect();
    fields.content = (!details.is_empty()).then(|| vec![tools::block(details.join("\n"))]);
    let title = Some(Cow::Borrowed(question.question.as_str()));
    let choices = question.choices.iter().zip(0..);
    let choices = choices
        .map(|(choice, at): (&Choice, usize)| option(format!("choice_{at}"), &choice.label, OptionKind::AllowOnce));
    let options = choices.chain([option(REJECT, "Do not answer", OptionKind::RejectOnce)]).collect();
    Permission { session_id: &event.session, tool_call: ToolUpdate { tool_call_id: id, title, fields }, options }
}

/// What was chosen, where a question was asked as a permission.
#[must_use]
pub fn choice<'a>(question: &'a Question, option: &str) -> Option<&'a str> {
    let at: usize = option.strip_prefix("choice_")?.parse().ok()?;
    question.choices.get(at).map(|choice| choice.label.as_str())
}

/// All questions as a form.
pub fn form<'a>(event: &'a Event, request: &'a RequestOpened) -> Elicitation<'a> {
    let message = match (request.title.as_str(), request.questions.as_slice()) {
        ("", [question]) => Cow::Borrowed(question.question.as_str()),
        ("", _) => Cow::Borrowed("The agent has questions"),
        (title, _) => Cow::Borrowed(title),
    };
    let mut properties = BTreeMap::new();
    for question in &request.questions {
        properties.insert(question.id.clone(), property(question));
        if question.free_text && !question.choices.is_empty() {
            properties.insert(format!("{}{OTHER}", question.id), own_words());
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

fn property(question: &Question) -> Property<'_> {
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

fn own_words() -> Property<'static> {
    Property {
        kind: PropertyType::String,
        title: Some("Other"),
        description: Some("An answer in your own words"),
        one_of: Vec::new(),
        items: None,
    }
}

/// The answers in a form that was filled in, by question. An answer in own words comes before a choice.
#[must_use]
pub fn answers(request: &RequestOpened, content: &Value) -> BTreeMap<String, Vec<String>> {
    let given = |name: &str| -> Vec<String> {
        let filled = |text: &String| !text.is_empty();
        match content.get(name) {
            Some(Value::Array(values)) => values.iter().filter_map(plain).filter(filled).collect(),
            Some(value) => plain(value).filter(filled).into_iter().collect(),
            None => Vec::new(),
        }
    };
    let answer = |question: &Question| {
        let own = given(&format!("{}{OTHER}", question.id));
        let answer = if own.is_empty() { given(&question.id) } else { own };
        (!answer.is_empty()).then(|| (question.id.clone(), answer))
    };
    request.questions.iter().filter_map(answer).collect()
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}
