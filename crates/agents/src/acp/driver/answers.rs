//! What the agent asked of the user, and how it is answered: requests for permission and forms.

use std::collections::VecDeque;

use serde_json::{Map, Value, json, value::RawValue};
use switchboard_event::Id;

use super::fields;
use crate::{Answer, Decision, Object};

/// How many requests may be open; the oldest is given up.
const OPEN: usize = 256;

/// Words on an option that say that it outlives the session.
const OUTLIVING: [&str; 6] = ["future", "save", "permanent", "forever", "in project", "for user"];

/// What the agent waits for.
#[derive(Default)]
pub struct Questions {
    open: VecDeque<Question>,
}

/// One request of the agent.
pub struct Question {
    /// Our id of it.
    request: Id,
    /// The agent's id of it, as it wrote it.
    native: Box<RawValue>,
    kind: Kind,
}

enum Kind {
    Permission(Vec<Offered>),
    /// The fields of a form and their types.
    Form(Vec<(String, String)>),
}

/// One way to answer a request for permission.
struct Offered {
    id: String,
    kind: String,
    /// Its words say that it outlives the session.
    outlives: bool,
}

impl Questions {
    /// The agent asks something. What it asked longest ago is given up when there is too much of it.
    pub fn opened(&mut self, question: Question) -> Option<Box<RawValue>> {
        self.open.push_back(question);
        if self.open.len() > OPEN { self.open.pop_front().map(|question| question.give_up()) } else { None }
    }

    /// Somebody answered: what is sent, if it is still waited for.
    pub fn answered(&mut self, answer: &Answer) -> Option<Box<RawValue>> {
        let index = self.open.iter().position(|question| question.request == answer.request)?;
        self.open.remove(index).map(|question| question.answer(answer))
    }

    /// The agent no longer wants an answer.
    pub fn withdrawn(&mut self, native: &str) -> Option<Box<RawValue>> {
        let index = self.open.iter().position(|question| question.native.get() == native)?;
        self.open.remove(index).map(|question| fields::refusal(&question.native, -32800, "cancelled"))
    }

    /// The turn is over: nothing is answered any more.
    pub fn give_up(&mut self) -> Vec<Box<RawValue>> {
        self.open.drain(..).map(|question| question.give_up()).collect()
    }
}

impl Question {
    /// A request for permission.
    pub fn permission(request: Id, native: Box<RawValue>, params: &Object<'_>) -> Self {
        let offered = |option: crate::Json<'_>| {
            let option = option.object();
            let name = option.string("name").unwrap_or_default().to_lowercase();
            let id = option.string("optionId").unwrap_or_default();
            let outlives = OUTLIVING.iter().any(|words| name.contains(words));
            Offered { outlives, kind: option.string("kind").unwrap_or_default(), id }
        };
        let options = params.array("options").into_iter().map(offered).collect();
        Self { request, native, kind: Kind::Permission(options) }
    }

    /// A form.
    pub fn form(request: Id, native: Box<RawValue>, params: &Object<'_>) -> Self {
        let properties = params.object("requestedSchema").object("properties");
        let types = properties.iter().map(|(id, property)| {
            let kind = property.object().string("type").unwrap_or_default();
            (id.to_owned(), kind)
        });
        Self { request, native, kind: Kind::Form(types.collect()) }
    }

    fn answer(&self, answer: &Answer) -> Box<RawValue> {
        let result = match &self.kind {
            Kind::Permission(options) => permitted(options, answer),
            Kind::Form(types) => filled_in(types, answer),
        };
        fields::answer(&self.native, &result)
    }

    /// What is said when nobody will answer.
    pub fn give_up(&self) -> Box<RawValue> {
        let result = match self.kind {
            Kind::Permission(_) => fields::cancelled(),
            Kind::Form(_) => json!({ "action": "cancel" }),
        };
        fields::answer(&self.native, &result)
    }
}

/// The option that says what was decided. An agent that does not offer it is told that the turn is over: nothing is
/// ever allowed that was not.
fn permitted(options: &[Offered], answer: &Answer) -> Value {
    let of_kind = |kind: &str| options.iter().find(|option| option.kind == kind);
    let named = answer.option.as_deref().and_then(|id| options.iter().find(|option| option.id == id));
    let fits = |option: &&Offered| {
        let allows = matches!(answer.decision, Decision::Allow | Decision::AllowSession);
        option.kind.starts_with("allow_") == allows
    };
    let for_session = || options.iter().find(|option| option.kind == "allow_always" && !option.outlives);
    let chosen = match answer.decision {
        _ if named.as_ref().is_some_and(fits) => named,
        Decision::Allow => of_kind("allow_once").or_else(for_session),
        Decision::AllowSession => for_session().or_else(|| of_kind("allow_once")),
        Decision::Decline => of_kind("reject_once").or_else(|| of_kind("reject_always")),
        Decision::Cancel => None,
    };
    chosen.map_or_else(fields::cancelled, |option| fields::selected(&option.id, answer))
}

fn filled_in(types: &[(String, String)], answer: &Answer) -> Value {
    match answer.decision {
        Decision::Allow | Decision::AllowSession => {
            let content: Map<String, Value> = types
                .iter()
                .filter_map(|(id, kind)| Some((id.clone(), typed(kind, answer.answers.get(id)?)?)))
                .collect();
            json!({ "action": "accept", "content": content })
        }
        Decision::Decline => json!({ "action": "decline" }),
        Decision::Cancel => json!({ "action": "cancel" }),
    }
}

/// An answer as its field wants it. What is not of that type is sent as it was given: the agent knows better.
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
