//! `elicitation/create`: a form or a link for the user.

use std::collections::BTreeMap;

use switchboard_event::{About, Choice, Decider, Id, Notice, Outcome, Question, RequestOpened, RequestResolved, Topic};

use super::{
    live::{Live, Theirs, control},
    rpc::Key,
};
use crate::{Json, Object, Scribe};

impl Live {
    pub(super) fn elicitation(&mut self, id: Option<Key>, params: &Object<'_>, scribe: &mut Scribe) {
        let place = self.place(params, scribe);
        let Some(id) = id else { return };
        // One that shows a page is over when the page says so, by its own id.
        let name = params.filled("elicitationId").unwrap_or_else(|| format!("request_{}", id.trim_matches('"')));
        let request = scribe.local_id(&name);
        let call = params.filled("toolCallId").map(|id| match place.thread() {
            Some(thread) => Id::from(format!("{thread}.{id}")),
            None => Id::from(id),
        });
        self.theirs.asked(id, Theirs::Elicitation(request.clone()));
        scribe.request_opened(
            call,
            RequestOpened {
                request,
                about: About::Elicitation,
                title: params.string("message").unwrap_or_default(),
                reason: params.filled("url"),
                questions: questions(&params.object("requestedSchema")),
                ..RequestOpened::default()
            },
        );
        scribe.otherwise(control("elicitation/create"));
    }
}

/// The fields of a form.
fn questions(schema: &Object<'_>) -> Vec<Question> {
    schema.object("properties").iter().map(|(id, property)| question(id, &property.object())).collect()
}

fn question(id: &str, property: &Object<'_>) -> Question {
    let multiple = property.is("type", "array");
    let source = if multiple { property.object("items") } else { property.object("") };
    let values = if multiple { &source } else { property };
    let mut choices: Vec<Choice> =
        values.strings("enum").into_iter().map(|label| Choice { label, description: None }).collect();
    let named = |option: Json<'_>| {
        let option = option.object();
        Choice { label: option.string("const").unwrap_or_default(), description: option.filled("title") }
    };
    let listed = if multiple { values.array("anyOf") } else { values.array("oneOf") };
    choices.extend(listed.into_iter().map(named));
    if property.is("type", "boolean") {
        choices = ["true", "false"].map(|word| Choice { label: word.to_owned(), description: None }).into();
    }
    Question {
        id: id.to_owned(),
        question: property.filled("description").or_else(|| property.filled("title")).unwrap_or_else(|| id.to_owned()),
        header: property.filled("title"),
        free_text: choices.is_empty(),
        choices,
        multiple,
        secret: false,
    }
}

/// What the client answered.
pub fn answered(request: Id, fields: &Object<'_>, scribe: &mut Scribe) {
    let result = fields.object("result");
    let outcome = match result.str("action").as_deref() {
        Some("accept") => Outcome::Answered,
        Some("cancel") => Outcome::Cancelled,
        _ => Outcome::Declined,
    };
    let texts = |value: Json<'_>| match value.array() {
        list if list.is_empty() => vec![value.display().into_owned()],
        list => list.into_iter().map(|entry| entry.display().into_owned()).collect(),
    };
    let answers: BTreeMap<_, _> =
        result.object("content").iter().map(|(id, value)| (id.to_owned(), texts(value))).collect();
    let by = Decider::Client;
    scribe.request_resolved(RequestResolved { request, outcome, by, answers, ..RequestResolved::default() });
    scribe.otherwise(Notice::new(Topic::Late).with_name("elicitation/create"));
}

/// `elicitation/complete`: the page that the user was shown is done.
pub fn complete(params: &Object<'_>, scribe: &mut Scribe) {
    let request = scribe.local_id(&params.str("elicitationId").unwrap_or_default());
    let (outcome, by) = (Outcome::Answered, Decider::Agent);
    scribe.request_resolved(RequestResolved { request, outcome, by, ..RequestResolved::default() });
    scribe.otherwise(control("elicitation/complete"));
}

/// The agent no longer asks.
pub fn withdrawn(request: Id, scribe: &mut Scribe) {
    let (outcome, by) = (Outcome::Withdrawn, Decider::Agent);
    scribe.request_resolved(RequestResolved { request, outcome, by, ..RequestResolved::default() });
}
