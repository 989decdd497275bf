//! `elicitation/create`: a form or a link for the user.

use std::collections::BTreeMap;

use switchboard_event::{About, Choice, Decider, Id, Notice, Outcome, Question, RequestOpened, RequestResolved, Topic};

use super::{
    live::{Live, Theirs, control},
    rpc::Key,
};
use crate::{JsonObject, JsonView, RunRecorder};

impl Live {
    pub(super) fn elicitation(&mut self, id: Option<Key>, params: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let place = self.place(params, recorder);
        let Some(id) = id else { return };
        // The completion of a page refers to its own id.
        let name = params.get_non_empty("elicitationId").unwrap_or_else(|| format!("request_{}", id.trim_matches('"')));
        let request = recorder.local_id(&name);
        let call = params.get_non_empty("toolCallId").map(|id| match place.thread() {
            Some(thread) => Id::from(format!("{thread}.{id}")),
            None => Id::from(id),
        });
        self.theirs.asked(id, Theirs::Elicitation(request.clone()));
        recorder.request_opened(
            call,
            RequestOpened {
                request,
                about: About::Elicitation,
                title: params.get_string("message").unwrap_or_default(),
                reason: params.get_non_empty("url"),
                questions: questions(&params.get_object("requestedSchema")),
                ..RequestOpened::default()
            },
        );
        recorder.write_notice_if_no_event(control("elicitation/create"));
    }
}

/// Returns the fields of a form as questions.
fn questions(schema: &JsonObject<'_>) -> Vec<Question> {
    schema.get_object("properties").iter().map(|(id, property)| question(id, &property.as_object())).collect()
}

fn question(id: &str, property: &JsonObject<'_>) -> Question {
    let multiple = property.str_equals("type", "array");
    let source = if multiple { property.get_object("items") } else { property.get_object("") };
    let values = if multiple { &source } else { property };
    let mut choices: Vec<Choice> =
        values.get_strings("enum").into_iter().map(|label| Choice { label, description: None }).collect();
    let named = |option: JsonView<'_>| {
        let option = option.as_object();
        Choice { label: option.get_string("const").unwrap_or_default(), description: option.get_non_empty("title") }
    };
    let listed = if multiple { values.get_array("anyOf") } else { values.get_array("oneOf") };
    choices.extend(listed.into_iter().map(named));
    if property.str_equals("type", "boolean") {
        choices = ["true", "false"].map(|word| Choice { label: word.to_owned(), description: None }).into();
    }
    Question {
        id: id.to_owned(),
        question: property
            .get_non_empty("description")
            .or_else(|| property.get_non_empty("title"))
            .unwrap_or_else(|| id.to_owned()),
        header: property.get_non_empty("title"),
        free_text: choices.is_empty(),
        choices,
        multiple,
        secret: false,
    }
}

/// Reads the client's answer.
pub fn answered(request: Id, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let result = fields.get_object("result");
    let outcome = match result.get_str("action").as_deref() {
        Some("accept") => Outcome::Answered,
        Some("cancel") => Outcome::Cancelled,
        _ => Outcome::Declined,
    };
    let texts = |value: JsonView<'_>| match value.as_array() {
        list if list.is_empty() => vec![value.display_text().into_owned()],
        list => list.into_iter().map(|entry| entry.display_text().into_owned()).collect(),
    };
    let answers: BTreeMap<_, _> =
        result.get_object("content").iter().map(|(id, value)| (id.to_owned(), texts(value))).collect();
    let by = Decider::Client;
    recorder.request_resolved(RequestResolved { request, outcome, by, answers, ..RequestResolved::default() });
    recorder.write_notice_if_no_event(Notice::new(Topic::Late).with_name("elicitation/create"));
}

/// `elicitation/complete`: the page is completed.
pub fn complete(params: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let request = recorder.local_id(&params.get_str("elicitationId").unwrap_or_default());
    let (outcome, by) = (Outcome::Answered, Decider::Agent);
    recorder.request_resolved(RequestResolved { request, outcome, by, ..RequestResolved::default() });
    recorder.write_notice_if_no_event(control("elicitation/complete"));
}

pub fn withdrawn(request: Id, recorder: &mut RunRecorder) {
    let (outcome, by) = (Outcome::Withdrawn, Decider::Agent);
    recorder.request_resolved(RequestResolved { request, outcome, by, ..RequestResolved::default() });
}
