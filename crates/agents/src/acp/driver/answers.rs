//! The agent's requests to the user, and their answers: permission requests and forms.

use std::collections::VecDeque;

use serde_json::{Map, Value, json, value::RawValue};
use switchboard_event::Id;

use super::client_messages;
use crate::{JsonObject, RequestAnswer, RequestDecision};

/// Maximum number of open requests. The oldest is cancelled beyond that.
const OPEN: usize = 256;

/// Words in an option's name that mean that it outlives the session.
const OUTLIVING: [&str; 6] = ["future", "save", "permanent", "forever", "in project", "for user"];

#[derive(Default)]
pub struct OpenAgentRequests {
    open: VecDeque<OpenAgentRequest>,
}

/// A request of the agent.
pub struct OpenAgentRequest {
    /// Switchboard's id of the request.
    request: Id,
    /// The agent's id of the request, as written.
    native: Box<RawValue>,
    kind: OpenRequestKind,
}

enum OpenRequestKind {
    Permission(Vec<OfferedOption>),
    /// The form's fields and their types.
    Form(Vec<(String, String)>),
}

/// An option of a permission request.
struct OfferedOption {
    id: String,
    kind: String,
    /// The option's name says that it outlives the session.
    outlives: bool,
}

impl OpenAgentRequests {
    /// Adds a request. Returns the cancellation of the oldest one if there are too many.
    pub fn opened(&mut self, question: OpenAgentRequest) -> Option<Box<RawValue>> {
        self.open.push_back(question);
        if self.open.len() > OPEN { self.open.pop_front().map(|question| question.give_up()) } else { None }
    }

    /// Returns the response for an answer, if its request is still open.
    pub fn answered(&mut self, answer: &RequestAnswer) -> Option<Box<RawValue>> {
        let index = self.open.iter().position(|question| question.request == answer.request)?;
        self.open.remove(index).map(|question| question.answer(answer))
    }

    /// Removes a request that the agent withdrew, and returns the response to it.
    pub fn withdrawn(&mut self, native: &str) -> Option<Box<RawValue>> {
        let index = self.open.iter().position(|question| question.native.get() == native)?;
        self.open.remove(index).map(|question| client_messages::error_response(&question.native, -32800, "cancelled"))
    }

    /// Cancels all requests at the end of a turn.
    pub fn give_up(&mut self) -> Vec<Box<RawValue>> {
        self.open.drain(..).map(|question| question.give_up()).collect()
    }
}

impl OpenAgentRequest {
    pub fn permission(request: Id, native: Box<RawValue>, params: &JsonObject<'_>) -> Self {
        let offered = |option: crate::JsonView<'_>| {
            let option = option.as_object();
            let name = option.get_string("name").unwrap_or_default().to_lowercase();
            let id = option.get_string("optionId").unwrap_or_default();
            let outlives = OUTLIVING.iter().any(|words| name.contains(words));
            OfferedOption { outlives, kind: option.get_string("kind").unwrap_or_default(), id }
        };
        let options = params.get_array("options").into_iter().map(offered).collect();
        Self { request, native, kind: OpenRequestKind::Permission(options) }
    }

    pub fn form(request: Id, native: Box<RawValue>, params: &JsonObject<'_>) -> Self {
        let properties = params.get_object("requestedSchema").get_object("properties");
        let types = properties.iter().map(|(id, property)| {
            let kind = property.as_object().get_string("type").unwrap_or_default();
            (id.to_owned(), kind)
        });
        Self { request, native, kind: OpenRequestKind::Form(types.collect()) }
    }

    fn answer(&self, answer: &RequestAnswer) -> Box<RawValue> {
        let result = match &self.kind {
            OpenRequestKind::Permission(options) => permitted(options, answer),
            OpenRequestKind::Form(types) => filled_in(types, answer),
        };
        client_messages::result_response(&self.native, &result)
    }

    /// Returns the response for a request without an answer.
    pub fn give_up(&self) -> Box<RawValue> {
        let result = match self.kind {
            OpenRequestKind::Permission(_) => client_messages::permission_cancelled(),
            OpenRequestKind::Form(_) => json!({ "action": "cancel" }),
        };
        client_messages::result_response(&self.native, &result)
    }
}

/// Returns the option for a decision. If the agent offers none, the request is answered as cancelled: nothing is
/// allowed that was not approved.
fn permitted(options: &[OfferedOption], answer: &RequestAnswer) -> Value {
    let of_kind = |kind: &str| options.iter().find(|option| option.kind == kind);
    let named = answer.option.as_deref().and_then(|id| options.iter().find(|option| option.id == id));
    let fits = |option: &&OfferedOption| {
        let allows = matches!(answer.decision, RequestDecision::Allow | RequestDecision::AllowSession);
        option.kind.starts_with("allow_") == allows
    };
    let for_session = || options.iter().find(|option| option.kind == "allow_always" && !option.outlives);
    let chosen = match answer.decision {
        _ if named.as_ref().is_some_and(fits) => named,
        RequestDecision::Allow => of_kind("allow_once").or_else(for_session),
        RequestDecision::AllowSession => for_session().or_else(|| of_kind("allow_once")),
        RequestDecision::Decline => of_kind("reject_once").or_else(|| of_kind("reject_always")),
        RequestDecision::Cancel => None,
    };
    chosen.map_or_else(client_messages::permission_cancelled, |option| {
        client_messages::permission_selected(&option.id, answer)
    })
}

fn filled_in(types: &[(String, String)], answer: &RequestAnswer) -> Value {
    match answer.decision {
        RequestDecision::Allow | RequestDecision::AllowSession => {
            let content: Map<String, Value> = types
                .iter()
                .filter_map(|(id, kind)| Some((id.clone(), typed(kind, answer.answers.get(id)?)?)))
                .collect();
            json!({ "action": "accept", "content": content })
        }
        RequestDecision::Decline => json!({ "action": "decline" }),
        RequestDecision::Cancel => json!({ "action": "cancel" }),
    }
}

/// Converts an answer to its field's type. A value of another type is sent unchanged, and the agent decides.
fn typed(kind: &str, texts: &[String]) -> Option<Value> {
    if kind == "array" {
        return Some(json!(texts));
    }
    let text = texts.first()?;
    let parsed = match kind {
        "integer" => text.trim().parse::<i64>().ok().map(Value::from),
        "number" => text.trim().parse::<f64>().ok().map(Value::from),
        "boolean" => text.trim().parse::<bool>().ok().map(Value::from),
        _ => None,
    };
    Some(parsed.unwrap_or_else(|| json!(text)))
}
